//! The order that annotations make, on manifests of a few objects.

use super::*;
use crate::model::GroupVersionKind;

/// An object of a manifest: its source chart, kind, name and annotations.
type Part<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, &'a str)]);

fn manifest(parts: &[Part<'_>]) -> (String, Vec<ObjectKey>) {
    let mut text = String::new();
    let mut keys = Vec::new();
    for (chart, kind, name, annotations) in parts {
        let api = if *kind == "Deployment" { "apps/v1" } else { "v1" };
        let annotations: serde_json::Map<String, Json> =
            annotations.iter().map(|(key, value)| ((*key).to_owned(), Json::from(*value))).collect();
        let metadata = serde_json::json!({"name": name, "annotations": annotations});
        let head = format!("---\n# Source: {chart}/templates/{name}.yaml\napiVersion: {api}\nkind: {kind}\n");
        text = format!("{text}{head}metadata: {metadata}\n");
        let gvk = GroupVersionKind::new(api, kind);
        keys.push(ObjectKey { gvk, namespace: Some("n".to_owned()), name: (*name).to_owned() });
    }
    (text, keys)
}

/// Shows the waves, then the edges of single objects, then the notes; or the error.
fn check(grouped: bool, parts: &[Part<'_>], expected: &str) {
    let (text, keys) = manifest(parts);
    let keys: Vec<&ObjectKey> = keys.iter().collect();
    let told = match sequence(&text, None, grouped, &keys) {
        Err(message) => message,
        Ok(sequence) => {
            let waves = keys.iter().map(|key| sequence.wave(key)).max().map_or(0, |most| most + 1);
            let wave = |wave: usize| {
                let own = keys.iter().filter(|key| sequence.wave(key) == wave);
                own.map(|key| key.name.as_str()).collect::<Vec<_>>().join(" ")
            };
            let waves: Vec<String> = (0..waves).map(wave).collect();
            let notes: String = sequence.notes.iter().map(|note| format!("; {note}")).collect();
            waves.join(" | ") + &notes
        }
    };
    assert_eq!(told, expected);
}

#[test]
fn what_an_object_names_comes_before_it() {
    check(false, &[], "");
    check(false, &[("c", "ConfigMap", "a", &[]), ("c", "Deployment", "b", &[])], "a b");
    check(
        false,
        &[
            ("c", "ConfigMap", "late", &[(DEPENDS_ON, "Deployment/db")]),
            ("c", "Deployment", "db", &[]),
            ("c", "Deployment", "web", &[(DEPENDS_ON, "ConfigMap/late, Deployment.apps/db")]),
        ],
        "db | late | web",
    );
    check(false, &[("c", "ConfigMap", "a", &[(DEPENDS_ON, " , ")])], "a");
}

#[test]
fn an_order_that_cannot_be_is_told() {
    let one = |value: &'static str| [("c", "ConfigMap", "a", [(DEPENDS_ON, value)])];
    for (value, expected) in [
        ("db", "ConfigMap n/a: statectl.io/depends-on names `db`, which is no KIND/NAME"),
        (
            "Deployment/db",
            "ConfigMap n/a depends on Deployment/db (statectl.io/depends-on), which the release does not have; objects \
             of others belong into `waitFor`",
        ),
        ("ConfigMap/a", "objects wait for each other: ConfigMap n/a waits for ConfigMap n/a"),
    ] {
        let [(chart, kind, name, annotations)] = one(value);
        check(false, &[(chart, kind, name, &annotations)], expected);
    }
    check(
        false,
        &[
            ("c", "ConfigMap", "free", &[]),
            ("c", "ConfigMap", "a", &[(DEPENDS_ON, "ConfigMap/b")]),
            ("c", "ConfigMap", "b", &[(DEPENDS_ON, "ConfigMap/c")]),
            ("c", "ConfigMap", "c", &[(DEPENDS_ON, "ConfigMap/b")]),
        ],
        "objects wait for each other: ConfigMap n/b waits for ConfigMap n/c waits for ConfigMap n/b",
    );
    check(
        true,
        &[("c", "ConfigMap", "a", &[(GROUP, "x"), (ON_GROUPS, "y")])],
        "helm.sh/depends-on/resource-groups of ConfigMap n/a is no JSON list of names: \"y\"",
    );
}

#[test]
fn groups_count_where_the_app_says_so() {
    let parts: [Part<'_>; 5] = [
        ("c", "ConfigMap", "app", &[(GROUP, "app"), (ON_GROUPS, "[\"db\", \"queue\"]")]),
        ("c", "ConfigMap", "db", &[(GROUP, "db")]),
        ("c", "ConfigMap", "queue", &[(GROUP, "queue"), (ON_GROUPS_PLAIN, "[\"db\"]")]),
        ("c", "ConfigMap", "loose", &[]),
        ("c/charts/s", "ConfigMap", "sub", &[]),
    ];
    check(
        false,
        &parts,
        "app db queue loose sub; the chart groups its objects for Helm's ordered waits, which no released Helm follows; \
         `sequencing = \"annotations\"` does",
    );
    check(true, &parts, "db sub | queue | app | loose");
}

#[test]
fn what_is_not_connected_comes_last() {
    check(
        true,
        &[
            ("c", "ConfigMap", "a", &[(GROUP, "a")]),
            ("c", "ConfigMap", "b", &[(GROUP, "b"), (ON_GROUPS, "[\"a\"]")]),
            ("c", "ConfigMap", "alone", &[(GROUP, "alone")]),
            ("c", "ConfigMap", "lost", &[(GROUP, "lost"), (ON_GROUPS, "[\"nowhere\"]")]),
            ("c", "ConfigMap", "after", &[(GROUP, "after"), (ON_GROUPS, "[\"lost\"]")]),
        ],
        "a | b | alone lost | after; resource group `lost` waits for `nowhere`, which is not there: it comes last; resource \
         group `alone` has no connection with others: it comes last",
    );
    // Groups of different charts have nothing to do with each other.
    check(
        true,
        &[
            ("c", "ConfigMap", "a", &[(GROUP, "a"), (ON_GROUPS, "[\"x\"]")]),
            ("c", "ConfigMap", "x", &[(GROUP, "x")]),
            ("c/charts/s", "ConfigMap", "y", &[(GROUP, "x"), (ON_GROUPS, "[\"a\"]")]),
        ],
        "x y | a; resource group `x` waits for `a`, which is not there: it comes last",
    );
}

#[test]
fn a_removal_turns_the_edges_round() {
    let (text, keys) = manifest(&[
        ("c", "ConfigMap", "a", &[(DEPENDS_ON, "Deployment/db")]),
        ("c", "Deployment", "db", &[]),
    ]);
    let all: Vec<&ObjectKey> = keys.iter().collect();
    let sequence = sequence(&text, None, false, &all).unwrap();
    let set: BTreeSet<&ObjectKey> = all.iter().copied().collect();
    assert_eq!(sequence.among(&set), [(keys[0].clone(), vec![keys[1].clone()])].into());
    assert_eq!(sequence.reversed(&set), [(keys[1].clone(), vec![keys[0].clone()])].into());
    // What is not touched cannot be waited for.
    assert_eq!(sequence.among(&[&keys[0]].into()), Edges::new());
}
