//! Who made a chart: provenance files of real Helm, and what cosign says.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::sources::{Place, files, hex, index};
use crate::support::cluster::tools;
use crate::support::repository;
use crate::support::scene::Scene;
use crate::support::statectl::{Output, command, finish};
use crate::support::web::{Registry, Web};

/// Puts the keys of somebody in place, as GnuPG exports them: test data, made for these tests and used nowhere else.
fn key(place: &Place, who: &str) {
    for entry in std::fs::read_dir(repository("tests/cases/provenance")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with(who) {
            std::fs::copy(repository("tests/cases/provenance").join(&name), place.path(&name)).unwrap();
        }
    }
}

/// Packs and signs a chart with real Helm.
fn sign(place: &Place, who: &str) {
    place.pack("1.0.0");
    let ring = format!("{who}.sec");
    let arguments = ["package", "src-1.0.0/web", "-d", "packed", "--sign", "--key", who, "--keyring", &ring];
    let (done, text) = place.tool("helm4", &arguments);
    assert!(done, "{text}");
    let (done, text) =
        place.tool("helm4", &["verify", "packed/web-1.0.0.tgz", "--keyring", &format!("{who}.gpg")]);
    assert!(done, "{text}");
}

/// Plans one release of a chart on the real cluster.
struct Planner {
    scene: Scene,
    place: Place,
    path: String,
}

impl Planner {
    fn plan(&self, head: &str, chart: &str, verify: &str) -> Output {
        let namespace = &self.scene.namespace;
        let text = format!(
            "{head}\n[namespaces.{namespace}]\n[apps.r]\nenabled = true\nnamespace = \"{namespace}\"\nchart = \"{chart}\"\n\
             version = \"1.0.0\"\nverify = {{ {verify} }}\n"
        );
        let state = self.place.path("state.toml");
        std::fs::write(&state, text).unwrap();
        let mut command = command(["plan", state.to_str().unwrap()]);
        command.env("STATECTL_CACHE", self.place.path("cache")).env("HOME", self.place.folder.path());
        finish(command.env("PATH", &self.path).env("KUBECONFIG", &self.scene.cluster.kubeconfig))
    }

    fn refused(&self, head: &str, chart: &str, verify: &str, why: &str) {
        let output = self.plan(head, chart, verify).expect(1);
        assert!(output.stdout.contains("the chart is not verified"), "{}", output.stdout);
        let flat = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(why), "{why}: {flat}");
    }
}

#[test]
fn a_chart_is_by_whom_it_has_to_be() {
    let place = Place::new();
    key(&place, "alice");
    key(&place, "mallory");
    sign(&place, "alice");
    index(&place);
    let web = Web::start(files(&place));
    let head = format!("helmRepos = {{ shop = \"{}\" }}", web.url("/charts"));
    let planner = Planner { scene: Scene::new("provenance"), place, path: String::new() };
    let packed = planner.place.path("packed/web-1.0.0.tgz.prov");
    let local = "./packed/web-1.0.0.tgz";
    for (head, chart) in [(head.as_str(), "shop/web"), ("", local)] {
        planner.plan(head, chart, "keyring = \"alice.gpg\"").expect(0);
        planner.plan(head, chart, "keyring = \"alice.asc\"").expect(0);
        planner.refused(head, chart, "keyring = \"mallory.gpg\"", "signed by none of the keys");
        planner.refused(head, chart, "keyring = \"alice-revoked.gpg\"", "alice@example.org> is revoked");
        planner.refused(head, chart, "keyring = \"state.toml\"", "the keyring cannot be read");
    }
    planner.plan("", &web.url("/charts/web-1.0.0.tgz"), "keyring = \"alice.gpg\"").expect(0);

    // Somebody changes the text, signs another one, or has none.
    let good = std::fs::read_to_string(&packed).unwrap();
    let digest = good.split("sha256:").nth(1).unwrap()[..64].to_owned();
    std::fs::write(&packed, good.replace(&digest, &"0".repeat(64))).unwrap();
    planner.refused("", local, "keyring = \"alice.gpg\"", "signed by none of the keys");
    std::fs::write(&packed, format!("name: web\n...\nfiles:\n  web-1.0.0.tgz: sha256:{digest}\n{good}"))
        .unwrap();
    planner.refused("", local, "keyring = \"alice.gpg\"", "the provenance file cannot be read");
    std::fs::write(&packed, &good).unwrap();
    planner.place.pack("1.0.0");
    std::fs::rename(planner.place.path("packed/web-1.0.0.tgz"), planner.place.path("packed/other-1.0.0.tgz"))
        .unwrap();
    std::fs::rename(&packed, planner.place.path("packed/other-1.0.0.tgz.prov")).unwrap();
    planner.refused(
        "",
        "./packed/other-1.0.0.tgz",
        "keyring = \"alice.gpg\"",
        "does not name other-1.0.0.tgz",
    );
    std::fs::remove_file(planner.place.path("packed/other-1.0.0.tgz.prov")).unwrap();
    planner.refused("", "./packed/other-1.0.0.tgz", "keyring = \"alice.gpg\"", "there is no provenance file");
    planner.refused("", "./src-1.0.0/web", "keyring = \"alice.gpg\"", "is no archive");
}

#[test]
fn a_chart_in_a_registry_is_by_whom_it_has_to_be() {
    let place = Place::new();
    key(&place, "alice");
    key(&place, "mallory");
    sign(&place, "alice");
    let registry = Registry::start(&tools().join("registry"), place.folder.path(), None);
    let base = format!("oci://127.0.0.1:{}/charts", registry.port);
    let (done, text) = place.tool("helm4", &["push", "packed/web-1.0.0.tgz", &base, "--plain-http"]);
    assert!(done, "{text}");
    // A stand-in for cosign: it takes down what it was asked, and likes one key and one identity.
    let bin = place.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let log = place.path("cosign.log");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>{}\ncase \"$*\" in *good.pub*|*me@example.org*) exit 0;; esac\necho 'Error: no matching signatures' >&2\nexit 1\n",
        log.display()
    );
    std::fs::write(bin.join("cosign"), script).unwrap();
    std::fs::set_permissions(bin.join("cosign"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["good.pub", "bad.pub"] {
        std::fs::write(place.path(name), "a key\n").unwrap();
    }
    let path = format!("{}:/bin:/usr/bin", bin.display());
    let planner = Planner { scene: Scene::new("provenance-oci"), place, path };
    let chart = format!("{base}/web");
    planner.plan("", &chart, "keyring = \"alice.gpg\", cosignKey = \"good.pub\"").expect(0);
    let identity = "cosignIdentity = \"me@example.org\", cosignIssuer = \"https://issuer.example.org\"";
    planner.plan("", &chart, identity).expect(0);
    let asked = std::fs::read_to_string(log).unwrap();
    let image = format!("127.0.0.1:{}/charts/web@sha256:", registry.port);
    assert!(asked.lines().all(|line| line.starts_with("verify ") && line.contains(&image)), "{asked}");
    planner.refused("", &chart, "cosignKey = \"bad.pub\"", "no matching signatures");
    planner.refused(
        "",
        &chart,
        "keyring = \"mallory.gpg\", cosignKey = \"good.pub\"",
        "signed by none of the keys",
    );
    // What is rendered has to be what was signed: a lock file names another archive, which is here, and the tag is still the
    // signed one.
    let signed = hex(&std::fs::read(planner.place.path("packed/web-1.0.0.tgz")).unwrap());
    let chart_file = planner.place.path("src-1.0.0/web/Chart.yaml");
    let text = std::fs::read_to_string(&chart_file).unwrap();
    std::fs::write(&chart_file, format!("{text}description: another one\n")).unwrap();
    let (done, said) = planner.place.tool("helm4", &["package", "src-1.0.0/web", "-d", "other"]);
    assert!(done, "{said}");
    let other = std::fs::read(planner.place.path("other/web-1.0.0.tgz")).unwrap();
    let state = planner.place.state("", &chart, "1.0.0");
    planner.place.lock(&state).expect(0);
    let lock = planner.place.locked().replace(&signed, &hex(&other));
    std::fs::write(planner.place.path("statectl.lock"), lock).unwrap();
    std::fs::write(planner.place.path(&format!("cache/charts/{}.tgz", hex(&other))), &other).unwrap();
    planner.plan("", &chart, "").expect(0);
    planner.refused("", &chart, "cosignKey = \"good.pub\"", "holds another archive");
    planner.refused("", &chart, "keyring = \"alice.gpg\"", "about another archive");
    std::fs::remove_file(planner.place.path("statectl.lock")).unwrap();
    let nowhere = PathBuf::from("/nonexistent").display().to_string();
    let planner = Planner { path: nowhere, ..planner };
    planner.refused("", &chart, "cosignKey = \"good.pub\"", "the program `cosign` is not on PATH");
}
