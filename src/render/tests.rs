//! Renders of charts built in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lookup::{LookupKey, Lookups};
use super::{
    Capabilities, Options, ReleaseInfo, RenderError, RenderedRelease, Request, TemplateFault, render,
    with_renderer,
};
use crate::chart::{Chart, File, helm_text, load};
use crate::value::Map;
use crate::{value, yaml};

fn chart(files: &[(&str, &str)]) -> Chart {
    let own = [("Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n")];
    let own = own.iter().filter(|(name, _)| !files.iter().any(|(given, _)| given == name));
    load::from_files(own.chain(files).map(|(name, text)| File::new(*name, text.as_bytes())).collect())
        .unwrap()
}

fn with_request<T>(chart: &Chart, values: &str, options: Options, work: impl FnOnce(&Request<'_>) -> T) -> T {
    let values = yaml::read_map(values.as_bytes()).unwrap();
    work(&Request {
        chart,
        values: &values,
        release: ReleaseInfo {
            name: "r".to_owned(),
            namespace: "n".to_owned(),
            revision: 1,
            is_install: true,
            is_upgrade: false,
        },
        capabilities: &Capabilities::offline(),
        options,
        now: jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC),
        seed: [0; 32],
    })
}

/// What the templates of a chart write.
fn files(
    chart: &Chart,
    values: &str,
    lookups: &mut Lookups,
) -> Result<BTreeMap<String, String>, RenderError> {
    with_request(chart, values, Options::default(), |request| {
        with_renderer(|renderer| renderer.files(request, lookups))?
    })
}

fn release(chart: &Chart, options: Options) -> Result<RenderedRelease, RenderError> {
    with_request(chart, "{}", options, |request| render(request, &mut Lookups::offline()))
}

/// Checks what the one template `template` writes.
fn check(template: &str, expected: &str) {
    let chart = chart(&[
        ("templates/t.yaml", template),
        ("values.yaml", "a: 1\nt: {b: {c: text}}\n"),
        ("files/one.txt", "1\n2\n"),
        ("files/two.txt", "\u{e9}"),
        ("files/sub/three.txt", "3"),
        ("empty", ""),
        ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\nannotations: {k: v}\nkeywords: [x]\n"),
    ]);
    let files = files(&chart, "{}", &mut Lookups::offline()).map_err(|error| helm_text(&error));
    assert_eq!(files.map(|files| files["c/templates/t.yaml"].clone()).as_deref(), Ok(expected), "{template}");
}

/// To go-yaml v3 a nil map is an empty one; through JSON it is null.
#[test]
fn a_nil_map_is_empty_only_to_to_yaml_pretty() {
    let template = "{{ toYamlPretty .Chart }}\n{{ (toYaml .Chart) }}";
    let parts = [("templates/t.yaml", template), ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n")];
    let text = files(&chart(&parts), "{}", &mut Lookups::offline()).unwrap()["c/templates/t.yaml"].clone();
    assert!(text.contains("\nAnnotations: {}\n"), "{text}");
    assert_eq!(text.matches("\nAnnotations: null\n").count(), 1, "toYaml: {text}");
}

#[test]
fn built_in_objects_behave_as_helms() {
    check("{{ .Values.a }} {{ .Values.t.b.c }} [{{ .Values.missing }}] {{ .Values.AsMap.a }}", "1 text [] 1");
    check("{{ (.Values.Table \"t.b\").c }} {{ .Values.PathValue \"t.b.c\" }}", "text text");
    check("{{ .Values.YAML }}", "a: 1\nt:\n  b:\n    c: text\n");
    check(
        "{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Revision }} {{ .Release.Service }}",
        "r n 1 Helm",
    );
    check("{{ .Release.IsInstall }} {{ .Release.IsUpgrade }} [{{ .Release.Time }}]", "true false []");
    check(
        "{{ .Chart.Name }} {{ .Chart.APIVersion }} {{ .Chart.IsRoot }} [{{ .Chart.Nope }}]",
        "c v2 true []",
    );
    check(
        "{{ .Chart.Annotations.k }} [{{ .Chart.Annotations.x }}] {{ .Chart.Keywords }} {{ .Chart.Sources }}",
        "v [] [x] []",
    );
    check("{{ .Template.Name }} {{ .Template.BasePath }}", "c/templates/t.yaml c/templates");
    check("{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Minor }}", "v1.37.0 37");
    check("{{ printf \"%v\" .Capabilities.KubeVersion }}", "{v1.37.0 v1.37.0 1 37}");
    check(
        "{{ .Capabilities.KubeVersion.GitVersion }} {{ .Capabilities.HelmVersion.Version }}",
        "v1.37.0 v4.3.1",
    );
    check("{{ .Capabilities.APIVersions.Has \"apps/v1\" }} {{ len .Capabilities.APIVersions }}", "true 57");
    check("{{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" }}", "false");
    check("{{ .Subcharts }}", "map[]");
    check(
        "{{ typeOf . }} {{ typeOf $ }} {{ typeOf .Subcharts }}",
        "common.Values common.Values map[string]interface {}",
    );
    check("{{ (.Table \"Values.t.b\").c }} {{ (merge (dict) .).Release.Name }}", "text r");
}

#[test]
fn files_are_read_by_path_pattern_and_line() {
    check("{{ .Files.Get \"files/one.txt\" }}[{{ .Files.Get \"nope\" }}]", "1\n2\n[]");
    check("{{ .Files.GetBytes \"files/two.txt\" }} {{ .Files.GetBytes \"nope\" }}", "[195 169] []");
    check(
        "{{ range .Files.Lines \"files/one.txt\" }}({{ . }}){{ end }}{{ len (.Files.Lines \"empty\") }}",
        "(1)(2)0",
    );
    check(
        "{{ range $path, $_ := .Files.Glob \"files/*.txt\" }}{{ $path }} {{ end }}",
        "files/one.txt files/two.txt ",
    );
    check(
        "{{ range $path, $_ := .Files.Glob \"**/three.txt\" }}{{ $path }} {{ end }}",
        "files/sub/three.txt ",
    );
    check("{{ len (.Files.Glob \"[\") }}", "4");
    check("{{ (.Files.Glob \"files/*\").AsConfig }}", "one.txt: |\n  1\n  2\ntwo.txt: \u{e9}");
    check("{{ (.Files.Glob \"files/*\").AsSecrets }}", "one.txt: MQoyCg==\ntwo.txt: w6k=");
    check("{{ with .Files.Glob \"nope/*\" }}some{{ else }}none{{ end }}", "none");
    check("{{ index .Files \"files/sub/three.txt\" }}", "[51]");
    check("{{ .Files.nope }}", "[]");
}

#[test]
fn missing_values_leave_nothing_behind() {
    check("[{{ .Values.x }}] [{{ \"<no value>\" }}] [{{ print nil }}]", "[] [] [<nil>]");
}

#[test]
fn templates_of_all_charts_see_each_other_and_the_outermost_definition_counts() {
    let chart = chart(&[
        ("templates/_a.tpl", "{{ define \"who\" }}a{{ end }}"),
        (
            "templates/_b.tpl",
            "{{ define \"who\" }}b{{ end }}{{ define \"file\" }}{{ .Template.Name }}{{ end }}",
        ),
        ("templates/t.yaml", "{{ include \"who\" . }} {{ include \"file\" . }}"),
        ("charts/s/Chart.yaml", "name: s\nversion: 1.0.0"),
        ("charts/s/templates/_h.tpl", "{{ define \"who\" }}s{{ end }}{{ define \"only\" }}only s{{ end }}"),
        ("charts/s/templates/t.yaml", "{{ include \"who\" . }} {{ include \"file\" . }} {{ .Chart.IsRoot }}"),
        (
            "charts/s/templates/u.yaml",
            "{{ include \"only\" . }} {{ include \"s/charts\" . }}{{ define \"s/charts\" }}!{{ end }}",
        ),
    ]);
    let files = files(&chart, "{}", &mut Lookups::offline()).unwrap();
    assert_eq!(files["c/templates/t.yaml"], "a c/templates/t.yaml");
    assert_eq!(files["c/charts/s/templates/t.yaml"], "a c/charts/s/templates/t.yaml false");
    assert_eq!(files["c/charts/s/templates/u.yaml"], "only s !");
    assert_eq!(files.len(), 3);
}

#[test]
fn what_one_file_sets_is_seen_by_later_files_of_all_charts() {
    let chart = chart(&[
        ("values.yaml", "global: {g: {x: 1}}\nlist: [{x: 1}]"),
        (
            "templates/a.yaml",
            "{{ .Values.late }} {{ .Values.s.seen }} {{ .Values.global.g.y }} {{ .Subcharts.s.Values.seen }}",
        ),
        ("templates/b.yaml", "{{ $_ := set .Values \"late\" \"b\" }}"),
        ("charts/s/Chart.yaml", "name: s\nversion: 1.0.0"),
        (
            "charts/s/templates/t.yaml",
            "{{ $_ := set .Values \"seen\" \"s\" }}{{ $_ = set .Values.global.g \"y\" 2 }}",
        ),
    ]);
    let files = files(&chart, "{}", &mut Lookups::offline()).unwrap();
    assert_eq!(files["c/templates/a.yaml"], "b s  s");
}

#[test]
fn a_deep_copy_of_everything_shares_no_values() {
    check(
        "{{ $copy := deepCopy . }}{{ $_ := set $copy.Values \"a\" 2 }}{{ $_ = set $copy.Values.t \"b\" 3 }}\
         {{ .Values.a }} {{ .Values.t.b.c }} {{ $copy.Values.a }} {{ $copy.Values.t.b }} {{ typeOf $copy.Values }}",
        "1 text 2 3 common.Values",
    );
    check(
        "{{ $_ := set .Values \"old\" (deepCopy .Values) }}{{ .Values.old | toJson }}",
        "{\"a\":1,\"t\":{\"b\":{\"c\":\"text\"}}}",
    );
}

#[test]
fn library_charts_and_switched_off_charts_render_nothing() {
    let chart = chart(&[
        (
            "Chart.yaml",
            "apiVersion: v2\nname: c\nversion: 1\ndependencies: [{name: off, version: '*', condition: on}]",
        ),
        ("values.yaml", "on: false"),
        ("templates/t.yaml", "{{ include \"lib.x\" . }} {{ .Chart.Dependencies }} {{ .Values.off }}"),
        ("charts/lib/Chart.yaml", "name: lib\nversion: 1\ntype: library"),
        ("charts/lib/templates/_x.tpl", "{{ define \"lib.x\" }}x{{ end }}"),
        ("charts/lib/templates/y.yaml", "y"),
        ("charts/off/Chart.yaml", "name: off\nversion: 1"),
        ("charts/off/values.yaml", "k: 1"),
        ("charts/off/templates/z.yaml", "z"),
    ]);
    let files = files(&chart, "{}", &mut Lookups::offline()).unwrap();
    assert_eq!(
        files.into_iter().collect::<Vec<_>>(),
        [("c/templates/t.yaml".to_owned(), "x [] ".to_owned())]
    );
}

#[test]
fn failures_have_helms_texts() {
    let check = |template: &str, fault: TemplateFault, expected: &str| {
        let chart = chart(&[
            ("templates/_h.tpl", "{{ define \"inner\" }}\n{{ .Values.a.b.c }}{{ end }}"),
            ("templates/t.yaml", template),
        ]);
        match files(&chart, "{}", &mut Lookups::offline()) {
            Err(RenderError::Template(error)) => {
                assert_eq!((error.fault, error.text.as_str()), (fault, expected), "{template}");
            }
            other => panic!("{template}: {other:?}"),
        }
    };
    check("\n{{ if }}", TemplateFault::Syntax, "parse error at (c/templates/t.yaml:2): missing value for if");
    check(
        "{{ fail \"no: way\" }}",
        TemplateFault::Refused,
        "execution error at (c/templates/t.yaml:1:3): no: way",
    );
    check(
        "{{ required \"a is needed\" .Values.a }}",
        TemplateFault::Refused,
        "execution error at (c/templates/t.yaml:1:3): a is needed",
    );
    check(
        "{{ index .Capabilities \"a\" }}",
        TemplateFault::Execution,
        "template: c/templates/t.yaml:1:3: executing \"c/templates/t.yaml\" at <index .Capabilities \"a\">: \
         error calling index: can't index item of type common.Capabilities",
    );
    check(
        "{{ include \"inner\" . }}",
        TemplateFault::Execution,
        "c/templates/t.yaml:1:3\n  executing \"c/templates/t.yaml\" at <include \"inner\" .>:\n    error calling include:\n\
         c/templates/_h.tpl:2:10\n  executing \"inner\" at <.Values.a.b.c>:\n    nil pointer evaluating interface {}.b",
    );
}

#[test]
fn lookups_that_have_no_answer_yet_are_noted_and_answered_in_the_next_round() {
    let chart = chart(&[(
        "templates/t.yaml",
        "{{ $s := lookup \"v1\" \"Secret\" .Release.Namespace \"s\" }}{{ with $s.data }}{{ .k }}{{ else }}none{{ end }}",
    )]);
    let key = LookupKey {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: "n".to_owned(),
        name: "s".to_owned(),
    };
    let text =
        |lookups: &mut Lookups| files(&chart, "{}", lookups).map(|files| files["c/templates/t.yaml"].clone());

    let mut offline = Lookups::offline();
    assert_eq!(text(&mut offline).unwrap(), "none");
    assert_eq!(offline.missing().count(), 0);

    let mut live = Lookups::live();
    assert_eq!(text(&mut live).unwrap(), "none");
    assert_eq!(live.missing().collect::<Vec<_>>(), [&key]);
    live.answer(key.clone(), Ok(yaml::read(b"data: {k: v}").unwrap()));
    assert_eq!(live.missing().count(), 0);
    assert_eq!(text(&mut live).unwrap(), "v");

    live.answer(key, Err("secrets \"s\" is forbidden".to_owned()));
    let error = text(&mut live).unwrap_err().to_string();
    assert!(error.contains("error calling lookup: secrets \"s\" is forbidden"), "{error}");
}

#[test]
fn notes_are_no_manifests() {
    let chart = chart(&[
        ("templates/NOTES.txt", "own notes"),
        ("templates/sub/moreNOTES.txt", "more"),
        ("templates/t.yaml", "kind: A"),
        ("charts/s/Chart.yaml", "name: s\nversion: 1"),
        ("charts/s/templates/NOTES.txt", "notes of s"),
    ]);
    let rendered = release(&chart, Options::default()).unwrap();
    assert_eq!(rendered.notes, "own notes");
    assert_eq!(rendered.manifests.len(), 1);
    let rendered = release(&chart, Options { sub_notes: true, ..Options::default() }).unwrap();
    assert_eq!(rendered.notes, "own notes\nnotes of s\nmore");
}

#[test]
fn a_post_renderer_replaces_the_objects_but_not_the_hooks() {
    let chart = chart(&[
        ("templates/t.yaml", "kind: A\nmetadata: {name: a}"),
        ("templates/h.yaml", "kind: H\nmetadata: {name: h, annotations: {helm.sh/hook: test}}"),
    ]);
    let with = |post_render: fn(&str) -> Result<String, String>| {
        release(&chart, Options { post_render: Some(Arc::new(post_render)), ..Options::default() })
    };
    let rendered = with(|text| Ok(format!("{}---\nkind: C\n", text.replace("kind: A", "kind: B")))).unwrap();
    assert_eq!(
        rendered.manifest,
        "---\n# Source: c/templates/t.yaml\nkind: B\nmetadata: {name: a}\n---\nkind: C\n"
    );
    let found: Vec<_> =
        rendered.manifests.iter().map(|m| (m.path.as_str(), m.document.head.kind.as_str())).collect();
    assert_eq!(found, [("c/templates/t.yaml", "B"), ("", "C")]);
    assert_eq!(rendered.hooks.len(), 1);
    assert!(with(|_| Ok(String::new())).is_err());
    let error = with(|_| Err("exit status 1".to_owned())).unwrap_err();
    assert_eq!(error.to_string(), "error while running post render on files: exit status 1");
}

#[test]
fn values_are_checked_against_schemas_unless_told_otherwise() {
    let chart = chart(&[("values.schema.json", "{\"required\": [\"a\"]}"), ("templates/t.yaml", "kind: A")]);
    let error = release(&chart, Options::default()).unwrap_err();
    assert!(error.to_string().ends_with("c:\n- at '': missing property 'a'\n"), "{error}");
    assert!(release(&chart, Options { skip_schema: true, ..Options::default() }).is_ok());
}

#[test]
fn templates_that_nest_without_end_fail_and_do_not_crash() {
    let chart = chart(&[(
        "templates/t.yaml",
        "{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}",
    )]);
    let error = files(&chart, "{}", &mut Lookups::offline()).unwrap_err().to_string();
    assert!(error.contains("rendering template has a nested reference name: x"), "{error}");
    let deep: String = "{a: ".repeat(5000) + "1" + &"}".repeat(5000);
    let nested = chart_with_values(&deep);
    let _ = files(&nested, "{}", &mut Lookups::offline());
}

fn chart_with_values(values: &str) -> Chart {
    let files = [("Chart.yaml", "name: c\nversion: 1"), ("templates/t.yaml", "{{ .Values }}")];
    let mut chart =
        load::from_files(files.iter().map(|(name, text)| File::new(*name, text.as_bytes())).collect())
            .unwrap();
    chart.values = yaml::read_map(values.as_bytes()).ok().or(Some(Map::new()));
    assert!(
        chart.values.as_ref().is_some_and(|values| !matches!(values.get("a"), Some(value::Value::Int(_))))
    );
    chart
}
