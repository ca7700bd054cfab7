//! `statectl affected`: which releases a change of the repository reaches, and why. Needs no cluster.
//!
//! Both states of the repository are read and rendered as a run would, and what comes of it is compared: a file that was
//! touched and changes nothing reaches no release.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::content::{self, Past, Rendered};
use super::load::Files;
use super::output::Outputs;
use super::prepare::{Chosen, Loaded};
use super::{Ending, Selection, Session};
use crate::cluster::ConnectOptions;
use crate::dsf::state::Release;
use crate::failure::{Failure, FailureClass};
use crate::fetch::git::{self, GitError, Snapshot};
use crate::host::signals::Stop;
use crate::host::{files, random};
use crate::model::ReleaseKey;
use crate::observe::Verify;
use crate::plan::{self, Reason};
use crate::report::{self, AffectedRow};
use crate::text;

/// What is asked for.
pub struct Request {
    /// The files, as they are called now.
    pub files: Files,
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// The revision to compare with: a name that git knows, or `auto`.
    pub base: String,
    /// The revision that is compared; the files as they are without one.
    pub head: Option<String>,
    /// Whether releases that need an affected one are affected.
    pub with_dependents: bool,
    /// Whether stdout gets the jobs of a CI matrix.
    pub matrix: bool,
    /// Asks for the end.
    pub stop: Stop,
}

/// Compares, and shows the releases that differ.
///
/// # Errors
/// The files are in no git repository or cannot be read as they are now, or git does not know the revisions.
pub async fn run(request: &Request, outputs: &Outputs) -> Result<Ending, Failure> {
    let states = &request.files.states;
    let Some(first) = states.first() else {
        let failure = Failure::new(FailureClass::Usage, "affected: no file is named");
        return Err(failure.hint("name the desired-state file: `statectl affected shop.toml --base main`"));
    };
    let folder = first.parent().map(Path::to_path_buf).filter(|path| !path.as_os_str().is_empty());
    let root = files::repository_of(&folder.unwrap_or_else(|| PathBuf::from(".")));
    let root = files::real(&root).unwrap_or(root);
    let base = git::resolve(&root, &base_of(request)).await.map_err(|error| unknown(request, &error))?;
    let old = git::snapshot(&root, &base).await.map_err(|error| unknown(request, &error))?;
    let new: Option<Snapshot> = match &request.head {
        Some(head) => Some(git::snapshot(&root, head).await.map_err(|error| unknown(request, &error))?),
        None => None,
    };
    // The same random numbers on both sides: what a chart draws anew each time is no change.
    let seed = random::bytes();
    let after = side(request, &root, new.as_ref().map_or(root.as_path(), Snapshot::folder), seed).await?;
    let before = side(request, &root, old.folder(), seed).await;
    let mut rows = match before {
        Ok(before) => compared(&before, &after),
        // A file that is new, or was broken: all of it is.
        Err(failure) => {
            let why = failure.to_string().lines().next().unwrap_or_default().to_owned();
            let enabled = after.loaded.state.releases.iter().filter(|release| release.enabled);
            enabled.map(|release| row(release, vec![format!("not comparable: {why}")])).collect()
        }
    };
    if request.with_dependents {
        add_dependents(&after.loaded, &mut rows);
    }
    rows.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    if request.matrix {
        crate::ui::result(&report::matrix_json(&rows));
        return Ok(Ending::default());
    }
    outputs.write(|_| table(&rows), || report::affected_json(&base, request.head.as_deref(), &rows))?;
    Ok(Ending::default())
}

/// Returns the revision to compare with: on a pull request where it left its target, else the commit before.
fn base_of(request: &Request) -> String {
    if request.base != "auto" {
        return request.base.clone();
    }
    let set = |name: &str| request.environment.get(name).filter(|value| !value.is_empty());
    if let Some(target) = set("GITHUB_BASE_REF") {
        // git's own words for the merge base.
        return format!("origin/{target}...HEAD");
    }
    set("CI_MERGE_REQUEST_DIFF_BASE_SHA").cloned().unwrap_or_else(|| "HEAD^".to_owned())
}

fn unknown(request: &Request, error: &GitError) -> Failure {
    let failure = Failure::of(format!("affected: `{}` cannot be compared with", request.base), error);
    failure
        .usage()
        .hint("a clone with history is needed: `fetch-depth: 0` on GitHub, `GIT_DEPTH: 0` on GitLab")
}

/// One state of the repository.
struct Side {
    root: PathBuf,
    loaded: Loaded,
    rendered: BTreeMap<ReleaseKey, Result<Rendered, Reason>>,
}

/// Reads and renders a state of the repository.
async fn side(request: &Request, root: &Path, at: &Path, seed: [u8; 32]) -> Result<Side, Failure> {
    let moved = |path: &PathBuf| -> PathBuf {
        let real = files::real(path).unwrap_or_else(|| path.clone());
        real.strip_prefix(root).map(|below| at.join(below)).unwrap_or(real)
    };
    let mut asked = request.files.clone();
    for list in [&mut asked.states, &mut asked.env_files, &mut asked.specs] {
        *list = list.iter().map(moved).collect();
    }
    let session = Session {
        files: asked,
        connect: ConnectOptions::default(),
        selection: Selection::default(),
        environment: request.environment.clone(),
        allow_prune: false,
        verify: Verify::default(),
        really_new: false,
        retry: false,
        adopts_from: None,
        as_if_owned: false,
        back_to: None,
        metrics: None,
        approved: None,
        stop: request.stop.clone(),
        part: Chosen::default(),
    };
    let work = async {
        let loaded = session.load()?;
        let releases: Vec<&Release> = loaded.state.releases.iter().collect();
        let jobs = session.jobs(&releases, &loaded, None, |_| Past::default()).await;
        let rendered = content::render_offline(jobs, seed);
        Ok(Side { root: at.to_owned(), loaded, rendered })
    };
    session.until_stopped(work).await
}

fn compared(before: &Side, after: &Side) -> Vec<AffectedRow> {
    let old: BTreeMap<&ReleaseKey, &Release> =
        before.loaded.state.releases.iter().map(|release| (&release.key, release)).collect();
    let new: BTreeSet<&ReleaseKey> = after.loaded.state.releases.iter().map(|release| &release.key).collect();
    let mut rows = Vec::new();
    for release in &after.loaded.state.releases {
        let why = match old.get(&release.key) {
            None if release.enabled => vec!["new".to_owned()],
            None => Vec::new(),
            Some(then) => differences(before, then, after, release),
        };
        if !why.is_empty() {
            rows.push(row(release, why));
        }
    }
    let gone =
        before.loaded.state.releases.iter().filter(|release| !new.contains(&release.key) && release.enabled);
    rows.extend(gone.map(|release| row(release, vec!["left the file".to_owned()])));
    rows
}

/// What of a release differs; empty for one that is not reached.
fn differences(before: &Side, then: &Release, after: &Side, now: &Release) -> Vec<String> {
    let mut why = Vec::new();
    match (then.enabled, now.enabled) {
        (true, false) => return vec!["`enabled` becomes false".to_owned()],
        (false, true) => return vec!["`enabled` becomes true".to_owned()],
        (false, false) => return why,
        (true, true) => {}
    }
    match (before.rendered.get(&then.key), after.rendered.get(&now.key)) {
        (Some(Ok(then)), Some(Ok(now))) => {
            let version =
                |rendered: &Rendered| format!("{} {}", rendered.chart.name(), rendered.chart.version());
            if version(then) != version(now) {
                why.push(format!("chart {} becomes {}", version(then), version(now)));
            }
            let keys = plan::changed_values(&then.config, &now.config);
            if !keys.is_empty() {
                why.push(format!("values: {}", keys.join(", ")));
            }
            if then.manifest != now.manifest || then.crds != now.crds {
                why.push("what the chart renders".to_owned());
            }
            if plan::hooks_differ(&then.hooks, &now.hooks) {
                why.push("hooks of the chart".to_owned());
            }
        }
        (_, Some(Err(reason))) | (Some(Err(reason)), _) => {
            why.push(format!(
                "cannot be compared: {}",
                reason.to_string().lines().next().unwrap_or_default()
            ));
        }
        _ => why.push("cannot be compared".to_owned()),
    }
    if settings(then, &before.root) != settings(now, &after.root) {
        why.push("its entry".to_owned());
    }
    why
}

/// Everything that the file says of a release besides its chart and values, without where it says so.
fn settings(release: &Release, root: &Path) -> String {
    let nowhere = crate::text::Location { file: "".into(), line: 0, column: 0 };
    let mut release = release.clone();
    release.origins.clear();
    release.origin = nowhere.clone();
    release.values = crate::dsf::state::Values::default();
    release.chart.source = crate::dsf::state::ChartSource::Local(PathBuf::new());
    for need in &mut release.needs {
        need.origin = nowhere.clone();
    }
    for hook in &mut release.hooks {
        hook.origin = nowhere.clone();
    }
    format!("{release:?}").replace(&root.display().to_string(), "")
}

/// Adds what needs something that is there, until nothing is added.
fn add_dependents(after: &Loaded, rows: &mut Vec<AffectedRow>) {
    loop {
        let known: BTreeSet<String> = rows.iter().map(AffectedRow::release).collect();
        let found: Vec<AffectedRow> = after
            .state
            .releases
            .iter()
            .filter(|release| release.enabled && !known.contains(&release.key.to_string()))
            .filter_map(|release| {
                let mut needs = release.needs.iter().map(|need| need.release.to_string());
                let need = needs.find(|need| known.contains(need))?;
                Some(row(release, vec![format!("needs {need}")]))
            })
            .collect();
        if found.is_empty() {
            return;
        }
        rows.extend(found);
    }
}

fn row(release: &Release, why: Vec<String>) -> AffectedRow {
    AffectedRow {
        namespace: release.key.namespace.clone(),
        name: release.key.name.clone(),
        app: release.app.clone(),
        reasons: why,
    }
}

fn table(rows: &[AffectedRow]) -> String {
    if rows.is_empty() {
        return "no release is affected\n".to_owned();
    }
    let cells = rows.iter().map(|row| vec![row.release(), row.reasons.join("; ")]);
    let head = ["RELEASE", "WHY"].map(str::to_owned).to_vec();
    text::table(&std::iter::once(head).chain(cells).collect::<Vec<_>>())
}
