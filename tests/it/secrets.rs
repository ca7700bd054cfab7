//! No value of a Secret is ever shown, also where the Secret is wrong and the server quotes it.

use base64::Engine as _;

use crate::support::scan;
use crate::support::scene::{Scene, chart};

const HUSH: &str = "hush-hush-1234567890";

/// Secrets that the server, or Helm's own reader, refuses, each quoting what it refuses.
const WRONG: [&str; 12] = [
    "data: {p: \"HUSH\"}",
    "data: \"HUSH\"",
    "data: [\"HUSH\"]",
    "data: \"hu}sh\\nHUSH\"",
    "stringData: \"HUSH\"",
    "stringData: {p: {q: \"HUSH\"}}",
    "stringData: {p: [\"HUSH\"]}",
    "type: [\"HUSH\"]",
    "type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: \"HUSH\"}",
    "immutable: \"HUSH\"",
    "dota: {p: \"HUSH\"}",
    "data: {p: \"HUSH\"}\nstringData: \"HUSH\"",
];

#[test]
fn a_wrong_secret_is_refused_without_its_values() {
    let scene = Scene::new("wrong-secrets");
    let encoded = base64::engine::general_purpose::STANDARD.encode(scan::secret(HUSH));
    for wrong in WRONG {
        let text =
            format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{}\n", wrong.replace("HUSH", HUSH));
        chart(scene.folder.path(), &[("templates/s.yaml", &text)]);
        let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
        let path = file.to_str().unwrap();
        for arguments in [
            &["plan", path][..],
            &["plan", path, "-o", "json"],
            &["diff", path],
            &["apply", path, "--yes"],
            &["apply", path, "--yes", "-o", "json"],
        ] {
            let output = scene.cluster.statectl(arguments).expect(4);
            for text in [&output.stdout, &output.stderr] {
                let shown = ["hush-hush", &encoded[..10]].into_iter().find(|part| text.contains(part));
                assert_eq!(shown, None, "{wrong}: {arguments:?}: {text}");
            }
        }
    }
}
