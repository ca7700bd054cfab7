//! A corpus: charts, values, and what real Helm made of them.
//!
//! The index (`dist/index-*.json`) lists cases; each names a chart folder, a values file, the release and the
//! cluster to assume, and either a file with the expected text of every template or an expected error. Nothing
//! in the index about passing is believed: every answer is computed and compared here.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use statectl::chart::{self, Chart, ChartError, helm_text};
use statectl::fetch::dir;
use statectl::render::capabilities::{Capabilities, HelmVersion, KubeVersion};
use statectl::render::lookup::Lookups;
use statectl::render::{Options, ReleaseInfo, RenderError, Renderer, Request, TemplateFault, with_renderer};
use statectl::value::Map;
use statectl::values;

/// API versions that Helm 4.2, which answered the cases, assumes without a cluster and later ones do not.
const ONLY_IN_HELM_4_2: [&str; 1] = ["scheduling.k8s.io/v1alpha2"];
/// API versions that later versions of Helm assume and Helm 4.2 does not.
const NOT_IN_HELM_4_2: [&str; 3] =
    ["lifecycle.k8s.io/v1alpha1", "scheduling.k8s.io/v1alpha3", "storagemigration.k8s.io/v1"];

/// What came of a corpus.
#[derive(Debug, Default)]
pub(crate) struct Report {
    deterministic: Score,
    errors: Score,
    partial: Score,
    /// Errors whose text is Helm's to the letter, among those of the right kind in the right place.
    texts: Score,
    /// The cases whose text is another.
    other_texts: Vec<String>,
    /// Failed cases by cause.
    failures: BTreeMap<String, Vec<String>>,
    /// Cases in which the renderer panicked.
    panics: usize,
    /// How long each case took, loading of its chart excepted.
    times: Vec<(Duration, String)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    passed: usize,
    all: usize,
}

impl Report {
    /// Tells whether every case came out as recorded.
    pub(crate) fn is_perfect(&self) -> bool {
        self.failures.is_empty() && self.deterministic.all + self.errors.all + self.partial.all > 0
    }

    /// Returns the slowest cases, slowest first.
    pub(crate) fn slowest(&self, count: usize) -> Vec<&(Duration, String)> {
        let mut times: Vec<_> = self.times.iter().collect();
        times.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        times.truncate(count);
        times
    }

    fn add(&mut self, case: &Case, (outcome, time): (Outcome, Duration)) {
        self.times.push((time, case.id.clone()));
        let score = match case.class {
            Class::Deterministic => &mut self.deterministic,
            Class::Error => &mut self.errors,
            Class::Partial => &mut self.partial,
        };
        score.all += 1;
        match outcome {
            Ok(same_text) => {
                score.passed += 1;
                if matches!(case.class, Class::Error) {
                    self.texts.all += 1;
                    self.texts.passed += usize::from(same_text);
                    if !same_text {
                        self.other_texts.push(case.id.clone());
                    }
                }
            }
            Err(failure) => {
                self.panics += usize::from(failure.cause == PANIC);
                let line = format!("{}: {}", case.id, failure.detail);
                self.failures.entry(failure.cause).or_default().push(line);
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut causes: Vec<_> = self.failures.iter().collect();
        causes.sort_by_key(|(cause, cases)| (std::cmp::Reverse(cases.len()), *cause));
        for (cause, cases) in causes {
            writeln!(out, "{cause}: {}", cases.len())?;
            for case in cases {
                writeln!(out, "  {}", case.replace('\n', "\n    "))?;
            }
        }
        writeln!(out, "panics: {}", self.panics)?;
        writeln!(out, "error texts: {}/{} to the letter", self.texts.passed, self.texts.all)?;
        for id in &self.other_texts {
            writeln!(out, "  {id}: another text")?;
        }
        let (deterministic, errors, partial) = (self.deterministic, self.errors, self.partial);
        write!(
            out,
            "corpus: {}/{} deterministic, {}/{} errors, {}/{} partial",
            deterministic.passed, deterministic.all, errors.passed, errors.all, partial.passed, partial.all
        )
    }
}

/// Why a case failed: a cause to count by, and the first difference.
#[derive(Debug)]
struct Failure {
    cause: String,
    detail: String,
}

/// What came of a case; whether an error has Helm's very text.
type Outcome = Result<bool, Failure>;

const PANIC: &str = "panic";

fn failure<T>(cause: impl Into<String>, detail: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { cause: cause.into(), detail: detail.into() })
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
enum Class {
    /// Every template's text.
    Deterministic,
    /// The kind and the place of the error.
    Error,
    /// The text of the templates that are not listed as varying.
    Partial,
}

pub(crate) struct Case {
    pub(crate) id: String,
    class: Class,
    pub(crate) chart_dir: PathBuf,
    values: Option<PathBuf>,
    release: ReleaseInfo,
    capabilities: Capabilities,
    expected: Option<PathBuf>,
    expected_error: String,
    error_class: String,
    varying: Vec<String>,
}

/// Runs all cases of the corpus in `dir`, on `jobs` threads.
pub(crate) fn run(dir: &Path, jobs: usize) -> Result<Report, String> {
    let cases = read_index(dir)?;
    // The cases of one chart follow each other: it is loaded once and its templates are parsed once.
    let mut groups: Vec<Vec<&Case>> = Vec::new();
    for case in &cases {
        match groups.iter_mut().find(|group| group[0].chart_dir == case.chart_dir) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    let next = AtomicUsize::new(0);
    let (sender, outcomes) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let sender = sender.clone();
            let (next, groups) = (&next, &groups);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(group) = groups.get(index) else { break };
                    if sender.send((index, run_chart(group))).is_err() {
                        break;
                    }
                }
            });
        }
    });
    drop(sender);
    let mut outcomes: Vec<_> = outcomes.into_iter().collect();
    outcomes.sort_by_key(|(index, _)| *index);
    let mut report = Report::default();
    for (index, outcomes) in outcomes {
        for (case, outcome) in groups[index].iter().zip(outcomes) {
            report.add(case, outcome);
        }
    }
    Ok(report)
}

/// Loads a chart as the library does that the cases were made with: it takes any `apiVersion`.
pub(crate) fn load(dir: &Path) -> Result<Chart, String> {
    let files = dir::files(dir).map_err(|error| helm_text(&error))?;
    chart::load::from_files(files).map_err(|error| helm_text(&error))
}

fn run_chart(cases: &[&Case]) -> Vec<(Outcome, Duration)> {
    let chart = catch_unwind(|| load(&cases[0].chart_dir)).map_err(drop);
    with_renderer(|renderer| {
        let case = |case: &&Case| {
            let start = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| match &chart {
                Ok(Ok(chart)) => compare(case, render(case, chart, renderer)),
                Ok(Err(error)) => compare(case, Err(Answer::of_load(error))),
                Err(()) => failure(PANIC, "while the chart was loaded"),
            }));
            (outcome.unwrap_or_else(|_| failure(PANIC, "while the chart was rendered")), start.elapsed())
        };
        cases.iter().map(case).collect()
    })
    .unwrap_or_else(|error| {
        cases.iter().map(|_| (failure(PANIC, error.to_string()), Duration::ZERO)).collect()
    })
}

/// An error as the corpus describes it.
pub(crate) struct Answer {
    class: &'static str,
    text: String,
}

impl Answer {
    fn of_load(text: &str) -> Self {
        Self { class: "load", text: text.to_owned() }
    }

    fn of_render(error: &RenderError) -> Self {
        let text = helm_text(error);
        let class = match error {
            RenderError::Chart(ChartError::Schema(_)) => "schema",
            RenderError::Template(error) => match error.fault {
                TemplateFault::Syntax => "parse",
                TemplateFault::Refused => "fail/required",
                TemplateFault::Execution if text.contains("nil pointer evaluating") => "nil pointer",
                TemplateFault::Execution
                    if ["can't evaluate field", "wrong type for value", "invalid value; expected"]
                        .iter()
                        .any(|mark| text.contains(mark)) =>
                {
                    "type"
                }
                TemplateFault::Execution => "other",
            },
            _ => "other",
        };
        Self { class, text }
    }
}

fn render(case: &Case, chart: &Chart, renderer: &mut Renderer) -> Result<BTreeMap<String, String>, Answer> {
    render_as(case, chart, |request| renderer.files(request, &mut Lookups::offline()))
}

/// Renders a case in one of the renderer's ways.
pub(crate) fn render_as<T>(
    case: &Case,
    chart: &Chart,
    way: impl FnOnce(&Request<'_>) -> Result<T, RenderError>,
) -> Result<T, Answer> {
    let values = match &case.values {
        None => Map::new(),
        Some(path) => fs::read(path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| values::load(&bytes).map_err(|error| helm_text(&error)))
            .map_err(|text| Answer { class: "values", text })?,
    };
    let request = Request {
        chart,
        values: &values,
        release: case.release.clone(),
        capabilities: &case.capabilities,
        options: Options::default(),
        now: jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC),
        seed: [7; 32],
    };
    way(&request).map_err(|error| Answer::of_render(&error))
}

fn compare(case: &Case, answer: Result<BTreeMap<String, String>, Answer>) -> Outcome {
    match (case.class, answer) {
        (Class::Error, Ok(_)) => failure("no error where one is expected", first_line(&case.expected_error)),
        (Class::Error, Err(answer)) => compare_error(case, &answer),
        (_, Ok(files)) => compare_files(case, &files),
        (_, Err(answer)) => failure(format!("error ({})", answer.class), answer.text),
    }
}

fn compare_error(case: &Case, answer: &Answer) -> Outcome {
    if answer.class != case.error_class {
        let detail = format!(
            "{} instead of {}\nours: {}\nHelm: {}",
            answer.class, case.error_class, answer.text, case.expected_error
        );
        return failure("another class of error", detail);
    }
    let same_place = match (place(&answer.text), place(&case.expected_error)) {
        // Without a place in a template the whole text counts. Helm goes through properties in no order.
        (None, None) => sorted_words(&answer.text) == sorted_words(&case.expected_error),
        (ours, theirs) => ours == theirs,
    };
    if same_place {
        return Ok(sorted_words(&answer.text) == sorted_words(&case.expected_error));
    }
    failure("error in another place", format!("\nours: {}\nHelm: {}", answer.text, case.expected_error))
}

/// Returns the first `FILE:LINE` of an error text.
fn place(text: &str) -> Option<&str> {
    let start = text.find(" at (").map_or(0, |at| at + " at (".len());
    let text = &text[start..];
    let file = text.find(':')?;
    let digits = text[file + 1..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| &text[..=file + digits])
}

fn compare_files(case: &Case, files: &BTreeMap<String, String>) -> Outcome {
    let Some(path) = &case.expected else {
        return failure("unreadable expectation", "the case names no expected file");
    };
    let expected: BTreeMap<String, String> = match fs::read(path).map(|bytes| serde_json::from_slice(&bytes))
    {
        Ok(Ok(expected)) => expected,
        _ => return failure("unreadable expectation", path.display().to_string()),
    };
    if let Some(missing) = expected.keys().find(|name| !files.contains_key(*name)) {
        return failure("template missing", missing);
    }
    if let Some(extra) = files.keys().find(|name| !expected.contains_key(*name)) {
        return failure("template that Helm does not render", extra);
    }
    for (name, text) in &expected {
        if files[name] != *text && !case.varying.contains(name) {
            return failure("text differs", format!("{name} {}", difference(&files[name], text)));
        }
    }
    Ok(true)
}

/// Describes the first line in which two texts differ.
fn difference(ours: &str, helm: &str) -> String {
    let (mut ours_lines, mut helm_lines) = (ours.split('\n'), helm.split('\n'));
    let mut number = 1;
    loop {
        let (ours, helm) = (ours_lines.next(), helm_lines.next());
        if ours != helm || ours.is_none() {
            let show = |line: Option<&str>| line.map_or("(end)".to_owned(), |line| format!("{line:?}"));
            return format!("line {number}\nours: {}\nHelm: {}", show(ours), show(helm));
        }
        number += 1;
    }
}

fn sorted_words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split([' ', '\n', ',']).collect();
    words.sort_unstable();
    words
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Returns the cases of the corpus in `dir`.
pub(crate) fn read_index(dir: &Path) -> Result<Vec<Case>, String> {
    let dist = dir.join("dist");
    let entries = fs::read_dir(&dist).map_err(|error| format!("cannot read {}: {error}", dist.display()))?;
    let mut indexes: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    indexes.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("index-") && name.ends_with(".json")
    });
    indexes.sort();
    let mut cases = Vec::new();
    for path in &indexes {
        let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let index: Json =
            serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        for case in index["cases"].as_array().into_iter().flatten() {
            cases.push(read_case(dir, &index, case)?);
        }
    }
    if cases.is_empty() { Err(format!("there are no cases in {}", dist.display())) } else { Ok(cases) }
}

fn read_case(dir: &Path, index: &Json, case: &Json) -> Result<Case, String> {
    let text = |key: &str| case[key].as_str().map(str::to_owned);
    let need = |key: &str| text(key).ok_or_else(|| format!("a case has no text `{key}`"));
    let flag = |key: &str| case[key].as_bool().unwrap_or_default();
    let list = |key: &str| -> Vec<String> {
        case[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| Some(item.as_str()?.to_owned()))
            .collect()
    };
    let class = match (text("expected").is_some(), flag("deterministic")) {
        (false, _) => Class::Error,
        (true, true) => Class::Deterministic,
        (true, false) => Class::Partial,
    };
    Ok(Case {
        id: need("id")?,
        class,
        chart_dir: dir.join(need("chart_dir")?),
        values: text("values").map(|path| dir.join(path)),
        release: ReleaseInfo {
            name: need("release")?,
            namespace: need("namespace")?,
            revision: case["revision"].as_i64().unwrap_or(1),
            is_install: flag("is_install"),
            is_upgrade: flag("is_upgrade"),
        },
        capabilities: capabilities(&need("kube_version")?, list("api_versions_extra"), index)?,
        expected: text("expected").map(|path| dir.join(path)),
        expected_error: text("expected_error").unwrap_or_default(),
        error_class: text("error_class").unwrap_or_default(),
        varying: list("nondet_templates"),
    })
}

/// Returns what the Helm that answered the cases assumed of the cluster. The index names its version.
fn capabilities(kube_version: &str, extra: Vec<String>, index: &Json) -> Result<Capabilities, String> {
    let mut capabilities = Capabilities::offline();
    let oracle = index["meta"]["oracle"].as_str().unwrap_or_default();
    if oracle.contains("v4.2.") {
        let known = |version: &String| !NOT_IN_HELM_4_2.contains(&version.as_str());
        capabilities.api_versions.retain(known);
        capabilities.api_versions.extend(ONLY_IN_HELM_4_2.map(str::to_owned));
        capabilities.helm_version = HelmVersion {
            version: "v4.2".to_owned(),
            git_commit: String::new(),
            git_tree_state: String::new(),
            go_version: "go1.26.6".to_owned(),
            kube_client_version: "v1.36".to_owned(),
        };
    }
    capabilities.api_versions.extend(extra);
    capabilities.kube_version =
        KubeVersion::parse(kube_version).map_err(|error| format!("{kube_version}: {error}"))?;
    Ok(capabilities)
}
