//! Where results go, and in which form.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::failure::{Failure, FailureClass};
use crate::host::{files, secrets};
use crate::report;
use crate::ui;

/// A form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For machines.
    Json,
    /// For machines, and for people who compare.
    Yaml,
}

impl Format {
    const ALL: [(&'static str, Format); 3] =
        [("text", Format::Text), ("json", Format::Json), ("yaml", Format::Yaml)];
}

/// The results asked for: at most one goes to stdout, any number to files.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// What stdout gets.
    pub stdout: Format,
    files: Vec<(Format, PathBuf)>,
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
    /// Reads `-o FORMAT` and `-o FORMAT=FILE`.
    ///
    /// # Errors
    /// An unknown format, or two for stdout.
    pub fn parse(asked: &[String]) -> Result<Self, Failure> {
        let mut stdout = None;
        let mut files = Vec::new();
        for text in asked {
            let (name, path) = match text.split_once('=') {
                Some((name, path)) => (name, Some(PathBuf::from(path))),
                None => (text.as_str(), None),
            };
            let format = Format::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format);
            let Some(format) = format else {
                let known: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
                let failure = Failure::new(
                    FailureClass::Usage,
                    format!("-o {text}: there is no output format `{name}`"),
                );
                return Err(failure.hint(format!("known formats: {}", known.join(", "))));
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
        Ok(Self { stdout: stdout.unwrap_or(Format::Text), files, gathered: Gathered::default() })
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
    pub fn write(&self, text: impl Fn(bool) -> String, json: impl Fn() -> String) -> Result<(), Failure> {
        if self.gathered.0.is_some() {
            if self.stdout == Format::Text {
                ui::result(&ui::told(&text(true)));
            }
            let (text, json) = (text(false), json());
            self.with(|all| {
                if let Some(last) = all.last_mut() {
                    last.text.push_str(&text);
                    last.json = Some(json);
                }
            });
            return Ok(());
        }
        let make = |format: Format, terminal: bool| match format {
            Format::Text => ui::told(&text(terminal)).into_owned(),
            Format::Json => json(),
            Format::Yaml => report::as_yaml(&json()),
        };
        for (format, path) in &self.files {
            let written = files::write_atomic(path, secrets::redact(&make(*format, false)).as_bytes());
            written.map_err(|error| Failure::of("the report could not be written", &error))?;
        }
        ui::result(&make(self.stdout, true));
        Ok(())
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
        for bad in [&["yml"][..], &["text", "json"]] {
            assert_eq!(parse(bad).unwrap_err().class, FailureClass::Usage);
        }
    }
}
