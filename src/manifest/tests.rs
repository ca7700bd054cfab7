//! Documents, their order and their hooks.

use super::*;
use serde_json::json;

#[test]
fn texts_are_split_as_each_helm_splits_them() {
    // Answers of SplitManifests of Helm 4.3.1 and 3.22.0.
    let check = |text: &str, keep: &[&str], trim: &[&str]| {
        assert_eq!(split(text, SplitRule::Keep), keep, "{text:?}");
        assert_eq!(split(text, SplitRule::Trim), trim, "{text:?}");
    };
    check("", &[], &[]);
    check("a: 1\n", &["a: 1\n"], &["a: 1"]);
    check("\n---\na: 1\n\n---\n\n  b: 2\n \n", &["a: 1\n\n", "b: 2\n \n"], &["a: 1", "b: 2"]);
    check("---\n---\na: 1", &["a: 1"], &["---\na: 1"]);
    check("a\n---\n---\nb", &["a\n", "b"], &["a", "---\nb"]);
    check("---a: 1\n---  b: 2", &["a: 1\n", "b: 2"], &["a: 1", "b: 2"]);
    check("-----BEGIN\nx\n-----END", &["--BEGIN\nx\n", "--END"], &["--BEGIN\nx", "--END"]);
    check("a: 1\n--- # c\nb: 2", &["a: 1\n", "# c\nb: 2"], &["a: 1", "# c\nb: 2"]);
    check("a: |\n  ---\n  x\n", &["a: |\n  ---\n  x\n"], &["a: |\n  ---\n  x"]);
    check("a: 1\r\n---\r\nb: 2\r\n", &["a: 1\r\n", "b: 2\r\n"], &["a: 1", "b: 2"]);
    check("a: |+\n  x\n\n\n---\nb: 1", &["a: |+\n  x\n\n\n", "b: 1"], &["a: |+\n  x", "b: 1"]);
    check("a: 1\n---", &["a: 1\n"], &["a: 1"]);
    check("a ---\nb", &["a ---\nb"], &["a ---\nb"]);
}

#[test]
fn heads_are_read_as_helm_decodes_them() {
    // Answers of sigs.k8s.io/yaml 1.6.0 for Helm 4.3.1's SimpleHead.
    let head = |text: &str| Document::parse(text).map(|document| document.head);
    let ok = |text: &str| head(text).expect("the case is valid");
    let named = ok("KIND: x\nkind: 1.5e10\napiVersion: 1\nmetadata: {name: 7, namespace: ns}");
    assert_eq!((named.api_version.as_str(), named.kind.as_str()), ("1", "1.5e+10"));
    assert_eq!((named.name.as_str(), named.namespace.as_str()), ("7", "ns"));
    assert_eq!(ok("# only a comment"), Head::default());
    assert_eq!(ok("metadata: null\nkind: null"), Head::default());
    let annotated = ok(
        "metadata: {annotations: {a: 1, b: true, c: null, d: 12345678.9, e: 1e6}, labels: {l: 1, m: [x]}}",
    );
    let annotations: Vec<_> = annotated.annotations.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(annotations, [("a", "1"), ("b", "true"), ("c", ""), ("d", "1.2345679e+07"), ("e", "1e+06")]);
    assert_eq!(annotated.labels.len(), 1);
    for (text, expected) in [
        ("- a", "array into Go value of type util.SimpleHead"),
        ("x", "string into Go value of type util.SimpleHead"),
        ("kind: [a]\napiVersion: [b]", "array into Go struct field SimpleHead.apiVersion of type string"),
        ("metadata: {name: {}}", "object into Go struct field .metadata.name of type string"),
        (
            "metadata: {annotations: x}",
            "string into Go struct field .metadata.annotations of type map[string]string",
        ),
        (
            "metadata: {annotations: {a: [1]}}",
            "array into Go struct field .metadata.annotations of type string",
        ),
        (
            "metadata: 1",
            "number into Go struct field SimpleHead.metadata of type struct { Name string \"json:\\\"name\\\"\"; \
             Annotations map[string]string \"json:\\\"annotations\\\"\" }",
        ),
    ] {
        let expected =
            format!("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {expected}");
        assert_eq!(head(text).map_err(|error| error.to_string()), Err(expected), "{text}");
    }
    let error = head("a: b: c").map_err(|error| error.to_string());
    let expected = "error converting YAML to JSON: yaml: mapping values are not allowed in this context";
    assert_eq!(error, Err(expected.to_owned()));
}

#[test]
fn a_document_keeps_text_and_object_side_by_side() {
    let text = "# why\na: 1\na: 2.50 # twice\nb: 18446744073709551615\n";
    let document = Document::parse(text).expect("the text is valid");
    assert_eq!(document.text, text);
    assert_eq!(document.object, json!({"a": 2.5, "b": u64::MAX}));
    assert_eq!(Document::parse("# c").map(|document| document.object), Ok(json!(null)));
}

#[test]
fn annotations_make_hooks() {
    let role = |annotations: &str| {
        let text = format!("kind: Job\nmetadata:\n  annotations: {{{annotations}}}\n");
        Document::parse(&text).expect("the case is valid").role()
    };
    assert_eq!(role(""), Role::Manifest);
    assert_eq!(role("helm.sh/hook-weight: '1'"), Role::Manifest);
    let hook = Hook {
        events: vec![HookEvent::PreInstall, HookEvent::Test, HookEvent::Test],
        weight: -5,
        delete_policies: vec![DeletePolicy::HookSucceeded, DeletePolicy::Other("never".into())],
        output_log_policies: vec![OutputLogPolicy::HookFailed],
    };
    let annotations = "helm.sh/hook: 'PRE-install, test,test-success', helm.sh/hook-weight: '-5', \
                       helm.sh/hook-delete-policy: ' hook-succeeded,Never', \
                       helm.sh/hook-output-log-policy: hook-failed";
    assert_eq!(role(annotations), Role::Hook(hook));
    let weight = |weight: &str| match role(&format!("helm.sh/hook: test, helm.sh/hook-weight: {weight}")) {
        Role::Hook(hook) => hook.weight,
        other => panic!("no hook: {other:?}"),
    };
    assert_eq!((weight("3"), weight("x"), weight("'1.5'"), weight("+2")), (3, 0, 0, 2));
    assert_eq!(role("helm.sh/hook: 'pre-install,foo'"), Role::UnknownHook("pre-install,foo".into()));
    assert_eq!(role("helm.sh/hook: ''"), Role::UnknownHook(String::new()));
}

#[test]
fn the_resource_policy_is_read_without_blanks_and_case() {
    let kept = |policy: &str| {
        let text = format!("metadata: {{annotations: {{helm.sh/resource-policy: {policy}}}}}");
        Document::parse(&text).expect("the case is valid").head.is_kept()
    };
    assert!(kept("keep") && kept("' Keep '"));
    assert!(!kept("delete"));
}

#[test]
fn kinds_are_sorted_stably_with_unknown_ones_last() {
    let sorted = |order: KindOrder| {
        let mut items =
            ["Zeta:1", "Deployment:1", "Alpha:1", "Service:1", "Namespace:1", "Deployment:2", "Alpha:2"];
        sort_by_kind(&mut items, order, |item| item.split(':').next().unwrap_or_default());
        items.join(" ")
    };
    let expected = "Namespace:1 Service:1 Deployment:1 Deployment:2 Alpha:1 Alpha:2 Zeta:1";
    assert_eq!(sorted(KindOrder::Install), expected);
    let expected = "Service:1 Deployment:1 Deployment:2 Namespace:1 Alpha:1 Alpha:2 Zeta:1";
    assert_eq!(sorted(KindOrder::Uninstall), expected);
}

#[test]
fn lists_are_flattened() {
    let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [
        {"metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}]},
    ]});
    assert_eq!(
        flatten(list),
        [
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
            json!({"apiVersion": "v1", "kind": "Pod"}),
        ]
    );
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "items": {}});
    assert_eq!(flatten(other.clone()), [other]);
}
