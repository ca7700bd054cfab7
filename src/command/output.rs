//! Where results go, and in which form.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;

use super::ci;
use crate::execute::Event;
use crate::failure::{Failure, FailureClass};
use crate::host::{clock, files, secrets};
use crate::report::{self, forms};
use crate::ui::{self, ci::Ci};

/// A form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For machines.
    Json,
    /// For machines, and for people who compare.
    Yaml,
    /// One JSON object a line; events as they happen.
    Ndjson,
    /// For comments on merge requests.
    Markdown,
    /// A page for a browser.
    Html,
    /// JUnit's XML.
    Junit,
    /// GitLab's code quality report.
    Gitlab,
    /// What GitLab shows of a plan on a merge request; has a flag of its own.
    GitlabWidget,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Yaml => "yaml",
            Format::Ndjson => "ndjson",
            Format::Markdown => "markdown",
            Format::Html => "html",
            Format::Junit => "junit",
            Format::Gitlab => "gitlab",
            Format::GitlabWidget => "gitlab-report",
        }
    }
}

/// The forms of a verb.
pub type Forms = &'static [Format];

/// Of verbs that list something.
const LISTS: Forms = &[Format::Text, Format::Json, Format::Yaml];
/// Of verbs that show changes or differences.
pub const CHANGES: Forms =
    &[Format::Text, Format::Json, Format::Yaml, Format::Ndjson, Format::Markdown, Format::Html];
/// Of verbs that carry something out.
pub const RUNS: Forms = &[
    Format::Text,
    Format::Json,
    Format::Yaml,
    Format::Ndjson,
    Format::Markdown,
    Format::Html,
    Format::Junit,
];
/// Of `test`.
pub const TESTS: Forms =
    &[Format::Text, Format::Json, Format::Yaml, Format::Ndjson, Format::Markdown, Format::Junit];
/// Of `validate`.
pub const CHECKS: Forms = &[
    Format::Text,
    Format::Json,
    Format::Yaml,
    Format::Ndjson,
    Format::Markdown,
    Format::Junit,
    Format::Gitlab,
];

/// How many bytes Markdown may have if nobody says; a comment on GitHub may have a little more.
pub const MOST_BYTES: usize = 65_000;

/// The results asked for: at most one goes to stdout, any number to files.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// What stdout gets.
    pub stdout: Format,
    files: Vec<(Format, PathBuf)>,
    forms: Forms,
    most: usize,
    /// How many events were written.
    events: Arc<Mutex<u64>>,
    gathered: Gathered,
}

/// Results of several clusters that wait until all are there. Nothing where there is one cluster.
#[derive(Clone, Debug, Default)]
struct Gathered(Option<Arc<Mutex<Vec<Gathering>>>>);

/// What one cluster gave.
#[derive(Clone, Debug, Default)]
struct Gathering {
    context: Option<String>,
    text: String,
    json: Option<String>,
    failure: Option<String>,
}

impl Outputs {
    /// Reads `-o FORMAT` and `-o FORMAT=FILE` of a verb that lists something.
    ///
    /// # Errors
    /// An unknown format, or two for stdout.
    pub fn parse(asked: &[String]) -> Result<Self, Failure> {
        Self::of(asked, LISTS, MOST_BYTES)
    }

    /// Reads `-o FORMAT` and `-o FORMAT=FILE` of a verb with these forms; Markdown gets at most `most` bytes.
    ///
    /// # Errors
    /// A format that the verb has not, or two for stdout.
    pub fn of(asked: &[String], forms: Forms, most: usize) -> Result<Self, Failure> {
        let mut stdout = None;
        let mut files = Vec::new();
        for text in asked {
            let (name, path) = match text.split_once('=') {
                Some((name, path)) => (name, Some(PathBuf::from(path))),
                None => (text.as_str(), None),
            };
            let Some(format) = forms.iter().copied().find(|format| format.name() == name) else {
                let known: Vec<&str> = forms.iter().map(|format| format.name()).collect();
                let failure = Failure::new(
                    FailureClass::Usage,
                    format!("-o {text}: there is no output format `{name}` here"),
                );
                return Err(failure.hint(format!("this verb has: {}", known.join(", "))));
            };
            match path {
                Some(path) => files.push((format, path)),
                None if stdout.is_some_and(|other| other != format) => {
                    let failure = Failure::new(FailureClass::Usage, "-o: only one format can go to stdout");
                    return Err(failure.hint(format!("write the other to a file: `-o {name}=FILE`")));
                }
                None => stdout = Some(format),
            }
        }
        let (stdout, events) = (stdout.unwrap_or(Format::Text), Arc::default());
        Ok(Self { stdout, files, forms, most, events, gathered: Gathered::default() })
    }

    /// Adds the small report of a plan that GitLab shows.
    #[must_use]
    pub fn with_widget(mut self, path: Option<PathBuf>) -> Self {
        self.files.extend(path.map(|path| (Format::GitlabWidget, path)));
        self
    }

    /// Writes an event of a run, where events were asked for. A file that cannot be written is told of at the end.
    pub fn event(&self, event: &Event) {
        let wanted = |format: Format| format == Format::Ndjson;
        if !wanted(self.stdout) && !self.files.iter().any(|(format, _)| wanted(*format)) {
            return;
        }
        // Lines of two releases must not be mixed up: it is held until the line is written.
        let mut number = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        *number += 1;
        let line = forms::event_line(event, *number, &clock::now().to_string());
        let line = format!("{}\n", safe(&line));
        for (_, path) in self.files.iter().filter(|(format, _)| wanted(*format)) {
            let written = if *number == 1 {
                files::write_atomic(path, line.as_bytes())
            } else {
                files::append(path, line.as_bytes())
            };
            drop(written);
        }
        if wanted(self.stdout) {
            ui::result(&unobeyed(Format::Ndjson, line, ""));
        }
    }

    /// Returns the same outputs for the results of several clusters: texts for people go to stdout as they come, all
    /// else is kept until [`Outputs::finish`].
    pub(super) fn gathering(&self) -> Self {
        Self { gathered: Gathered(Some(Arc::default())), ..self.clone() }
    }

    /// Begins with the next cluster.
    pub(super) fn next(&self, context: Option<&str>) {
        let context = context.map(str::to_owned);
        self.with(|all| all.push(Gathering { context, ..Gathering::default() }));
    }

    /// Takes down why a cluster has no result.
    pub(super) fn failed(&self, failure: &Failure) {
        self.with(|all| {
            if let Some(last) = all.last_mut() {
                last.failure = Some(failure.to_string());
            }
        });
    }

    /// Writes what several clusters gave.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        let mut all = Vec::new();
        self.with(|gathered| all = std::mem::take(gathered));
        let parts = all.iter().map(|part| report::ClusterPart {
            context: part.context.as_deref(),
            report: part.json.as_deref(),
            failure: part.failure.as_deref(),
        });
        let json = report::clusters_json(parts);
        let text: String = all.iter().map(|part| part.text.as_str()).collect();
        let out = Self { gathered: Gathered::default(), ..self.clone() };
        out.write(|terminal| if terminal { String::new() } else { text.clone() }, || json.clone())
    }

    fn with(&self, work: impl FnOnce(&mut Vec<Gathering>)) {
        if let Some(all) = &self.gathered.0 {
            work(&mut all.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Writes a result in every form asked for: `text` tells it for people (and learns whether it goes to the
    /// terminal), `json` for machines.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, text: impl Fn(bool) -> String, json: impl Fn() -> String) -> Result<(), Failure> {
        self.write_parts(|terminal| vec![(String::new(), text(terminal))], json)
    }

    /// As [`Outputs::write`], of parts with a heading each, which a CI system can fold.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_parts(
        &self,
        text: impl Fn(bool) -> Vec<(String, String)>,
        json: impl Fn() -> String,
    ) -> Result<(), Failure> {
        let joined =
            |terminal: bool| -> String { text(terminal).into_iter().map(|(_, body)| body).collect() };
        if self.gathered.0.is_some() {
            if self.stdout == Format::Text {
                ui::result(&ci::folded(&text(true)));
            }
            let (text, json) = (joined(false), json());
            self.with(|all| {
                if let Some(last) = all.last_mut() {
                    last.text.push_str(&text);
                    last.json = Some(json);
                }
            });
            return Ok(());
        }
        let json = json();
        for (format, path) in &self.files {
            let content = match format {
                Format::Text => ui::told(&joined(false)).into_owned(),
                other => self.made(*other, &json),
            };
            self.write_file(*format, path, &content)?;
        }
        match self.stdout {
            Format::Text => ui::result(&ci::folded(&text(true))),
            other => ui::result(&unobeyed(other, self.made(other, &json), &json)),
        }
        if ui::ci::current() == Ci::GitHub && self.forms.contains(&Format::Markdown) {
            ci::tell_github(&safe(&json), self.most)?;
        }
        Ok(())
    }

    fn write_file(&self, format: Format, path: &Path, content: &str) -> Result<(), Failure> {
        let content = secrets::redact(content);
        let began = *self.events.lock().unwrap_or_else(PoisonError::into_inner) > 0;
        let written = if format == Format::Ndjson && began {
            files::append(path, content.as_bytes())
        } else {
            files::write_atomic(path, content.as_bytes())
        };
        written.map_err(|error| Failure::of("the report could not be written", &error))
    }

    fn made(&self, format: Format, json: &str) -> String {
        match format {
            Format::Text => String::new(),
            Format::Json => json.to_owned(),
            Format::Yaml => report::as_yaml(json),
            Format::Ndjson => forms::lines(&safe(json)),
            Format::Markdown => forms::markdown(&safe(json), self.most),
            Format::Html => forms::html(&safe(json)),
            Format::Junit => forms::junit(&safe(json)),
            Format::Gitlab => forms::gitlab_quality(&safe(json)),
            Format::GitlabWidget => forms::gitlab_widget(&safe(json)),
        }
    }
}

/// Returns a report whose texts have no known secret, and nothing that a terminal would obey: forms escape texts in ways in
/// which a secret would not be found any more.
fn safe(json: &str) -> Json {
    fn walk(value: &mut Json) {
        match value {
            Json::String(text) => *text = ui::readable(text).into_owned(),
            Json::Array(all) => all.iter_mut().for_each(walk),
            Json::Object(all) => all.iter_mut().for_each(|(_, value)| walk(value)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
    // A report is JSON that was just written.
    let mut report = serde_json::from_str(json).unwrap_or_default();
    walk(&mut report);
    report
}

/// Returns a result for stdout of which a runner of GitHub obeys nothing, and which still says the same.
fn unobeyed(format: Format, text: String, json: &str) -> String {
    if ui::ci::current() != Ci::GitHub || !ui::ci::is_command(&text) {
        return text;
    }
    let escaped = |json: &str| json.replace("##[", "#\\u0023[");
    match format {
        Format::Json | Format::Ndjson | Format::Gitlab | Format::GitlabWidget => escaped(&text),
        // Texts of several lines stand in YAML as they are; JSON is YAML too, and has them in one line.
        Format::Yaml => escaped(json),
        Format::Text | Format::Markdown | Format::Html | Format::Junit => ui::ci::neutralised(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(asked: &[&str]) -> Result<Outputs, Failure> {
        Outputs::parse(&asked.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn one_form_goes_to_stdout_and_any_number_to_files() {
        let outputs = parse(&["json=a.json", "text", "json=b.json"]).unwrap();
        assert_eq!(outputs.stdout, Format::Text);
        assert_eq!(outputs.files.len(), 2);
        assert_eq!(parse(&[]).unwrap().stdout, Format::Text);
        for bad in [&["yml"][..], &["text", "json"], &["html"], &["gitlab-report"]] {
            assert_eq!(parse(bad).unwrap_err().class, FailureClass::Usage);
        }
    }
}
