//! References to secrets, `ref+…`: where they may stand, and what they lead to. Their values are read last, by the verb
//! that needs them.

use super::files::{self, Files, PathKind};
use super::keys;
use super::problems::{Code, Problem};
use super::substitute::refused;
use super::tree::{Kind, Node, Table, Text, join};
use crate::text::Span;
use std::path::{Path, PathBuf};

/// What a reference leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `ref+env://NAME`.
    Variable(String),
    /// `ref+file://PATH`, and the key in it behind `#`.
    File(PathBuf, Option<String>),
    /// `ref+sops://PATH`, and the key in it behind `#`.
    Sops(PathBuf, Option<String>),
}

impl Reference {
    /// Returns what a text refers to; nothing for a text that is no reference, or of a kind that is not read.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.strip_prefix("ref+")?.split_once("://")?;
        let divided = || match rest.split_once('#') {
            Some((path, key)) => (PathBuf::from(path), Some(key.to_owned())),
            None => (PathBuf::from(rest), None),
        };
        match scheme {
            "env" if !rest.is_empty() => Some(Self::Variable(rest.to_owned())),
            "file" if !rest.is_empty() => Some(divided()).map(|(path, key)| Self::File(path, key)),
            "sops" if !rest.is_empty() => Some(divided()).map(|(path, key)| Self::Sops(path, key)),
            _ => None,
        }
    }

    /// Returns it as it is written, with another path.
    fn at(&self, path: &Path) -> String {
        let (scheme, key) = match self {
            Self::Variable(name) => return format!("ref+env://{name}"),
            Self::File(_, key) => ("file", key),
            Self::Sops(_, key) => ("sops", key),
        };
        let key = key.as_ref().map(|key| format!("#{key}")).unwrap_or_default();
        format!("ref+{scheme}://{}{key}", path.display())
    }
}

/// Looks at every reference of one file, and makes their paths start where the run does.
pub(super) fn anchor(
    table: &mut Table,
    dir: &Path,
    files: &dyn Files,
    roots: Option<&[PathBuf]>,
    problems: &mut Vec<Problem>,
) {
    Anchor { dir, files, roots, problems }.table(table, "");
}

struct Anchor<'a> {
    dir: &'a Path,
    files: &'a dyn Files,
    roots: Option<&'a [PathBuf]>,
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
        let Some(reference) = Reference::parse(&text.value) else {
            self.problems.extend(refused(&keys::SECRET_REFERENCE, path, span));
            return;
        };
        if path.starts_with("repositories.") {
            return;
        }
        if !takes_secrets(path) {
            let problem = Problem::new(Code::BadValue, path, "a secret cannot stand here", span);
            self.problems
                .push(problem.hint("references are read below `set`, `setString` and `values` of apps"));
            return;
        }
        let (Reference::File(file, _) | Reference::Sops(file, _)) = &reference else { return };
        let Some(file) = file.to_str().filter(|file| !file.contains('\0')) else { return };
        let local = files::join(self.dir, file);
        let message = if !files::is_allowed(self.files, self.roots, &local) {
            let problem = Problem::new(Code::OutsidePath, path, "it is outside the repository", span);
            self.problems.push(problem.hint("`--allow-outside-paths` permits it"));
            return;
        } else {
            match self.files.kind(&local) {
                PathKind::File => {
                    text.written.get_or_insert_with(|| text.value.clone());
                    text.value = reference.at(&local);
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
        for (text, expected) in [
            ("ref+env://A", Some(Reference::Variable("A".to_owned()))),
            ("ref+file://a/b.txt", Some(file("a/b.txt", None))),
            ("ref+file:///etc/x#/a/b", Some(file("/etc/x", Some("/a/b")))),
            ("ref+sops://s.yaml#a.b", Some(Reference::Sops("s.yaml".into(), Some("a.b".to_owned())))),
            ("ref+vault://x", None),
            ("ref+env://", None),
            ("env://A", None),
        ] {
            assert_eq!(Reference::parse(text), expected, "{text}");
            if let Some(reference @ (Reference::File(..) | Reference::Sops(..))) = &expected {
                let (Reference::File(path, _) | Reference::Sops(path, _)) = reference else { continue };
                assert_eq!(reference.at(path), text);
            }
        }
    }
}
