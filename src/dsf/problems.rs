//! What is wrong with desired-state files, with positions and hints.

use crate::text::{Excerpt, Sources, Span, plural, printable};
use std::collections::HashSet;
use std::fmt;

/// The most problems that are printed: nobody reads more, and a file may hold very many.
const MOST_SHOWN: usize = 200;

/// The kind of a problem. Its name is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The file cannot be parsed.
    Syntax,
    /// The file's name does not say what it is written in.
    UnknownFormat,
    /// The file is not UTF-8.
    NotUtf8,
    /// The file holds no keys.
    EmptyFile,
    /// The file is too large, too deep or has too many entries.
    TooLarge,
    /// A key is given twice.
    DuplicateKey,
    /// A key does not exist.
    UnknownKey,
    /// A key or value form exists in the language, but not in this version.
    NotSupportedYet,
    /// A key or value form is not supported.
    NotSupported,
    /// A value has the wrong type.
    WrongType,
    /// A value is not one of those allowed.
    BadValue,
    /// A name breaks the rules of Helm or Kubernetes.
    BadName,
    /// A duration cannot be read.
    BadDuration,
    /// A required key is missing.
    MissingKey,
    /// An environment variable is not set.
    UnsetVariable,
    /// A `$` stands for nothing that can be read.
    BadVariable,
    /// A file or folder does not exist.
    MissingFile,
    /// A path leaves the repository.
    OutsidePath,
    /// A namespace is not declared.
    UnknownNamespace,
    /// A template is not declared.
    UnknownTemplate,
    /// A needed release is not in the files.
    UnknownRelease,
    /// A needed release is disabled.
    DisabledRelease,
    /// Two apps are the same release.
    DuplicateRelease,
    /// Needs form a circle.
    NeedsCycle,
    /// Files import each other.
    ImportCycle,
    /// The environment that was asked for is not declared.
    UnknownEnvironment,
    /// An app that was named on the command line is not in the files.
    UnknownApp,
    /// A chart cannot be loaded, or has another version.
    BadChart,
    /// A program would run, and nobody permitted it.
    ExecNotAllowed,
}

impl Code {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Syntax => "syntax",
            Code::UnknownFormat => "unknown-format",
            Code::NotUtf8 => "not-utf8",
            Code::EmptyFile => "empty-file",
            Code::TooLarge => "too-large",
            Code::DuplicateKey => "duplicate-key",
            Code::UnknownKey => "unknown-key",
            Code::NotSupportedYet => "not-supported-yet",
            Code::NotSupported => "not-supported",
            Code::WrongType => "wrong-type",
            Code::BadValue => "bad-value",
            Code::BadName => "bad-name",
            Code::BadDuration => "bad-duration",
            Code::MissingKey => "missing-key",
            Code::UnsetVariable => "unset-variable",
            Code::BadVariable => "bad-variable",
            Code::MissingFile => "missing-file",
            Code::OutsidePath => "outside-path",
            Code::UnknownNamespace => "unknown-namespace",
            Code::UnknownTemplate => "unknown-template",
            Code::UnknownRelease => "unknown-release",
            Code::DisabledRelease => "disabled-release",
            Code::DuplicateRelease => "duplicate-release",
            Code::NeedsCycle => "needs-cycle",
            Code::ImportCycle => "import-cycle",
            Code::UnknownEnvironment => "unknown-environment",
            Code::UnknownApp => "unknown-app",
            Code::BadChart => "bad-chart",
            Code::ExecNotAllowed => "exec-not-allowed",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind of problem.
    pub code: Code,
    /// The path of the key, or empty when it is about the file.
    pub path: String,
    /// What is wrong. Never the value of an environment variable or of a secret.
    pub message: String,
    /// Where.
    pub span: Span,
    /// How to mend it.
    pub hint: Option<String>,
    /// Whether the rest of the line may hold a secret.
    pub conceal: bool,
}

impl Problem {
    /// Returns a problem without a hint. Names from files may hold anything; what a terminal would act on is
    /// replaced.
    pub(super) fn new(code: Code, path: impl Into<String>, message: impl Into<String>, span: Span) -> Self {
        let (path, message) = (printable(&path.into()), printable(&message.into()));
        Problem { code, path, message, span, hint: None, conceal: false }
    }

    /// Adds a hint.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(printable(&hint.into()));
        self
    }

    /// Adds a hint if there is one.
    pub(super) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.map(|hint| printable(&hint));
        self
    }

    /// Keeps what follows the marked text out of the excerpt.
    pub(super) fn conceal(mut self, conceal: bool) -> Self {
        self.conceal = conceal;
        self
    }

    /// Returns the marked line of the file.
    pub fn excerpt(&self, sources: &Sources) -> Excerpt {
        if self.conceal {
            Excerpt::without_rest(sources, self.span)
        } else {
            Excerpt::new(sources, self.span)
        }
    }
}

/// Everything that is wrong with the files of one run: never empty, sorted by file and position.
///
/// Prints one block per problem, a blank line between them, and how many there are when there are several.
#[derive(Clone, Debug)]
pub struct Problems {
    sources: Sources,
    list: Vec<Problem>,
}

impl Problems {
    /// Returns the problems in order, or nothing when there are none. A problem that was found on several
    /// ways, as a default is through each app, is kept once.
    pub(super) fn new(sources: Sources, mut list: Vec<Problem>) -> Option<Self> {
        drop_consequences(&mut list);
        let mut seen = HashSet::new();
        list.retain(|problem| seen.insert((problem.code, problem.span, problem.message.clone())));
        list.sort_by_key(|problem| problem.span);
        (!list.is_empty()).then_some(Problems { sources, list })
    }

    /// Returns the problems in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// Returns the texts that the positions refer to.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }
}

/// Drops what is only wrong about a text because a variable in it has no value.
fn drop_consequences(list: &mut Vec<Problem>) {
    let is_variable = |problem: &Problem| matches!(problem.code, Code::UnsetVariable | Code::BadVariable);
    let mut variables: Vec<Span> = list.iter().filter(|p| is_variable(p)).map(|p| p.span).collect();
    variables.sort_unstable();
    list.retain(|problem| {
        let judges_a_text = matches!(
            problem.code,
            Code::BadName
                | Code::BadValue
                | Code::BadDuration
                | Code::MissingFile
                | Code::MissingKey
                | Code::OutsidePath
                | Code::UnknownNamespace
                | Code::UnknownTemplate
                | Code::UnknownRelease
                | Code::WrongType
        );
        // The first variable that starts at or after the start of the text: is it inside?
        let next = variables.partition_point(|variable| variable < &Span { end: 0, ..problem.span });
        let inside = |variable: &Span| variable.file == problem.span.file && variable.end <= problem.span.end;
        !(judges_a_text && variables.get(next).is_some_and(inside))
    });
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.list.iter().take(MOST_SHOWN).enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            let separator = if problem.path.is_empty() { "" } else { ": " };
            writeln!(f, "error: {}{separator}{}", problem.path, problem.message)?;
            let excerpt = problem.excerpt(&self.sources);
            write!(f, "{excerpt}")?;
            if let Some(hint) = &problem.hint {
                writeln!(f, "{} = hint: {hint}", " ".repeat(excerpt.gutter()))?;
            }
        }
        if self.list.len() > 1 {
            let count = plural(self.list.len(), "problem");
            let cut = self.list.len() > MOST_SHOWN;
            let rest = if cut { format!(", the first {MOST_SHOWN} are shown") } else { String::new() };
            writeln!(f, "\n{count} found{rest}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
