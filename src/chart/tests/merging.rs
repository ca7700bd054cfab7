//! Values of a chart and the charts inside it, merged as Helm merges them.

use super::{chart, json, table, table_json};
use crate::chart::coalesce::{Merger, Mode, NullRules};
use crate::chart::{Chart, dependencies};
use crate::template::value::Map;
use crate::value::Value;

const PARENT: &str = "apiVersion: v2\nname: c\nversion: 0.1.0\n";
const LISTED: &str = "apiVersion: v2\nname: c\nversion: 0.1.0\ndependencies: [{name: s, version: 0.1.0}]\n";
const SUB: &str = "apiVersion: v2\nname: s\nversion: 0.1.0\n";

/// The values that templates of `chart` see when the user gives `user`.
fn seen(chart: &Chart, user: &Map, rules: NullRules) -> Result<String, String> {
    let mut merger = Merger::new(rules);
    let processed = dependencies::process(chart, user, &mut merger).map_err(|error| error.to_string())?;
    let values = merger.values(&processed, user, Mode::Coalesce).map_err(|error| error.to_string())?;
    Ok(table_json(&values))
}

fn with_sub(chart_yaml: &str, parent: &str, sub: &str) -> Chart {
    chart(&[
        ("Chart.yaml", chart_yaml),
        ("values.yaml", parent),
        ("charts/s/Chart.yaml", SUB),
        ("charts/s/values.yaml", sub),
    ])
}

#[test]
fn the_user_wins_over_defaults_and_tables_merge() {
    let check = |defaults: &str, user: &str, expected: &str| {
        let chart = chart(&[("Chart.yaml", PARENT), ("values.yaml", defaults)]);
        assert_eq!(
            seen(&chart, &table(user), NullRules::default()).unwrap(),
            expected,
            "{defaults} + {user}"
        );
    };
    check("a: 1", "a: 2", r#"{"a":2}"#);
    check("a: {b: 1, c: 2}", "a: {b: 3, d: 4}", r#"{"a":{"b":3,"c":2,"d":4}}"#);
    check("a: [1, 2]", "a: [3]", r#"{"a":[3]}"#);
    check("a: {b: 1}", "a: {}", r#"{"a":{"b":1}}"#);
    check("a: {b: 1}", "a: null", "{}");
    check("a: {b: 1}", "a: text", r#"{"a":"text"}"#);
    check("a: text", "a: {b: 1}", r#"{"a":{"b":1}}"#);
    check("a: {b: {c: 1}}", "a: {b: x}", r#"{"a":{"b":"x"}}"#);
}

#[test]
fn every_generation_of_helm_has_its_own_rule_for_nulls() {
    use NullRules::{Helm3_18, Helm3_20, Helm4_1, Helm4_2};
    let check = |defaults: &str, user: &str, expected: [&str; 4]| {
        let chart = chart(&[("Chart.yaml", PARENT), ("values.yaml", defaults)]);
        for (rules, expected) in [Helm3_18, Helm3_20, Helm4_1, Helm4_2].into_iter().zip(expected) {
            let seen = seen(&chart, &table(user), rules).unwrap();
            assert_eq!(seen, expected, "{defaults} + {user} by {rules:?}");
        }
    };
    let kept = r#"{"a":null,"b":{"c":null,"d":1}}"#;
    check("a: null\nb: {c: null, d: 1}", "{}", [kept, kept, kept, r#"{"b":{"d":1}}"#]);
    check(
        "b: {d: 1}",
        "z: null\nb: {x: null, d: null}",
        [
            r#"{"b":{"x":null},"z":null}"#,
            r#"{"b":{},"z":null}"#,
            r#"{"b":{"x":null},"z":null}"#,
            r#"{"b":{"x":null},"z":null}"#,
        ],
    );
}

#[test]
fn nulls_reach_through_to_charts_inside() {
    let check = |chart_yaml: &str, parent: &str, sub: &str, user: &str, expected: &str| {
        let chart = with_sub(chart_yaml, parent, sub);
        let seen = seen(&chart, &table(user), NullRules::default()).unwrap();
        assert_eq!(seen, expected, "{parent} / {sub} + {user}");
    };
    let (parent, sub) = ("s: {k: null, t: {a: null}}", "{k: 1, t: {a: 1, b: 2}}");
    let whole = r#"{"s":{"global":{},"k":1,"t":{"a":1,"b":2}}}"#;
    let removed = r#"{"s":{"global":{},"t":{"b":2},"x":1}}"#;
    check(PARENT, parent, sub, "{}", whole);
    check(LISTED, parent, sub, "{}", whole);
    check(PARENT, parent, sub, "s: {x: 1}", removed);
    check(LISTED, parent, sub, "s: {x: 1}", removed);
    check(
        PARENT,
        "{}",
        sub,
        "s: {k: null, t: {a: null, c: null}}",
        r#"{"s":{"global":{},"t":{"b":2,"c":null}}}"#,
    );
    check(PARENT, "{}", "n: null", "{}", r#"{"s":{"global":{}}}"#);
    check(PARENT, "s: null", "k: 1", "{}", r#"{"s":{"global":{},"k":1}}"#);
}

#[test]
fn a_value_for_a_chart_inside_must_be_a_table() {
    let check = |user: &str, expected: &str| {
        let chart = with_sub(LISTED, "{}", "k: 1");
        let error = seen(&chart, &table(user), NullRules::default()).unwrap_err();
        assert_eq!(error, format!("type mismatch on s: {expected}"));
    };
    check("s: null", "%!t(<nil>)");
    check("s: text", "%!t(string=text)");
    check("s: 1", "%!t(float64=1)");
    check("s: true", "true");
    check("s: [a, null]", "[%!t(string=a) <nil>]");
}

#[test]
fn globals_go_down_and_the_parent_wins() {
    let check = |parent: &str, sub: &str, user: &str, expected: &str| {
        let seen = seen(&with_sub(PARENT, parent, sub), &table(user), NullRules::default()).unwrap();
        assert_eq!(seen, expected, "{parent} / {sub} + {user}");
    };
    check(
        "global: {a: 1}",
        "global: {a: 2, b: 3}",
        "{}",
        r#"{"global":{"a":1},"s":{"global":{"a":1,"b":3}}}"#,
    );
    check("global: 1", "k: 1", "{}", r#"{"global":1,"s":{"k":1}}"#);
    check(
        "{}",
        "k: 1",
        "global: {t: {a: 1}}\ns: {global: {t: {b: 2}}}",
        r#"{"global":{"t":{"a":1}},"s":{"global":{"t":{"a":1,"b":2}},"k":1}}"#,
    );
    // Tables below the first level belong to both charts, so the child's default shows in the parent.
    check(
        "global: {t: {u: {a: 1}}}",
        "global: {t: {u: {b: 2}}}",
        "{}",
        r#"{"global":{"t":{"u":{"a":1,"b":2}}},"s":{"global":{"t":{"u":{"a":1,"b":2}}}}}"#,
    );
}

#[test]
fn tags_and_conditions_switch_charts_off() {
    let check = |dependency: &str, user: &str, expected: bool| {
        let chart_yaml = format!("{PARENT}dependencies: [{{name: s, version: 0.1.0, {dependency}}}]\n");
        let chart = with_sub(&chart_yaml, "{}", "self: {on: false, off: 1}\nenabled: false");
        let processed = dependencies::process(&chart, &table(user), &mut Merger::default()).unwrap();
        assert_eq!(!processed.dependencies.is_empty(), expected, "{dependency} + {user}");
        let listed = processed.metadata.dependencies.unwrap_or_default();
        assert_eq!(!listed.is_empty(), expected, "{dependency} + {user}");
    };
    check("tags: [a, b]", "{}", true);
    check("tags: [a, b]", "tags: {a: false}", false);
    check("tags: [a, b]", "tags: {a: false, b: true}", true);
    check("tags: [a]", "tags: {a: text}", true);
    check("condition: x.enabled", "{}", true);
    check("condition: x.enabled", "x: {enabled: false}", false);
    check("condition: x.enabled", "x: {enabled: 'false'}", true);
    check("condition: 'x.a,x.b'", "x: {b: false}", false);
    check("condition: 'x.a,x.b'", "x: {a: true, b: false}", true);
    // The space after the comma belongs to the path.
    check("condition: 'x.a, x.b'", "x: {b: false}", true);
    check("condition: x.enabled, tags: [a]", "{x: {enabled: true}, tags: {a: false}}", true);
    // A chart's own default may switch it off.
    check("condition: s.enabled", "{}", false);
    check("condition: s.enabled", "s: {enabled: true}", true);
}

#[test]
fn a_chart_can_be_taken_several_times_under_other_names() {
    let chart_yaml = format!(
        "{PARENT}dependencies:\n- {{name: s, version: 0.1.0, alias: one}}\n- {{name: s, version: ~0, alias: two}}\n\
         - {{name: s, version: '>=2', alias: three}}\n"
    );
    let chart = with_sub(&chart_yaml, "two: {k: 5}", "k: 1");
    let processed = dependencies::process(&chart, &Map::new(), &mut Merger::default()).unwrap();
    let names: Vec<_> = processed.dependencies.iter().map(Chart::name).collect();
    assert_eq!(names, ["one", "two"]);
    let seen = seen(&chart, &Map::new(), NullRules::default()).unwrap();
    assert_eq!(seen, r#"{"one":{"global":{},"k":1},"two":{"global":{},"k":5}}"#);
}

#[test]
fn charts_that_no_entry_matches_come_first_and_stay() {
    let chart = chart(&[
        (
            "Chart.yaml",
            &format!("{PARENT}dependencies: [{{name: a, version: 1.0.0}}, {{name: z, version: ''}}]\n"),
        ),
        ("charts/a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n"),
        ("charts/b/Chart.yaml", "apiVersion: v2\nname: b\nversion: 1.0.0\n"),
        ("charts/z/Chart.yaml", "apiVersion: v2\nname: z\nversion: 1.0.0\n"),
    ]);
    let processed = dependencies::process(&chart, &Map::new(), &mut Merger::default()).unwrap();
    let names: Vec<_> = processed.dependencies.iter().map(Chart::name).collect();
    assert_eq!(names, ["b", "z", "a"]);
}

#[test]
fn import_values_lifts_the_defaults_of_a_chart_inside() {
    let check = |imports: &str, parent: &str, sub: &str, user: &str, expected: &str| {
        let chart_yaml =
            format!("{PARENT}dependencies: [{{name: s, version: 0.1.0, import-values: {imports}}}]\n");
        let chart = with_sub(&chart_yaml, parent, sub);
        let mut seen: Value = crate::value::json::from_slice(
            seen(&chart, &table(user), NullRules::default()).unwrap().as_bytes(),
            crate::value::json::Numbers::Typed,
        )
        .unwrap();
        seen.as_map_mut().unwrap().remove("s");
        assert_eq!(json(&seen), expected, "{imports} {parent} / {sub}");
    };
    check("[data]", "{}", "exports: {data: {a: 1}}", "{}", r#"{"a":1}"#);
    check("[data]", "a: 2", "exports: {data: {a: 1, b: 3}}", "{}", r#"{"a":2,"b":3}"#);
    check("[{child: t, parent: x.y}]", "{}", "t: {a: 1}", "{}", r#"{"x":{"y":{"a":1}}}"#);
    check("[{child: t, parent: .}]", "{}", "t: {a: 1}", "{}", r#"{"a":1}"#);
    check("[{child: missing, parent: x}]", "{}", "t: {a: 1}", "{}", "{}");
    check("[{child: t.a, parent: x}]", "{}", "t: {a: 1}", "{}", "{}");
    // What the user gives the child is not imported.
    check("[{child: t, parent: x}]", "{}", "t: {a: 1}", "s: {t: {a: 5}}", r#"{"x":{"a":1}}"#);
}

#[test]
fn imports_that_make_a_table_contain_itself_are_refused() {
    let chart_yaml = format!(
        "{PARENT}dependencies: [{{name: s, version: 0.1.0, import-values: \
         [{{child: a.b, parent: x}}, {{child: a, parent: x.y}}]}}]\n"
    );
    let chart = with_sub(&chart_yaml, "{}", "a: {b: {c: 1}}");
    assert!(seen(&chart, &Map::new(), NullRules::default()).is_err());
}

#[test]
fn dependencies_that_are_not_there_are_named() {
    let yaml = format!(
        "{PARENT}dependencies: [{{name: s, version: 1}}, {{name: t, version: 1}}, {{name: u, version: 1}}]\n"
    );
    let chart = with_sub(&yaml, "{}", "{}");
    let error = dependencies::check_present(&chart).unwrap_err();
    assert_eq!(error.to_string(), "found in Chart.yaml, but missing in charts/ directory: t, u");
}
