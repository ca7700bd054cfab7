//! The secret values of a release, to be taken out of what its containers say.
//!
//! Known are the Secrets that the chart renders, hooks among them: whole values, their lines, and what stands behind a
//! key in a line such as `password: hunter2`. What a pod reads from elsewhere is not known here.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::history::Release;
use crate::manifest::Document;
use crate::plan;

/// Shorter values are not taken out: a log without the letter `a` could not be read, and hides nothing.
const SHORTEST: usize = 4;
/// What stands in the place of a value.
const MASK: &str = "(masked)";

/// Secret values, the longest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    /// Returns the values of a release's Secrets.
    pub(super) fn of(release: &Release) -> Self {
        let hooks = release.hooks.iter().filter_map(|hook| Document::parse(&hook.manifest).ok());
        let objects = plan::body::stored_objects(&release.manifest);
        let mut found = BTreeSet::new();
        for object in objects.into_iter().chain(hooks.map(|document| document.object)) {
            collect(&object, &mut found);
        }
        let mut values: Vec<String> = found.into_iter().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { values }
    }

    /// Adds the values of another revision.
    pub(super) fn join(&mut self, other: Secrets) {
        self.values.extend(other.values);
        self.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.values.dedup();
    }

    /// Returns a text without the values.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MASK);
            }
        }
        text
    }
}

fn collect(object: &Json, found: &mut BTreeSet<String>) {
    if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
        return;
    }
    for value in object["data"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
        let value: String = value.split_whitespace().collect();
        if let Ok(bytes) = STANDARD.decode(&value)
            && let Ok(text) = String::from_utf8(bytes)
        {
            add(&text, found);
        }
        add(&value, found);
    }
    for value in
        object["stringData"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str())
    {
        add(value, found);
        add(&STANDARD.encode(value), found);
    }
}

fn add(value: &str, found: &mut BTreeSet<String>) {
    let mut one = |text: &str| {
        let text = text.trim().trim_matches(['"', '\'', ',']);
        if text.len() >= SHORTEST {
            found.insert(text.to_owned());
        }
    };
    one(value);
    for line in value.lines() {
        one(line);
        if let Some((_, behind)) = line.split_once([':', '=']) {
            one(behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Hook;

    #[test]
    fn values_of_the_secrets_of_a_release_are_taken_out() {
        let manifest = "---\napiVersion: v1\nkind: Secret\nmetadata: { name: a }\ndata: { p: aHVudGVyMg== }\n\
            stringData: { config: \"user: app\\npassword: s3cr3t-s3cr3t\\n\", short: abc }\n---\n\
            apiVersion: v1\nkind: ConfigMap\nmetadata: { name: b }\ndata: { p: public }\n";
        let hook = "apiVersion: v1\nkind: Secret\nmetadata: { name: h }\nstringData: { t: tok-en-1 }\n";
        let release = Release {
            manifest: manifest.to_owned(),
            hooks: vec![Hook { manifest: hook.to_owned(), ..Hook::default() }],
            ..Release::default()
        };
        let secrets = Secrets::of(&release);
        for (text, expected) in [
            ("login with hunter2 failed", "login with (masked) failed"),
            ("aHVudGVyMg==", "(masked)"),
            ("password is s3cr3t-s3cr3t", "password is (masked)"),
            ("Bearer tok-en-1, abc, public", "Bearer (masked), abc, public"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
        let mut joined = Secrets::default();
        joined.join(secrets);
        assert_eq!(joined.redact("hunter2"), "(masked)");
    }
}
