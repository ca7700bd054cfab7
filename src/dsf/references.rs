//! References to secrets, `ref+…`: where they may stand, and what they lead to. Their values are read last, by the verb
//! that needs them.

use super::files::{self, Files, PathKind};
use super::hooks;
use super::keys;
use super::problems::{Code, Problem};
use super::substitute::refused;
use super::tree::{Kind, Node, Table, Text, join};
use crate::text::Span;
use std::path::{Path, PathBuf};

/// What a reference leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// `ref+env://NAME`.
    Variable(String),
    /// `ref+file://PATH`, and the key in it behind `#`.
    File(PathBuf, Option<String>),
    /// `ref+sops://PATH`, and the key in it behind `#`.
    Sops(PathBuf, Option<String>),
    /// `ref+vault://MOUNT/PATH#KEY`.
    Vault(VaultValue),
    /// `ref+k8s://v1/Secret/NAMESPACE/NAME/KEY`, and the key in it behind `#`.
    Object(ObjectValue, Option<String>),
    /// `ref+exec://PROGRAM ARGUMENT…`, and the key in what it writes behind `#`.
    Command(Vec<String>, Option<String>),
}

/// A value in the key-value store of a vault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VaultValue {
    /// The path, with the mount as its start.
    pub path: String,
    /// The key in the secret.
    pub key: String,
    /// The version; none: the newest.
    pub version: Option<u64>,
    /// The namespace; none: that of the environment.
    pub namespace: Option<String>,
}

/// A value of a Secret or a ConfigMap in the target cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectValue {
    /// Whether it is a Secret, and no ConfigMap.
    pub secret: bool,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The key of its data.
    pub key: String,
}

impl Reference {
    /// Returns what a text refers to; nothing for a text that is no reference, or none that is read.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text)?.ok()
    }

    /// Tells whether only a program gives the value.
    pub fn runs_a_program(&self) -> bool {
        matches!(self, Self::Command(..))
    }

    /// Reads a reference; nothing for a text that is none, or of a kind that is not read.
    fn read(text: &str) -> Option<Result<Self, String>> {
        let (scheme, rest) = text.strip_prefix("ref+")?.split_once("://")?;
        let (place, key) = match rest.split_once('#') {
            Some((place, key)) => (place, Some(key.to_owned())),
            None => (rest, None),
        };
        let known = matches!(scheme, "env" | "file" | "sops" | "vault" | "k8s" | "exec");
        if known && place.is_empty() {
            return Some(Err(format!("nothing follows `ref+{scheme}://`")));
        }
        Some(match scheme {
            "env" => Ok(Self::Variable(rest.to_owned())),
            "file" => Ok(Self::File(place.into(), key)),
            "sops" => Ok(Self::Sops(place.into(), key)),
            "vault" => vault(place, key).map(Self::Vault),
            "k8s" => object(place).map(|object| Self::Object(object, key)),
            "exec" => hooks::words(place)
                .map_err(|why| format!("not a command: {why}"))
                .map(|words| Self::Command(words, key)),
            _ => return None,
        })
    }

    /// Returns it as it is written, with another path.
    fn at(&self, path: &Path) -> Option<String> {
        let (scheme, key) = match self {
            Self::File(_, key) => ("file", key),
            Self::Sops(_, key) => ("sops", key),
            Self::Variable(_) | Self::Vault(_) | Self::Object(..) | Self::Command(..) => return None,
        };
        let key = key.as_ref().map(|key| format!("#{key}")).unwrap_or_default();
        Some(format!("ref+{scheme}://{}{key}", path.display()))
    }
}

/// Reads `MOUNT/PATH?version=N&namespace=NAME` and the key behind it. Which server is asked, and who asks, is not for a
/// file to say: it would get the token.
fn vault(place: &str, key: Option<String>) -> Result<VaultValue, String> {
    let key = key.map(|key| key.trim_start_matches('/').to_owned()).filter(|key| !key.is_empty());
    let key = key.ok_or("the key of the secret is missing: `ref+vault://MOUNT/PATH#KEY`")?;
    let (path, query) = place.split_once('?').unwrap_or((place, ""));
    let path = path.trim_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() < 2 || parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return Err("it names no secret: `ref+vault://MOUNT/PATH#KEY`".to_owned());
    }
    let mut value = VaultValue { path: path.to_owned(), key, version: None, namespace: None };
    for (name, given) in query.split('&').filter_map(|part| part.split_once('=')) {
        match name {
            "version" => {
                let number = given.parse().map_err(|_| format!("`{given}` is no version"))?;
                value.version = Some(number);
            }
            "namespace" => value.namespace = Some(given.to_owned()),
            _ => {
                return Err(format!(
                    "`{name}` cannot be said in a file: the address and the token are in `VAULT_ADDR` and `VAULT_TOKEN`"
                ));
            }
        }
    }
    Ok(value)
}

/// Reads `v1/Secret/NAMESPACE/NAME/KEY`.
fn object(place: &str) -> Result<ObjectValue, String> {
    let form = "`ref+k8s://v1/Secret/NAMESPACE/NAME/KEY`";
    if place.contains('?') {
        return Err(format!("another cluster than that of the release cannot be named: {form}"));
    }
    match place.splitn(5, '/').collect::<Vec<_>>().as_slice() {
        ["v1", kind @ ("Secret" | "ConfigMap"), namespace, name, key]
            if !(namespace.is_empty() || name.is_empty() || key.is_empty()) =>
        {
            Ok(ObjectValue {
                secret: *kind == "Secret",
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
                key: (*key).to_owned(),
            })
        }
        _ => Err(format!("it names no value of a Secret or ConfigMap: {form}")),
    }
}

/// What references may do.
pub(super) struct Rights<'a> {
    /// The folders that paths may not leave.
    pub(super) roots: Option<&'a [PathBuf]>,
    /// Whether programs may run.
    pub(super) exec: bool,
}

/// Looks at every reference of one file, and makes their paths start where the run does.
pub(super) fn anchor(
    table: &mut Table,
    dir: &Path,
    files: &dyn Files,
    rights: &Rights<'_>,
    problems: &mut Vec<Problem>,
) {
    Anchor { dir, files, rights, problems }.table(table, "");
}

struct Anchor<'a> {
    dir: &'a Path,
    files: &'a dyn Files,
    rights: &'a Rights<'a>,
    problems: &'a mut Vec<Problem>,
}

impl Anchor<'_> {
    fn table(&mut self, table: &mut Table, path: &str) {
        for entry in table {
            let path = join(path, entry.key.shown());
            self.node(&mut entry.value, &path);
        }
    }

    fn node(&mut self, node: &mut Node, path: &str) {
        match &mut node.kind {
            Kind::Str(text) if text.value.starts_with("ref+") && text.value.contains("://") => {
                self.text(text, node.span, path);
            }
            Kind::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.node(item, &format!("{path}[{at}]"));
                }
            }
            Kind::Map(table) => self.table(table, path),
            _ => {}
        }
    }

    fn text(&mut self, text: &mut Text, span: Span, path: &str) {
        let reference = match Reference::read(&text.value) {
            Some(Ok(reference)) => reference,
            Some(Err(why)) => {
                self.problems.push(Problem::new(Code::BadValue, path, why, span));
                return;
            }
            None => {
                self.problems.extend(refused(&keys::SECRET_REFERENCE, path, span));
                return;
            }
        };
        let of_repository = path.starts_with("repositories.");
        if !of_repository && !takes_secrets(path) {
            let problem = Problem::new(Code::BadValue, path, "a secret cannot stand here", span);
            self.problems
                .push(problem.hint("references are read below `set`, `setString` and `values` of apps"));
            return;
        }
        if reference.runs_a_program() && !self.rights.exec {
            let problem = Problem::new(Code::ExecNotAllowed, path, "it runs a program", span);
            self.problems.push(problem.hint("`--allow-exec` permits it"));
            return;
        }
        let (Reference::File(file, _) | Reference::Sops(file, _)) = &reference else { return };
        let Some(file) = file.to_str().filter(|file| !file.contains('\0')) else { return };
        let local = files::join(self.dir, file);
        let message = if !files::is_allowed(self.files, self.rights.roots, &local) {
            let problem = Problem::new(Code::OutsidePath, path, "it is outside the repository", span);
            self.problems.push(problem.hint("`--allow-outside-paths` permits it"));
            return;
        } else {
            match self.files.kind(&local) {
                PathKind::File => {
                    if let Some(anchored) = reference.at(&local) {
                        text.written.get_or_insert_with(|| text.value.clone());
                        text.value = anchored;
                    }
                    return;
                }
                PathKind::Folder => "it leads to a folder".to_owned(),
                PathKind::Missing => "it leads to no file".to_owned(),
                PathKind::Unreadable(why) => format!("it cannot be read: {why}"),
            }
        };
        self.problems.push(Problem::new(Code::MissingFile, path, message, span));
    }
}

/// Tells whether a path is below `set`, `setString` or `values` of an app.
fn takes_secrets(path: &str) -> bool {
    let is_app =
        ["apps.", "defaults.", "appsTemplates.", "environments."].iter().any(|start| path.starts_with(start));
    let is_values = [".set.", ".setString.", ".values.", ".values["].iter().any(|part| path.contains(part));
    is_app && is_values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_written() {
        let file = |path: &str, key: Option<&str>| Reference::File(path.into(), key.map(str::to_owned));
        let vault = |path: &str, version, namespace: Option<&str>| {
            let (path, key) = (path.to_owned(), "pw".to_owned());
            Reference::Vault(VaultValue { path, key, version, namespace: namespace.map(str::to_owned) })
        };
        let object = |secret, key: &str| {
            let (namespace, name, key) = ("ns".to_owned(), "db".to_owned(), key.to_owned());
            Reference::Object(ObjectValue { secret, namespace, name, key }, None)
        };
        let command = |words: &[&str], key: Option<&str>| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Reference::Command(words, key.map(str::to_owned))
        };
        for (text, expected) in [
            ("ref+env://A", Some(Reference::Variable("A".to_owned()))),
            ("ref+file://a/b.txt", Some(file("a/b.txt", None))),
            ("ref+file:///etc/x#/a/b", Some(file("/etc/x", Some("/a/b")))),
            ("ref+sops://s.yaml#a.b", Some(Reference::Sops("s.yaml".into(), Some("a.b".to_owned())))),
            ("ref+vault://kv/app/db#pw", Some(vault("kv/app/db", None, None))),
            (
                "ref+vault://kv/app/db?version=3&namespace=team#/pw",
                Some(vault("kv/app/db", Some(3), Some("team"))),
            ),
            ("ref+k8s://v1/Secret/ns/db/password", Some(object(true, "password"))),
            ("ref+k8s://v1/ConfigMap/ns/db/a/b.json", Some(object(false, "a/b.json"))),
            ("ref+exec://pass show 'my db'", Some(command(&["pass", "show", "my db"], None))),
            ("ref+exec://get#/a", Some(command(&["get"], Some("/a")))),
            ("ref+awssecrets://x", None),
            ("ref+env://", None),
            ("env://A", None),
        ] {
            assert_eq!(Reference::parse(text), expected, "{text}");
            if let Some(reference @ (Reference::File(..) | Reference::Sops(..))) = &expected {
                let (Reference::File(path, _) | Reference::Sops(path, _)) = reference else { continue };
                assert_eq!(reference.at(path).as_deref(), Some(text));
            }
        }
    }

    #[test]
    fn a_reference_that_cannot_be_followed_says_why() {
        for (text, part) in [
            ("ref+sops://", "nothing follows"),
            ("ref+vault://kv/a", "the key of the secret is missing"),
            ("ref+vault://kv#a", "names no secret"),
            ("ref+vault://kv/../sys/raw#a", "names no secret"),
            ("ref+vault://kv/a?address=https://evil.example#a", "`address` cannot be said in a file"),
            ("ref+vault://kv/a?version=x#a", "`x` is no version"),
            ("ref+k8s://v1/Pod/a/b/c", "names no value"),
            ("ref+k8s://v1/Secret/a/b", "names no value"),
            ("ref+k8s://v1/Secret/a/b/c?kubeContext=x", "another cluster"),
            ("ref+exec://a 'b", "a quote is not closed"),
        ] {
            let why = Reference::read(text).unwrap().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
