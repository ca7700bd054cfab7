//! `statectl import`: a desired-state file of releases that are there, proven by its own plan. Writes nothing to the
//! cluster, and no file over another one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::load::{self, Files};
use super::prepare::{api_failure, connect_failure};
use super::secrets::Secrets;
use super::sources::{Fetching, Sources};
use super::{Chosen, Console, Ending, Selection, Session};
use crate::cluster::{self, ConnectOptions, Reader};
use crate::convert::{self, Imported, Live, Syntax, chart_files, env_file};
use crate::dsf::state::{ChartSource, ChartVersion};
use crate::failure::{Failure, FailureClass};
use crate::history::{self, History, Status};
use crate::host::files;
use crate::host::signals::Stop;
use crate::model::ReleaseKey;
use crate::observe::{self, Verify};
use crate::plan::{Action, Operation};
use crate::text::{self, plural};
use crate::ui;

/// What the flags say.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field is the flag of the same name")]
pub struct Request {
    pub namespaces: Vec<String>,
    pub all_namespaces: bool,
    pub releases: Vec<ReleaseKey>,
    pub context: Option<String>,
    pub out: Option<PathBuf>,
    pub syntax: Syntax,
    pub secrets: Option<PathBuf>,
    pub charts: BTreeMap<String, String>,
    pub repositories: BTreeMap<String, String>,
    pub offline: bool,
    pub allow_outside_paths: bool,
    pub connect: ConnectOptions,
    pub environment: BTreeMap<String, String>,
    pub stop: Stop,
}

/// Where the chart of a release is.
enum Place {
    /// As the file says it, and the version where it is not on this machine.
    Known(String, Option<String>),
    /// The folder that is written beside the file from the record.
    Record(String, Vec<(String, Vec<u8>)>),
    /// Nobody knows, for this reason.
    Unknown(String),
}

/// Makes the file, and proves it.
pub async fn run(request: &Request, _console: Console) -> Result<Ending, Failure> {
    for path in request.out.iter().chain(&request.secrets) {
        if files::kind(path) != files::PathKind::Missing {
            let failure = Failure::new(FailureClass::Usage, format!("{} exists already", path.display()));
            return Err(failure.hint("name a file that does not exist: nothing is written over another one"));
        }
    }
    let connection = cluster::connect(&request.connect).await.map_err(connect_failure)?;
    let reader = &connection.reader;
    let histories = selected(request, reader).await?;
    let mut told = Told::default();
    let mut chosen: Vec<(&ReleaseKey, &history::Release)> = Vec::new();
    for (key, history) in &histories {
        match usable(history) {
            Ok(Some(release)) => chosen.push((key, release)),
            Ok(None) => told.row("left out", key, "it was uninstalled, and only its history is kept"),
            Err(why) => told.open(key, &why),
        }
    }
    if chosen.is_empty() {
        return Err(Failure::new(FailureClass::NothingSelected, "there is no release to import"));
    }
    let context = context(request, reader, &histories, &chosen, &mut told).await?;
    let mut places = places(request, &chosen).await?;
    let lives = |places: &[Place], with_unknown: bool| -> Vec<Live<'_>> {
        let all = chosen.iter().zip(places);
        let known = all.filter(|(_, place)| with_unknown || !matches!(place, Place::Unknown(_)));
        known
            .map(|((key, release), place)| {
                let (chart, version) = match place {
                    Place::Known(chart, version) => (chart.clone(), version.clone()),
                    Place::Record(folder, _) => (format!("./{folder}"), None),
                    Place::Unknown(_) => (format!("./{}", folder_of(release)), None),
                };
                Live { key: (*key).clone(), release, chart, version }
            })
            .collect()
    };
    for ((key, _), place) in chosen.iter().zip(&mut places) {
        match place {
            Place::Unknown(why) => told.open(key, why),
            Place::Record(folder, chart) => match &request.out {
                Some(out) => write_chart(&beside(out, folder), chart)?,
                None => {
                    let why = "its chart is only in its record: with `--out` it is written beside the file";
                    told.open(key, why);
                    *place = Place::Unknown(why.to_owned());
                }
            },
            Place::Known(..) => {}
        }
    }
    let (urls, known_to_helm) = repositories(request, &places)?;
    let imported = convert::file_of(&context, &urls, &known_to_helm, &lives(&places, true));
    for (key, why) in &imported.unsaid {
        told.open(key, why);
    }
    let comment = [
        format!("Made by `statectl import` from the releases of {}.", connection.server),
        "Values that look secret stand in variables: see `ref+env://`.".to_owned(),
    ];
    let comment = if imported.variables.is_empty() { &comment[..1] } else { &comment[..] };
    let no_null = |error: convert::NoNull| {
        Failure::new(FailureClass::Usage, error.to_string())
            .hint("write YAML: `--format yaml`, or a name that ends in .yaml")
    };
    let text = convert::write(comment, &imported.file, request.syntax).map_err(no_null)?;
    if let Some(path) = &request.secrets {
        write(path, env_file(&imported.variables).as_bytes(), true)?;
    }
    match &request.out {
        Some(path) => write(path, text.as_bytes(), false)?,
        None => ui::document(&text),
    }
    let provable = convert::file_of(&context, &urls, &known_to_helm, &lives(&places, false));
    let text = convert::write(&[], &provable.file, request.syntax).map_err(no_null)?;
    if lives(&places, false).iter().any(|live| !imported.unsaid.contains_key(&live.key)) {
        prove(request, text, &imported, &mut told).await?;
    }
    told.secrets(request, &imported);
    let owned = histories
        .values()
        .filter_map(History::latest)
        .all(|latest| latest.context() == Some(context.as_str()));
    told.show(request, owned);
    Ok(Ending { blocked: told.is_open, signal: request.stop.asked(), ..Ending::default() })
}

/// Reads the records that were asked for.
async fn selected(request: &Request, reader: &Reader) -> Result<BTreeMap<ReleaseKey, History>, Failure> {
    let mut namespaces: BTreeSet<String> = request.namespaces.iter().cloned().collect();
    namespaces.extend(request.releases.iter().map(|key| key.namespace.clone()));
    let everywhere = request.all_namespaces;
    let found = observe::releases(reader, (!everywhere).then_some(namespaces)).await;
    let found = found.map_err(|(what, error)| {
        let failure = api_failure(format!("the releases of {what} cannot be read"), &error);
        if everywhere {
            failure.hint("name the namespaces that you may read: `-n NAMESPACE`")
        } else {
            failure
        }
    })?;
    let asked = |key: &ReleaseKey| {
        everywhere || request.namespaces.contains(&key.namespace) || request.releases.contains(key)
    };
    if let Some(missing) = request.releases.iter().find(|key| !found.contains_key(*key)) {
        return Err(Failure::new(FailureClass::NothingSelected, format!("there is no release {missing}")));
    }
    Ok(found.into_iter().filter(|(key, _)| asked(key)).collect())
}

/// Returns what was released last; nothing if it was uninstalled.
fn usable(history: &History) -> Result<Option<&history::Release>, String> {
    let readable = history.latest().map_or(0, |latest| latest.release.version);
    if let Some(newer) = history.undecodable().iter().find(|object| object.revision > readable) {
        return Err(format!("its newest record {} cannot be read: {}", newer.object, newer.why));
    }
    let latest = history.latest().map(|latest| &latest.release);
    Ok(latest.filter(|release| release.info.status != Status::Uninstalled))
}

/// Returns the context of the file: what was asked for, or that of all releases if it has no others.
async fn context(
    request: &Request,
    reader: &Reader,
    histories: &BTreeMap<ReleaseKey, History>,
    chosen: &[(&ReleaseKey, &history::Release)],
    told: &mut Told,
) -> Result<String, Failure> {
    if let Some(name) = &request.context {
        return Ok(name.clone());
    }
    let owner =
        |key: &ReleaseKey| histories.get(key).and_then(History::latest).and_then(history::Record::context);
    let owners: BTreeSet<Option<&str>> = chosen.iter().map(|(key, _)| owner(key)).collect();
    if let [Some(name)] = owners.iter().copied().collect::<Vec<_>>().as_slice() {
        let failed = |error| api_failure(format!("the releases of context {name} cannot be listed"), &error);
        let all = observe::context_releases(reader, name).await.map_err(failed)?;
        let others: Vec<String> = all
            .iter()
            .flatten()
            .filter(|key| !chosen.iter().any(|(chosen, _)| chosen == key))
            .map(ToString::to_string)
            .collect();
        if all.is_some() && others.is_empty() {
            return Ok((*name).to_owned());
        }
        told.lines.push(format!(
            "note: context `{name}` may have releases that are not in this file ({}), which would go if the file had that \
             context; name one with `--context`",
            if others.is_empty() { "Secrets cannot be listed in the whole cluster".to_owned() } else { others.join(", ") }
        ));
    }
    let spaces: BTreeSet<&String> = chosen.iter().map(|(key, _)| &key.namespace).collect();
    let name = match spaces.iter().collect::<Vec<_>>().as_slice() {
        [one] => (**one).clone(),
        _ => "imported".to_owned(),
    };
    told.lines.push(format!("note: the context of the file is `{name}`; another one: `--context NAME`"));
    Ok(name)
}

/// Finds out where the charts are: as was said, in a repository that is named or that Helm knows, or in the record.
async fn places(
    request: &Request,
    chosen: &[(&ReleaseKey, &history::Release)],
) -> Result<Vec<Place>, Failure> {
    let declared = load::repositories(&request.repositories)?;
    let fetching = Fetching { offline: request.offline, locked: false };
    let sources = Sources::new(&request.environment, &declared, Secrets::default(), None, &fetching)
        .map_err(|why| Failure::new(FailureClass::Failed, "charts cannot be looked for").cause(why))?;
    let names: Vec<String> =
        request.repositories.keys().cloned().chain(sources.known_names().map(str::to_owned)).collect();
    let mut found: BTreeMap<(String, String), Option<String>> = BTreeMap::new();
    let mut places = Vec::new();
    for (_, release) in chosen {
        let Some(chart) = &release.chart else {
            places.push(Place::Unknown("its record has lost the chart".to_owned()));
            continue;
        };
        let (name, version) = (chart.name().to_owned(), chart.version().to_owned());
        if let Some(given) = request.charts.get(&name) {
            places.push(as_given(request, given, &version));
            continue;
        }
        let id = (name.clone(), version.clone());
        if !found.contains_key(&id) {
            let mut source = None;
            for repository in &names {
                let asked = (
                    ChartSource::Repository { repository: repository.clone(), chart: name.clone() },
                    ChartVersion::Matching(version.clone()),
                );
                let fetched = sources.one(&asked).await;
                let same = |found: &super::sources::Found| {
                    let stored = history::stored_chart(&found.chart);
                    stored.version() == version && stored.templates.len() == chart.templates.len()
                };
                if fetched.as_ref().is_ok_and(same) {
                    source = Some(format!("{repository}/{name}"));
                    break;
                }
            }
            found.insert(id.clone(), source);
        }
        places.push(match found.get(&id).cloned().flatten() {
            Some(source) => Place::Known(source, Some(version)),
            None => match chart_files(chart) {
                Ok(files) => Place::Record(folder_of(release), files),
                Err(why) => Place::Unknown(format!("{why}; say where it is: `--chart {name}=REFERENCE`")),
            },
        });
    }
    Ok(places)
}

/// A path of the working folder may be another one from the folder of the file.
fn as_given(request: &Request, given: &str, version: &str) -> Place {
    let path = Path::new(given);
    if files::kind(path) == files::PathKind::Missing || given.contains("://") {
        return Place::Known(given.to_owned(), Some(version.to_owned()));
    }
    let moved =
        request.out.as_ref().and_then(|out| out.parent()).is_some_and(|dir| !dir.as_os_str().is_empty());
    let real = files::real(path).filter(|_| moved && path.is_relative());
    Place::Known(real.map_or_else(|| given.to_owned(), |real| real.display().to_string()), None)
}

/// Repositories with their addresses, and those that only Helm's configuration has.
type Repositories = (Vec<(String, String)>, Vec<String>);

/// Returns the repositories that charts were found in.
fn repositories(request: &Request, places: &[Place]) -> Result<Repositories, Failure> {
    let used: BTreeSet<&str> = places
        .iter()
        .filter_map(|place| match place {
            Place::Known(chart, Some(_)) if !chart.contains("://") => {
                chart.split_once('/').map(|(name, _)| name)
            }
            _ => None,
        })
        .collect();
    let declared = load::repositories(&request.repositories)?;
    let fetching = Fetching { offline: true, locked: false };
    let of_helm = Sources::new(&request.environment, &declared, Secrets::default(), None, &fetching)
        .map_err(|why| Failure::new(FailureClass::Failed, "charts cannot be looked for").cause(why))?;
    let (mut urls, mut known) = (Vec::new(), Vec::new());
    for name in used {
        match request.repositories.get(name).cloned().or_else(|| of_helm.plain_address(name)) {
            Some(url) => urls.push((name.to_owned(), url)),
            None => known.push(name.to_owned()),
        }
    }
    Ok((urls, known))
}

/// Plans the file as if its releases belonged to it, and tells of each whether anything would change.
async fn prove(request: &Request, text: String, imported: &Imported, told: &mut Told) -> Result<(), Failure> {
    let mut environment = request.environment.clone();
    environment.extend(imported.variables.clone());
    let name = request.out.clone().unwrap_or_else(|| {
        PathBuf::from(if request.syntax == Syntax::Toml { "import.toml" } else { "import.yaml" })
    });
    let files = Files {
        allow_outside_paths: request.allow_outside_paths,
        keep_untracked: true,
        fetching: Fetching { offline: request.offline, locked: false },
        ..Files::default()
    };
    let read = files.read_text(&name, text, &environment, load::Look::default())?;
    let session = Session {
        files,
        connect: request.connect.clone(),
        selection: Selection::default(),
        environment,
        allow_prune: false,
        verify: Verify::default(),
        really_new: false,
        retry: false,
        adopts_from: None,
        as_if_owned: true,
        back_to: None,
        metrics: None,
        approved: None,
        stop: request.stop.clone(),
        part: Chosen::of(read),
    };
    let (_, _, plan) = session.planned(Operation::Reconcile).await?;
    for release in &plan.releases {
        if release.action == Action::None {
            told.row("proven", &release.key, "its plan says no changes");
            continue;
        }
        let reasons: Vec<String> = release.reasons.iter().map(ToString::to_string).collect();
        told.open(&release.key, &format!("its plan says {}: {}", release.action, reasons.join("; ")));
    }
    Ok(())
}

/// What is said at the end.
#[derive(Default)]
struct Told {
    rows: Vec<Vec<String>>,
    lines: Vec<String>,
    is_open: bool,
}

impl Told {
    fn row(&mut self, word: &str, key: &ReleaseKey, text: &str) {
        self.rows.push(vec![word.to_owned(), key.to_string(), text.to_owned()]);
    }

    /// Something is left to a person.
    fn open(&mut self, key: &ReleaseKey, why: &str) {
        self.is_open = true;
        self.row("not proven", key, why);
    }

    fn secrets(&mut self, request: &Request, imported: &Imported) {
        for (key, paths) in &imported.secrets {
            self.lines
                .push(format!("{key}: not in the file, because they look secret: {}", paths.join(", ")));
        }
        if imported.variables.is_empty() {
            return;
        }
        let count = plural(imported.variables.len(), "variable");
        self.lines.push(match &request.secrets {
            Some(path) => format!(
                "{count} in {}, in clear: give it to every verb with `-e`, and keep it out of the repository",
                path.display()
            ),
            None => format!(
                "the file needs {count} with these values; `--secrets FILE` writes them, in clear, to a file for `-e`"
            ),
        });
    }

    fn show(&mut self, request: &Request, owned: bool) {
        self.rows.sort_by(|a, b| a[1].cmp(&b[1]));
        ui::message(text::table(&self.rows).trim_end());
        for line in &self.lines {
            ui::message(line);
        }
        let file = request.out.as_ref().map_or_else(|| "FILE".to_owned(), |path| path.display().to_string());
        if !owned {
            ui::message(&format!(
                "next: `statectl adopt {file}` gives the releases to the file; nothing else of them changes"
            ));
        }
    }
}

fn folder_of(release: &history::Release) -> String {
    let (name, version) =
        release.chart.as_ref().map_or(("chart", ""), |chart| (chart.name(), chart.version()));
    let word = |text: &str| text.replace(['/', '\\'], "-");
    format!("charts/{}-{}", word(name), word(version))
}

fn beside(out: &Path, folder: &str) -> PathBuf {
    out.parent().map_or_else(|| PathBuf::from(folder), |dir| dir.join(folder))
}

/// Releases of one chart share its folder.
fn write_chart(folder: &Path, chart: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    for (name, content) in chart {
        let path = folder.join(name);
        if files::read(&path).is_ok_and(|there| there == *content) {
            continue;
        }
        write(&path, content, false)?;
    }
    Ok(())
}

fn write(path: &Path, content: &[u8], private: bool) -> Result<(), Failure> {
    files::write_new(path, content, private)
        .map_err(|error| Failure::of(format!("{} could not be written", path.display()), &error))
}
