//! Values against the schema of a chart.

use super::chart;
use crate::chart::schema::{self, Fetch};
use crate::yaml;

/// What Helm has to say of `values` under `schema`; empty if nothing.
fn findings(schema: &str, values: &str) -> String {
    let chart = chart(&[("Chart.yaml", "name: c\nversion: 1\n"), ("values.schema.json", schema)]);
    let values = yaml::read_map(values.as_bytes()).unwrap();
    match schema::check(&chart, &values, None) {
        Ok(()) => String::new(),
        Err(error) => {
            let text = error.to_string();
            let head =
                "values don't meet the specifications of the schema(s) in the following chart(s):\nc:\n";
            text.strip_prefix(head).unwrap().to_owned()
        }
    }
}

#[test]
fn findings_have_helms_words() {
    let check = |schema: &str, values: &str, expected: &str| {
        assert_eq!(findings(schema, values), expected, "{schema} {values}");
    };
    let of = |inner: &str| format!(r#"{{"properties": {{"i": {inner}}}}}"#);
    check(&of(r#"{"type": "integer"}"#), "i: 1.0", "");
    check(&of(r#"{"type": "integer"}"#), "i: text", "- at '/i': got string, want integer\n");
    check(&of(r#"{"type": ["string", "null"]}"#), "i: 1", "- at '/i': got number, want null or string\n");
    check(&of(r#"{"type": "string", "enum": ["a"]}"#), "i: 1", "- at '/i': got number, want string\n");
    check(&of(r#"{"minimum": 70000}"#), "i: -5", "- at '/i': minimum: got -5, want 70,000\n");
    check(&of(r#"{"maximum": 1}"#), "i: 1200000", "- at '/i': maximum: got 1.2×10⁰⁶, want 1\n");
    check(&of(r#"{"minLength": 3}"#), "i: ''", "- at '/i': minLength: got 0, want 3\n");
    check(&of(r#"{"pattern": "^a'$"}"#), "i: b", "- at '/i': 'b' does not match pattern '^a\\'$'\n");
    check(&of(r#"{"enum": ["a", 1, null]}"#), "i: b", "- at '/i': value must be one of 'a', 1, <nil>\n");
    check(&of(r#"{"const": "a"}"#), "i: b", "- at '/i': value must be 'a'\n");
    check(&of("false"), "i: b", "- at '/i': false schema\n");
    check(&of(r#"{"uniqueItems": true}"#), "i: [a, b, a]", "- at '/i': items at 0 and 2 are equal\n");
    check(&of(r#"{"items": {"type": "string"}}"#), "i: [a, 1]", "- at '/i/1': got number, want string\n");
    check(r#"{"required": ["a"]}"#, "{}", "- at '': missing property 'a'\n");
    check(r#"{"required": ["a", "b"]}"#, "{}", "- at '': missing properties 'a', 'b'\n");
    check(
        r#"{"additionalProperties": false, "properties": {"a": {}}}"#,
        "{a: 1, x/y: 2}",
        "- at '': additional properties 'x/y' not allowed\n",
    );
}

#[test]
fn several_findings_of_one_subschema_stand_together() {
    let check = |schema: &str, values: &str, expected: &str| {
        assert_eq!(findings(schema, values), expected, "{schema} {values}");
    };
    check(
        r#"{"required": ["b"], "properties": {"a": {"minimum": 0}}}"#,
        "a: -5",
        "- at '': missing property 'b'\n- at '/a': minimum: got -5, want 0\n",
    );
    check(
        r#"{"properties": {"o": {"required": ["b"], "properties": {"a": {"type": "string"}}}}}"#,
        "o: {a: 1}",
        "- at '/o': missing property 'b'\n- at '/o/a': got number, want string\n",
    );
    check(
        r#"{"required": ["x"], "properties": {"o": {"required": ["b"], "properties": {"a": {"type": "string"}}}}}"#,
        "o: {a: 1}",
        "- at '': missing property 'x'\n- at '/o': validation failed\n  - at '/o': missing property 'b'\n  - at '/o/a': got number, want string\n",
    );
    check(
        r##"{"$defs": {"s": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/s"}}}"##,
        "a: 1",
        "- at '/a': got number, want string\n",
    );
    check(
        r#"{"properties": {"a": {"anyOf": [{"type": "string"}, {"minimum": 3}]}}}"#,
        "a: 1",
        "- at '/a': 'anyOf' failed\n  - at '/a': got number, want string\n  - at '/a': minimum: got 1, want 3\n",
    );
    check(
        r#"{"properties": {"a": {"oneOf": [{"type": "string"}, {"minimum": 3}]}}}"#,
        "a: 1",
        "- at '/a': 'oneOf' failed, none matched\n  - at '/a': got number, want string\n  - at '/a': minimum: got 1, want 3\n",
    );
    check(
        r#"{"properties": {"a": {"allOf": [{"type": "string"}, {"minimum": 3}]}}}"#,
        "a: 1",
        "- at '/a': 'allOf' failed\n  - at '/a': got number, want string\n  - at '/a': minimum: got 1, want 3\n",
    );
    check(
        r#"{"properties": {"a": {"oneOf": [{"type": "integer"}, {"minimum": 0}]}}}"#,
        "a: 1",
        "- at '/a': 'oneOf' failed, subschemas 0, 1 matched\n",
    );
    check(r#"{"not": {"required": ["a"]}}"#, "a: 1", "- at '': 'not' failed\n");
}

#[test]
fn charts_inside_are_checked_with_their_values() {
    let chart = chart(&[
        ("Chart.yaml", "name: c\nversion: 1\n"),
        ("charts/s/Chart.yaml", "name: s\nversion: 1\n"),
        ("charts/s/values.schema.json", r#"{"required": ["k"]}"#),
    ]);
    let check = |values: &str, expected: &str| {
        let found = schema::check(&chart, &yaml::read_map(values.as_bytes()).unwrap(), None);
        let found = found.map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(found.split_once('\n').map_or("", |(_, rest)| rest), expected, "{values}");
    };
    check("{}", "");
    check("s: null", "");
    check("s: {k: 1}", "");
    check("s: {}", "s:\n- at '': missing property 'k'\n");
    check("s: 1", "s:\ninvalid type for values: expected object (map), got float64\n");
}

#[test]
fn what_a_schema_refers_to_is_asked_for() {
    let chart = chart(&[
        ("Chart.yaml", "name: c\nversion: 1\n"),
        (
            "values.schema.json",
            r#"{"properties": {"a": {"$ref": "https://example.com/s.json"}, "b": {"$ref": "urn:x"}}}"#,
        ),
    ]);
    let values = yaml::read_map(b"{a: 1, b: 1}").unwrap();
    let fetch: Fetch = std::sync::Arc::new(|url| {
        assert_eq!(url, "https://example.com/s.json");
        Ok(br#"{"type": "string"}"#.to_vec())
    });
    let error = schema::check(&chart, &values, Some(&fetch)).unwrap_err();
    assert!(error.to_string().ends_with("- at '/a': got number, want string\n"), "{error}");
    let error = schema::check(&chart, &values, None).unwrap_err();
    assert!(error.to_string().contains("https://example.com/s.json"), "{error}");
}
