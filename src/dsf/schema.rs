//! The JSON Schema of the desired-state file, made from the key table, for editors and other checkers.
//!
//! It tells names and types. What must fit together, and what is read from other files, only the reader knows.

use super::keys::{self, Key, Section, Shape, Status};
use serde_json::{Map, Value as Json, json};

/// Where the newest one is published.
const ID: &str = "https://statectl.dev/schemas/dsf.schema.json";

/// Returns the schema (draft 2020-12).
pub fn json_schema() -> Json {
    let definitions: Map<String, Json> = Section::ALL
        .into_iter()
        .filter(|section| *section != Section::File)
        .map(|section| (name(section), table(section)))
        .collect();
    let mut schema = table(Section::File);
    if let Json::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("$id".to_owned(), json!(ID));
        schema.insert("title".to_owned(), json!("statectl desired-state file"));
        schema.insert("$defs".to_owned(), Json::Object(definitions));
    }
    schema
}

fn name(section: Section) -> String {
    format!("{section:?}")
}

fn table(section: Section) -> Json {
    let keys = keys::taken_by(section).filter(|key| !matches!(key.status, Status::Rejected(_)));
    let properties: Map<String, Json> = keys.map(|key| (key.name.to_owned(), property(key))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn property(key: &Key) -> Json {
    let mut schema = match key.shape {
        Shape::Table(section) => shape_of_table(key, section),
        Shape::TableOf(section) => json!({
            "type": ["object", "null"],
            "additionalProperties": { "anyOf": [reference(section), { "type": "null" }] },
        }),
        Shape::ListOf(section) => {
            // A need may be written as a name.
            let items = match section {
                Section::Need => json!({ "anyOf": [{ "type": "string" }, reference(section)] }),
                _ => reference(section),
            };
            json!({ "type": "array", "items": items })
        }
        Shape::Anything | Shape::Leaf => leaf(key.kind).unwrap_or_else(|| json!({})),
    };
    // `null` takes away what a lower layer says.
    if schema["type"].is_string() {
        schema["type"] = json!([schema["type"], "null"]);
    } else if let Some(forms) = schema.get_mut("anyOf").and_then(Json::as_array_mut)
        && !forms.contains(&json!({ "type": "null" }))
    {
        forms.push(json!({ "type": "null" }));
    }
    if let Json::Object(schema) = &mut schema {
        let mut text = key.summary.to_owned();
        if !key.default.is_empty() {
            text.push_str(&format_default(key.default));
        }
        match key.status {
            Status::NotYet => text.push_str(" Not supported yet."),
            Status::NoEffect(why) => {
                text.push_str(&format_reason(why));
                schema.insert("deprecated".to_owned(), json!(true));
            }
            Status::Supported | Status::Rejected(_) => {}
        }
        schema.insert("description".to_owned(), json!(text));
    }
    schema
}

fn format_default(default: &str) -> String {
    format!(" Default: {default}.")
}

fn format_reason(why: &str) -> String {
    format!(" It has no effect: {why}.")
}

fn reference(section: Section) -> Json {
    json!({ "$ref": format!("#/$defs/{}", name(section)) })
}

fn shape_of_table(key: &Key, section: Section) -> Json {
    let mut forms = vec![reference(section), json!({ "type": "null" })];
    // A hook may be written as a manifest or a command.
    if section == Section::Hook || key.kind == keys::HOOK {
        forms.push(json!({ "type": "string" }));
    }
    json!({ "anyOf": forms })
}

/// The schema of a value by the words of the key table; nothing for words that are not known here.
fn leaf(kind: &str) -> Option<Json> {
    let variable = json!({ "type": "string", "pattern": "\\$" });
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let duration = "^([0-9]+|([0-9]+(ms|s|m|h|d))+)$|\\$";
    Some(match kind {
        keys::STR | "a selector" | "secret" | "NAMESPACE/NAME" | "ref+…" => text,
        keys::STRS | "list of KIND/NAME" => texts,
        keys::BOOL => json!({ "anyOf": [
            { "type": "boolean" },
            { "type": "string", "pattern": "^(true|false)$|\\$" },
        ] }),
        keys::INT => json!({ "anyOf": [{ "type": "integer" }, variable] }),
        keys::DUR => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": duration },
        ] }),
        "a duration or never" => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": format!("^never$|{duration}") },
        ] }),
        keys::MAP => json!({ "type": ["object", "null"] }),
        keys::TAB => json!({ "type": ["object", "null"] }),
        keys::TABS => json!({ "type": "array", "items": { "type": "object" } }),
        keys::QUANTITY => json!({ "type": ["string", "number"] }),
        "a number or a percentage" => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": "^[0-9]+ *%?$|\\$" },
        ] }),
        "text or a list of text" => json!({ "anyOf": [text, texts] }),
        "true, false or a list of kinds" => json!({ "anyOf": [
            { "type": "boolean" },
            { "type": "string", "pattern": "^(true|false)$|\\$" },
            texts,
        ] }),
        words => choice(words)?,
    })
}

/// The schema of `one, two or three`.
fn choice(words: &str) -> Option<Json> {
    let (first, last) = words.rsplit_once(" or ")?;
    let words: Vec<&str> = first.split(", ").chain([last]).collect();
    let are_words =
        words.iter().all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    are_words.then(|| json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "\\$" }] }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsf::keys::keys_of;

    #[test]
    fn every_kind_of_the_key_table_is_known() {
        for section in Section::ALL {
            for key in keys_of(section).filter(|key| matches!(key.shape, Shape::Leaf | Shape::Anything)) {
                assert!(leaf(key.kind).is_some(), "{}: {}", key.name, key.kind);
            }
        }
    }

    #[test]
    fn choices_are_read_from_their_words() {
        let of = |words: &str| choice(words).map(|schema| schema["anyOf"][0]["enum"].clone());
        assert_eq!(of("keep or rollback"), Some(json!(["keep", "rollback"])));
        assert_eq!(of("lease, secret or none"), Some(json!(["lease", "secret", "none"])));
        assert_eq!(of("a number or a percentage"), None);
        assert_eq!(of("text"), None);
    }
}
