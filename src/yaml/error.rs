//! What is wrong with a YAML text, in the words of go-yaml and of sigs.k8s.io/yaml.

use std::fmt;

/// Why a YAML text could not be read.
///
/// `Display` gives the text that Helm shows (`error converting YAML to JSON: yaml: line 2: …`);
/// [`YamlError::go_yaml`] is the part that go-yaml itself says. Its line is sometimes one less than the true
/// one, as in go-yaml; [`YamlError::position`] is always exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    kind: Kind,
    problem: String,
    /// The line go-yaml names; it stays silent about line zero.
    told_line: u32,
    position: Option<Position>,
}

/// A place in a text: both numbers start at one, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Said by go-yaml while it reads.
    Yaml,
    /// Said while the tree is turned into JSON.
    Convert,
    /// Said while the JSON is put into the variable that was asked for.
    Target,
}

/// A place as the scanner counts it: offset in bytes, line and column from zero, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) offset: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Mark {
    pub(super) fn position(self) -> Position {
        Position { line: self.line + 1, column: self.column + 1 }
    }
}

impl YamlError {
    /// A fault of the characters: go-yaml adds one to a line that is not the first.
    pub(super) fn scanner(mark: Mark, problem: impl Into<String>) -> Self {
        let told_line = if mark.line == 0 { 0 } else { mark.line + 1 };
        YamlError { kind: Kind::Yaml, problem: problem.into(), told_line, position: Some(mark.position()) }
    }

    /// A fault of the grammar: go-yaml names the line counted from zero.
    pub(super) fn parser(mark: Mark, problem: impl Into<String>) -> Self {
        let position = Some(mark.position());
        YamlError { kind: Kind::Yaml, problem: problem.into(), told_line: mark.line, position }
    }

    /// A fault that go-yaml reports without a line.
    pub(super) fn plain(mark: Mark, problem: impl Into<String>) -> Self {
        let position = Some(mark.position());
        YamlError { kind: Kind::Yaml, problem: problem.into(), told_line: 0, position }
    }

    /// A tree that has no JSON form.
    pub(super) fn convert(mark: Option<Mark>, problem: impl Into<String>) -> Self {
        let position = mark.map(Mark::position);
        YamlError { kind: Kind::Convert, problem: problem.into(), told_line: 0, position }
    }

    /// A document of another kind than the one asked for.
    pub(super) fn target(problem: impl Into<String>) -> Self {
        YamlError { kind: Kind::Target, problem: problem.into(), told_line: 0, position: None }
    }

    /// Returns the bare problem, without place or prefix.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Returns where the problem is, if it has one place.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// Returns what go-yaml says, without the prefix of sigs.k8s.io/yaml.
    pub fn go_yaml(&self) -> String {
        match (self.kind, self.told_line) {
            (Kind::Yaml, 0) => format!("yaml: {}", self.problem),
            (Kind::Yaml, line) => format!("yaml: line {line}: {}", self.problem),
            (Kind::Convert | Kind::Target, _) => self.problem.clone(),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Yaml | Kind::Convert => write!(f, "error converting YAML to JSON: {}", self.go_yaml()),
            Kind::Target => write!(f, "error unmarshaling JSON: while decoding JSON: {}", self.problem),
        }
    }
}

impl std::error::Error for YamlError {}
