//! The rules of `.helmignore`: which files of a folder do not belong to the chart.
//!
//! They look like git's but are not: every rule is tried in order and the first that speaks decides, `!`
//! ignores everything that does *not* match, `**` is refused. Source: Helm `pkg/ignore/rules.go`.

use super::paths;
use crate::go::path;
use crate::go::unicode::is_space;

/// The name of the file that holds the rules, at the top of a chart.
pub const FILE_NAME: &str = ".helmignore";

/// Hides dot files directly in `templates/`; always in force.
const BUILT_IN: &str = "templates/.?*";

/// A rule that Helm does not understand.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// `**` has no meaning here.
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// The pattern is malformed.
    #[error("syntax error in pattern")]
    Syntax,
}

/// The rules that hold for one chart folder.
#[derive(Clone, Debug)]
pub struct IgnoreRules(Vec<Rule>);

#[derive(Clone, Debug)]
struct Rule {
    pattern: String,
    negated: bool,
    only_folders: bool,
    /// Match the base name at any depth instead of the whole path.
    base_name: bool,
}

impl Default for IgnoreRules {
    /// Returns the rules of a chart without a `.helmignore`.
    fn default() -> Self {
        Self(read_rule(BUILT_IN).into_iter().flatten().collect())
    }
}

impl IgnoreRules {
    /// Reads the text of a `.helmignore` and adds the built-in rule.
    ///
    /// # Errors
    /// Fails on a pattern that Go's `filepath.Match` refuses, and on `**`.
    pub fn parse(text: &str) -> Result<Self, IgnoreError> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut rules = Vec::new();
        for line in text.lines() {
            rules.extend(read_rule(line)?);
        }
        rules.extend(Self::default().0);
        Ok(Self(rules))
    }

    /// Tells whether the file or folder at `path` (relative to the chart, with `/`) is left out. When a folder
    /// is, nothing below it is asked about.
    pub fn ignored(&self, path: &str, is_dir: bool) -> bool {
        if matches!(path, "" | "." | "./") {
            return false;
        }
        for rule in &self.0 {
            let wrong_kind = rule.only_folders && !is_dir;
            if rule.negated {
                if wrong_kind || !rule.matches(path) {
                    return true;
                }
            } else if !wrong_kind && rule.matches(path) {
                return true;
            }
        }
        false
    }
}

impl Rule {
    fn matches(&self, file: &str) -> bool {
        let file = if self.base_name { paths::base(file) } else { file };
        path::matches(self.pattern.as_bytes(), file.as_bytes()).unwrap_or(false)
    }
}

/// Reads one line; nothing for blank lines and comments.
fn read_rule(line: &str) -> Result<Option<Rule>, IgnoreError> {
    let line = line.trim_matches(is_space);
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    if line.contains("**") {
        return Err(IgnoreError::DoubleStar);
    }
    if path::matches(line.as_bytes(), b"abc").is_err() {
        return Err(IgnoreError::Syntax);
    }
    let (negated, pattern) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (only_folders, pattern) = pattern.strip_suffix('/').map_or((false, pattern), |rest| (true, rest));
    let (base_name, pattern) =
        pattern.strip_prefix('/').map_or((!pattern.contains('/'), pattern), |rest| (false, rest));
    Ok(Some(Rule { pattern: pattern.to_owned(), negated, only_folders, base_name }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_speaks_decides() {
        let check = |rules: &str, path: &str, expected: bool| {
            let (path, is_dir) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
            assert_eq!(
                IgnoreRules::parse(rules).unwrap().ignored(path, is_dir),
                expected,
                "{rules:?} {path}"
            );
        };
        check("", "templates/.x.yaml", true);
        check("", "templates/.", false);
        check("", "templates/sub/.x.yaml", false);
        check("# comment\n\n  *.md  \n", "docs/a.md", true);
        check("*.md", "docs/", false);
        check("docs/", "docs/", true);
        check("docs/", "docs", false);
        check("/a.txt", "a.txt", true);
        check("/a.txt", "sub/a.txt", false);
        check("sub/a.txt", "sub/a.txt", true);
        check("a.txt", "sub/a.txt", true);
        check("a?c\n[xy].z", "abc", true);
        check("a?c\n[xy].z", "x.z", true);
        check("!keep", "Chart.yaml", true);
        check("!keep", "keep", false);
        check("!keep/", "keep", true);
        check("\u{FEFF}a", "a", true);
    }

    #[test]
    fn malformed_rules_are_refused() {
        assert_eq!(IgnoreRules::parse("a/**/b").unwrap_err(), IgnoreError::DoubleStar);
        assert_eq!(IgnoreRules::parse("[a").unwrap_err(), IgnoreError::Syntax);
    }
}
