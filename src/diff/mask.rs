//! Takes secret values out of objects and texts before anything is made for display from them.
//!
//! A value becomes a short marker that depends on the value and on a salt of this run: equal values look
//! equal, different ones different, and markers of two runs, or guesses, cannot be compared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

/// Annotation in which kubectl keeps a whole manifest, data included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Values longer than this are cut out of server texts even where nothing secret is expected.
const LONGEST_VALUE: usize = 80;

/// Makes markers.
#[derive(Clone, Copy, Debug)]
pub struct Masker<'a> {
    salt: &'a [u8],
}

impl<'a> Masker<'a> {
    /// Returns a masker whose markers depend on `salt`, which should be random for each run.
    pub fn new(salt: &'a [u8]) -> Self {
        Self { salt }
    }

    /// Returns the marker of a value.
    pub fn marker(&self, value: &[u8]) -> String {
        let digest = Sha256::new().chain_update(self.salt).chain_update(value).finalize();
        let hex: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
        format!("(masked {hex})")
    }

    /// Replaces the values of a Secret, or of the Secrets in a list object. Other kinds stay as they are.
    pub fn mask(&self, object: &mut Json) {
        if let Some(items) = object.get_mut("items").and_then(Json::as_array_mut) {
            for item in items {
                self.mask_secret(item);
            }
        }
        self.mask_secret(object);
    }

    fn mask_secret(&self, object: &mut Json) {
        // Items of a list carry no kind. Nothing but a Secret has these members and the type of one.
        let kind = object.get("kind").and_then(Json::as_str);
        let untyped = kind.is_none() && object.get("type").is_some();
        if kind != Some("Secret") && !untyped {
            return;
        }
        for (member, encoded) in [("data", true), ("stringData", false)] {
            match object.get_mut(member) {
                None | Some(Json::Null) => {}
                Some(Json::Object(values)) => {
                    for value in values.values_mut() {
                        *value = self.marker_of(value, encoded).into();
                    }
                }
                Some(other) => *other = self.marker_of(other, false).into(),
            }
        }
        if let Some(applied) =
            object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(LAST_APPLIED))
        {
            *applied = self.marker_of(applied, false).into();
        }
    }

    /// Marks the decoded bytes, so that a value looks the same in `data` and in `stringData`.
    fn marker_of(&self, value: &Json, encoded: bool) -> String {
        match value.as_str() {
            Some(text) if encoded => match STANDARD.decode(text) {
                Ok(bytes) => self.marker(&bytes),
                Err(_) => self.marker(text.as_bytes()),
            },
            Some(text) => self.marker(text.as_bytes()),
            None => self.marker(value.to_string().as_bytes()),
        }
    }
}

/// Cuts values out of a text that the API server wrote about an object of `kind`: everything quoted from a
/// Secret, struct dumps and diffs (which show environment values) from every kind.
pub fn sanitize_message(kind: &str, message: &str) -> String {
    let message = cut_diff(message);
    let message = cut_typed(kind, &message);
    cut_values(kind, &message)
}

/// The server appends a diff of the whole spec to some refusals, on lines of its own.
fn cut_diff(message: &str) -> String {
    let starts = ["pod updates may not change fields other than", "is immutable after creation"];
    let from = starts.iter().filter_map(|start| message.find(start)).min();
    match from.and_then(|from| {
        Some(from + ["\n", "@@"].iter().filter_map(|mark| message[from..].find(mark)).min()?)
    }) {
        Some(end) => message[..end].trim_end().to_owned(),
        None => message.to_owned(),
    }
}

/// Typed merging quotes the value it did not expect as Go prints a struct or a pointer: without quotes, so that a value
/// may look like its own end. Of a Secret nothing behind it is kept.
fn cut_typed(kind: &str, message: &str) -> String {
    const STARTS: [&str; 2] = ["&value.valueUnstructured{", "got &"];
    let mut rest = message;
    let mut text = String::new();
    let first = |text: &str| STARTS.iter().filter_map(|start| Some((text.find(start)?, *start))).min();
    while let Some((at, start)) = first(rest) {
        text.push_str(&rest[..at]);
        text.push_str(if start.starts_with("got") { "got another type" } else { "another type" });
        if kind == "Secret" {
            return text;
        }
        let value = &rest[at + start.len() - 1..];
        let value = value.find('{').map_or("", |brace| &value[brace..]);
        rest = balanced(value).map_or("", |length| &value[length..]);
    }
    text.push_str(rest);
    text
}

fn cut_values(kind: &str, message: &str) -> String {
    const STARTS: [&str; 3] = ["Invalid value: ", "Unsupported value: ", "Duplicate value: "];
    let mut rest = message;
    let mut text = String::new();
    while let Some((at, start)) =
        STARTS.iter().filter_map(|start| Some((rest.find(start)?, *start))).min_by_key(|(at, _)| *at)
    {
        let value = &rest[at + start.len()..];
        text.push_str(&rest[..at + start.len()]);
        let length = value_length(value);
        let shown = length.map(|length| &value[..length]);
        match shown {
            Some(shown) if kind != "Secret" && shown.len() <= LONGEST_VALUE && !is_struct(shown) => {
                text.push_str(shown)
            }
            Some(_) => text.push('…'),
            None => {
                // The value does not end where values end. Nothing after it can be trusted to be none.
                text.push('…');
                return text;
            }
        }
        rest = length.map_or("", |length| &value[length..]);
    }
    text.push_str(rest);
    text
}

fn is_struct(value: &str) -> bool {
    value.contains(['{', '['])
}

/// Returns the length of the value at the start of `text`.
fn value_length(text: &str) -> Option<usize> {
    if text.starts_with('"') {
        return quoted(text);
    }
    // Older servers write the Go type's name before the brace.
    let opening = text.find(['{', '[']);
    let plain = text.find(": ").unwrap_or(text.len());
    match opening {
        Some(opening) if opening < plain => Some(opening + balanced(&text[opening..])?),
        _ => Some(plain),
    }
}

/// Returns the length of a string literal.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Returns the length up to the bracket that closes the first one.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => at += quoted(&text[at..])? - 1,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_values_become_markers_that_show_only_equality() {
        let masker = Masker::new(b"run");
        let mut secret = json!({
            "kind": "Secret", "type": "Opaque",
            "metadata": {"name": "s", "annotations": {"a": "b", LAST_APPLIED: "{\"data\":{\"pw\":\"aHVudGVyMg==\"}}"}},
            "data": {"pw": "aHVudGVyMg==", "other": "eA==", "broken": "?"},
            "stringData": {"pw": "hunter2"},
        });
        masker.mask(&mut secret);
        let text = secret.to_string();
        assert!(
            !text.contains("aHVudGVyMg") && !text.contains("hunter2") && !text.contains("eA=="),
            "{text}"
        );
        assert_eq!(secret["data"]["pw"], secret["stringData"]["pw"]);
        assert_ne!(secret["data"]["pw"], secret["data"]["other"]);
        assert_eq!(secret["metadata"]["annotations"]["a"], "b");
        assert_ne!(Masker::new(b"next run").marker(b"hunter2"), masker.marker(b"hunter2"));
        assert_eq!(masker.marker(b"hunter2").len(), "(masked 0123456789)".len());
    }

    #[test]
    fn every_shape_of_a_secret_is_masked_and_nothing_else() {
        for (mut object, expected) in [
            (json!({"kind": "Secret", "data": "raw"}), false),
            (json!({"kind": "Secret", "data": {"k": {"raw": "raw"}}}), false),
            (json!({"kind": "Secret", "stringData": {"k": 1, "l": ["raw"]}}), false),
            (json!({"kind": "List", "items": [{"kind": "Secret", "stringData": {"k": "raw"}}]}), false),
            (json!({"kind": "SecretList", "items": [{"type": "Opaque", "data": {"k": "raw"}}]}), false),
            (json!({"kind": "ConfigMap", "data": {"k": "raw"}}), true),
            (json!({"kind": "Secret", "data": null, "x": "raw"}), true),
        ] {
            Masker::new(b"s").mask(&mut object);
            assert_eq!(object.to_string().contains("raw"), expected, "{object}");
        }
    }

    #[test]
    fn server_texts_lose_values() {
        for (kind, message, expected) in [
            (
                "Service",
                "spec.clusterIPs[0]: Invalid value: [\"10.0.7.8\"]: may not change once set",
                "spec.clusterIPs[0]: Invalid value: …: may not change once set",
            ),
            (
                "Job",
                "Invalid value: {\"Rules\":[{\"A\":\"x}: y\"}]}: field is immutable",
                "Invalid value: …: field is immutable",
            ),
            (
                "Job",
                "Invalid value: core.PodTemplateSpec{Spec:core.PodSpec{Env:[]core.EnvVar{core.EnvVar{Name:\"A\", Value:\"s: }\"}}}}: field is immutable",
                "Invalid value: …: field is immutable",
            ),
            (
                "Deployment",
                "Invalid value: -1: must be greater than or equal to 0",
                "Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                "Deployment",
                "Unsupported value: \"Never\": supported values: \"Always\"",
                "Unsupported value: \"Never\": supported values: \"Always\"",
            ),
            (
                "Secret",
                "type: Invalid value: \"x/y\": field is immutable",
                "type: Invalid value: …: field is immutable",
            ),
            (
                "Secret",
                "data[a]: Invalid value: \"a\\\": b\": bad, data[b]: Invalid value: \"c\": worse",
                "data[a]: Invalid value: …: bad, data[b]: Invalid value: …: worse",
            ),
            ("ConfigMap", "Invalid value: \"never closed: field is immutable", "Invalid value: …"),
            ("ConfigMap", "Invalid value: {\"cut\": … field is immutable", "Invalid value: …"),
            (
                "Pod",
                "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`\n  core.PodSpec{\n- Value: \"old\",\n+ Value: \"new\"",
                "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`",
            ),
            (
                "PersistentVolumeClaim",
                "spec: Forbidden: spec is immutable after creation except resources.requests\n@@ -1 +1 @@\n- x",
                "spec: Forbidden: spec is immutable after creation except resources.requests",
            ),
            (
                "ConfigMap",
                "failed to create typed patch object (n/s; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{\"p\":\"q\"}}, x",
                "failed to create typed patch object (n/s; /v1, Kind=ConfigMap): .data.a: expected string, got another type, x",
            ),
            (
                "ConfigMap",
                ".data: expected map, got &{hush}\n  .x: y",
                ".data: expected map, got another type\n  .x: y",
            ),
            ("Secret", ".data: expected map, got &{hu}sh\nhush}", ".data: expected map, got another type"),
            ("Secret", ".data: expected map, got &[hush]", ".data: expected map, got another type"),
            (
                "Secret",
                ".data.a: expected string, got &value.valueUnstructured{Value:1",
                ".data.a: expected string, got another type",
            ),
            ("Deployment", "several\nlines\nstay", "several\nlines\nstay"),
        ] {
            assert_eq!(sanitize_message(kind, message), expected);
        }
        let long = format!("Invalid value: \"{}\": too long", "x".repeat(200));
        assert_eq!(sanitize_message("ConfigMap", &long), "Invalid value: …: too long");
    }
}
