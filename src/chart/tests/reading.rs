//! Charts from their files.

use super::{chart, files_of};
use crate::chart::{Chart, ChartError, helm_text, load};

const CHART: &str = "apiVersion: v2\nname: c\nversion: 0.1.0\n";

fn error(files: &[(&str, &str)]) -> String {
    helm_text(&load::from_files(files_of(files)).unwrap_err())
}

#[test]
fn files_go_where_helm_puts_them() {
    let chart = chart(&[
        ("Chart.yaml", CHART),
        (".helmignore", "x"),
        ("Chart.lock", "digest: sha256:1\ngenerated: \"2024-01-02T03:04:05Z\"\ndependencies: []\n"),
        ("README.md", "# c"),
        ("charts/_skipped/x", ""),
        ("charts/.skipped", ""),
        ("charts/s/Chart.yaml", "apiVersion: v1\nname: sub\nversion: 1.0.0\n"),
        ("charts/s/crds/b.YML", "b"),
        ("charts/x.tgz.prov", "signature"),
        ("crds/a.yaml", "a"),
        ("crds/notes.txt", "no"),
        ("templates/NOTES.txt", "notes"),
        ("templates/_h.tpl", "\u{FEFF}h"),
        ("values.schema.json", "{}"),
        ("values.yaml", "a: 1"),
    ]);
    let names = |files: &[super::File]| files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&chart.templates), ["templates/NOTES.txt", "templates/_h.tpl"]);
    assert_eq!(&*chart.templates[1].data, b"h");
    assert_eq!(
        names(&chart.files),
        [".helmignore", "README.md", "charts/x.tgz.prov", "crds/a.yaml", "crds/notes.txt"]
    );
    assert_eq!(chart.dependencies.iter().map(Chart::name).collect::<Vec<_>>(), ["sub"]);
    let crds: Vec<_> = chart.crds().into_iter().map(|(path, _)| path).collect();
    assert_eq!(crds, ["c/crds/a.yaml", "c/charts/sub/crds/b.YML"]);
    assert_eq!(chart.lock.unwrap().digest, "sha256:1");
    assert_eq!(chart.schema.as_deref(), Some(&b"{}"[..]));
}

#[test]
fn statements_are_read_as_gos_structs_are() {
    let chart = chart(&[(
        "Chart.yaml",
        "APIVERSION: v2\nName: c\nversion: 1.10\nappVersion: 1e3\nunknown: [1]\nkeywords: [1, true, 1.5]\n\
         annotations: {a: 12345678.9, b: yes, 1: ~, 1.5: 2020-01-01}\nhome: null\n\
         dependencies:\n- {name: 1, version: 2, tags: [3], import-values: [1, a], enabled: true}\n",
    )]);
    let metadata = &chart.metadata;
    assert_eq!(metadata.version, "1.1");
    assert_eq!(metadata.app_version, "1000");
    assert_eq!(metadata.keywords, ["1", "true", "1.5"]);
    let annotations: Vec<_> =
        metadata.annotations.iter().flatten().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(annotations, ["1=", "1.5=2020-01-01", "a=1.2345679e+07", "b=true"]);
    let dependency = &metadata.dependencies.as_ref().unwrap()[0];
    assert_eq!((dependency.name.as_str(), dependency.version.as_str()), ("1", "2"));
    assert_eq!(dependency.tags, ["3"]);
}

#[test]
fn wrong_statements_are_refused_in_helms_words() {
    let check = |yaml: &str, expected: &str| assert_eq!(error(&[("Chart.yaml", yaml)]), expected, "{yaml}");
    let more = |line: &str| format!("{CHART}{line}\n");
    let json = |rest: &str| {
        format!(
            "cannot load Chart.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {rest}"
        )
    };
    check("[1]", &json("array into Go value of type v2.Metadata"));
    check("", "validation: chart.metadata.name is required");
    check(&more("keywords: foo"), &json("string into Go struct field Metadata.keywords of type []string"));
    check(
        &more("dependencies: [{name: x, tags: foo}]"),
        &json("string into Go struct field Dependency.dependencies.tags of type []string"),
    );
    check(&more("deprecated: 'true'"), &json("string into Go struct field Metadata.deprecated of type bool"));
    check(
        &more("maintainers: [foo]"),
        &json("string into Go struct field Metadata.maintainers of type v2.Maintainer"),
    );
    check(
        &more("annotations: {a: [x]}"),
        &json("array into Go struct field Metadata.annotations of type string"),
    );
    check(
        "a: b: c",
        "cannot load Chart.yaml: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
    );
}

#[test]
fn statements_are_checked_as_helm_checks_them() {
    let check = |yaml: &str, expected: &str| {
        assert_eq!(error(&[("Chart.yaml", yaml)]), format!("validation: {expected}"), "{yaml}");
    };
    let more = |line: &str| format!("{CHART}{line}\n");
    check("version: 1", "chart.metadata.name is required");
    check("name: ..\nversion: 1", "chart.metadata.name \"..\" is not allowed");
    check("name: a/b\nversion: 1", "chart.metadata.name \"a/b\" is invalid");
    check("name: c", "chart.metadata.version is required");
    check("name: c\nversion: x1", "chart.metadata.version \"x1\" is invalid");
    check(&more("type: Library"), "chart.metadata.type must be application or library");
    check(&more("maintainers: [null]"), "maintainers must not contain empty or null nodes");
    check(&more("dependencies: [null]"), "dependencies must not contain empty or null nodes");
    check(
        &more("dependencies: [{name: x, alias: a b}]"),
        "dependency \"x\" has disallowed characters in the alias",
    );
    check(
        &more("dependencies: [{name: x}, {name: y, alias: x}]"),
        "more than one dependency with name or alias \"x\"",
    );
}

#[test]
fn text_is_cleaned_of_what_cannot_be_printed() {
    let chart = chart(&[("Chart.yaml", "name: c\nversion: 1\ndescription: \"a\\tb\\u0007c\\u00a0d\"\n")]);
    assert_eq!(chart.metadata.description, "a bc d");
    assert_eq!(chart.metadata.api_version, "v1");
}

#[test]
fn charts_inside_that_cannot_be_loaded_are_named() {
    let check = |file: &str, text: &str, expected: &str| {
        assert_eq!(error(&[("Chart.yaml", CHART), (file, text)]), expected);
    };
    check("charts/README.md", "x", "error unpacking subchart README.md in c: Chart.yaml file is missing");
    check(
        "charts/s/values.yaml",
        "x",
        "error unpacking subchart s in c: cannot load values.yaml: cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type map[string]interface {}",
    );
    check("charts/s.tgz", "x", "error unpacking subchart s.tgz in c: gzip: invalid header");
    check("charts/s.tgz/a", "x", "error unpacking subchart tar in c: expected s.tgz, got s.tgz/a");
    assert_eq!(error(&[("values.yaml", "")]), "Chart.yaml file is missing");
}

#[test]
fn old_charts_list_their_dependencies_in_a_file_of_its_own() {
    let load = |api_version: &str| {
        chart(&[
            ("Chart.yaml", &format!("apiVersion: {api_version}\nname: c\nversion: 1\n")),
            ("requirements.yaml", "dependencies: [{name: s, version: 1}]"),
            ("requirements.lock", "digest: d"),
        ])
    };
    for (api_version, files, warnings) in [("v1", 2, 0), ("v2", 0, 2)] {
        let chart = load(api_version);
        assert_eq!(chart.metadata.dependencies.as_ref().map(Vec::len), Some(1));
        assert_eq!(chart.lock.as_ref().map(|lock| lock.digest.as_str()), Some("d"));
        assert_eq!((chart.files.len(), chart.warnings.len()), (files, warnings));
    }
}

#[test]
fn charts_nested_without_end_are_refused() {
    let path: String = "charts/s/".repeat(40) + "Chart.yaml";
    let mut files = vec![("Chart.yaml".to_owned(), CHART.to_owned()), (path.clone(), CHART.to_owned())];
    for level in 1..40 {
        files.push(("charts/s/".repeat(level) + "Chart.yaml", CHART.to_owned()));
    }
    let files = files.iter().map(|(name, text)| super::File::new(name, text.as_bytes())).collect();
    let mut error = load::from_files(files).unwrap_err();
    while let ChartError::Subchart { source, .. } = error {
        error = *source;
    }
    assert!(matches!(error, ChartError::TooDeep(_)));
}

#[test]
fn only_two_formats_can_be_installed() {
    let check = |version: &str, expected: &str| {
        let chart = chart(&[("Chart.yaml", &format!("{version}\nname: c\nversion: 1\n"))]);
        let found = load::check_format(&chart).map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(found, expected, "{version}");
    };
    check("", "");
    check("apiVersion: v1", "");
    check("apiVersion: v2", "");
    check("apiVersion: v3", "invalid chart apiVersion");
    check("apiVersion: v9", "unsupported chart version");
}
