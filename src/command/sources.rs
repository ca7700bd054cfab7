//! The charts of a run that are not on this machine: asked for all at once, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt as _;

use super::given::error_text;
use super::lock_file::{Entry, LockFile};
use super::secrets::Secrets;
use crate::chart::metadata::Dependency;
use crate::chart::{self, Chart};
use crate::dsf::state::{ChartSource, ChartVersion, Cosign, Release, Repository, Verify};
use crate::fetch;
use crate::fetch::docker::DockerConfig;
use crate::fetch::http::Access;
use crate::fetch::provenance::Signer;
use crate::fetch::remote::{Fetcher, Source};
use crate::fetch::store::Store;
use crate::host::{files, secrets as known};
use crate::value::{Map, Value};
use crate::yaml;

/// Charts that are fetched side by side.
const SIDE_BY_SIDE: usize = 8;

/// A chart and its version, as the desired state asks for them.
pub(super) type Asked = (ChartSource, ChartVersion);

/// A chart that was fetched.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) chart: Arc<Chart>,
    /// The SHA-256 of its archive.
    pub(super) sha256: String,
}

/// Where charts come from.
pub(super) struct Sources<'a> {
    fetcher: Fetcher,
    repositories: &'a BTreeMap<String, Repository>,
    /// Where user names and passwords of repositories come from.
    secrets: Secrets,
    /// Repositories of Helm's own configuration.
    known_to_helm: BTreeMap<String, Source>,
    lock: Option<LockFile>,
    /// Whether nothing counts that the lock file does not have.
    locked: bool,
}

/// What decides where charts come from, besides the desired state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetching {
    /// Whether nothing is asked of anybody.
    pub offline: bool,
    /// Whether only charts of the lock file count.
    pub locked: bool,
}

impl<'a> Sources<'a> {
    /// Returns the sources of a run.
    ///
    /// # Errors
    /// A configuration of this machine that is there cannot be read.
    pub(super) fn new(
        environment: &BTreeMap<String, String>,
        repositories: &'a BTreeMap<String, Repository>,
        secrets: Secrets,
        lock: Option<LockFile>,
        fetching: &Fetching,
    ) -> Result<Self, String> {
        let store = Store::new(cache_folder(environment));
        let logins = logins(environment)?;
        let known_to_helm = helm_repositories(environment)?;
        let fetcher = Fetcher::new(store, logins, fetching.offline);
        Ok(Self { fetcher, repositories, secrets, known_to_helm, lock, locked: fetching.locked })
    }

    /// Fetches the charts of `releases` that are not on this machine.
    pub(super) async fn fetch(
        &self,
        releases: impl Iterator<Item = &Release>,
    ) -> BTreeMap<Asked, Result<Found, String>> {
        let remote = releases.filter(|release| !matches!(release.chart.source, ChartSource::Local(_)));
        let asked: BTreeSet<Asked> =
            remote.map(|release| (release.chart.source.clone(), release.chart.version.clone())).collect();
        let fetched = asked.into_iter().map(|asked| async move {
            let found = self.one(&asked).await;
            (asked, found)
        });
        futures::stream::iter(fetched).buffer_unordered(SIDE_BY_SIDE).collect().await
    }

    /// Fetches one chart.
    ///
    /// # Errors
    /// It cannot be had.
    pub(super) async fn one(&self, (source, version): &Asked) -> Result<Found, String> {
        let source = self.source(source)?;
        self.get(&source, wanted(version)).await
    }

    /// Fetches the charts that a chart in a folder lists and does not have (`helm dependency build`), in the versions of
    /// its `Chart.lock` where these fit.
    ///
    /// # Errors
    /// One of them cannot be had.
    pub(super) async fn dependencies(
        &self,
        folder: &Path,
        chart: &Chart,
        roots: Option<&[PathBuf]>,
    ) -> Result<Vec<(Arc<Chart>, Option<Entry>)>, String> {
        let mut out = Vec::new();
        for wanted in missing(chart) {
            let repository = wanted.repository.trim();
            if let Some(path) = repository.strip_prefix("file://") {
                let path = folder.join(path);
                let found = fetch::dir::load_within(&path, roots).map_err(|error| error_text(&error))?;
                if !wanted.version.is_empty() && !chart::in_range(&wanted.version, &found.metadata.version) {
                    let (name, version) = (&wanted.name, &found.metadata.version);
                    return Err(format!("the chart {name} at {} has version {version}", path.display()));
                }
                out.push((Arc::new(found), None));
                continue;
            }
            let source = self.of_dependency(wanted)?;
            let pinned = pinned(chart, wanted);
            let found = self.get(&source, pinned).await?;
            let entry = Entry {
                chart: source.shown(),
                wanted: pinned.to_owned(),
                version: found.chart.metadata.version.clone(),
                sha256: found.sha256,
            };
            out.push((found.chart, Some(entry)));
        }
        Ok(out)
    }

    /// Returns where a dependency comes from: `@name` and `alias:name` stand for repositories (Helm
    /// `pkg/downloader/manager.go`).
    fn of_dependency(&self, wanted: &Dependency) -> Result<Source, String> {
        let (repository, name) = (wanted.repository.trim(), &wanted.name);
        if repository.is_empty() {
            return Err(format!("the chart {name} is missing in charts/, and no repository is named for it"));
        }
        if repository.starts_with("oci://") {
            let reference = format!("{}/{name}", repository.trim_end_matches('/'));
            return Ok(Source::Registry { reference });
        }
        let alias = repository.strip_prefix('@').or_else(|| repository.strip_prefix("alias:"));
        let declared = |known: &str| {
            let chart = name.clone();
            self.source(&ChartSource::Repository { repository: known.to_owned(), chart })
        };
        if let Some(alias) = alias {
            return declared(alias);
        }
        let same = |url: &str| url.trim_end_matches('/') == repository.trim_end_matches('/');
        if let Some((known, _)) = self.repositories.iter().find(|(_, declared)| same(&declared.url)) {
            return declared(known);
        }
        let of_helm = self.known_to_helm.values().find_map(|source| match source {
            Source::Repository { url, access, .. } if same(url) => Some(access.clone()),
            _ => None,
        });
        let (url, access) = (repository.to_owned(), of_helm.unwrap_or_default());
        Ok(Source::Repository { url, access, chart: name.clone() })
    }

    async fn get(&self, source: &Source, wanted: &str) -> Result<Found, String> {
        let shown = source.shown();
        let failed = |why: String| format!("the chart {shown} {wanted}: {why}");
        let entry = self.lock.as_ref().and_then(|lock| lock.entry(&shown, wanted));
        if self.locked && entry.is_none() {
            return Err(failed(
                "it is not in the lock file, and `--locked` was said; `statectl lock` writes it".to_owned(),
            ));
        }
        let (exact, digest) = match entry {
            Some(entry) => (entry.version.as_str(), Some(entry.sha256.as_str())),
            None => (wanted, None),
        };
        let fetched =
            self.fetcher.fetch(source, exact, digest).await.map_err(|error| failed(error_text(&error)))?;
        let chart =
            chart::load::from_archive(&fetched.archive).map_err(|error| failed(error_text(&error)))?;
        let found = &chart.metadata.version;
        let promised = &fetched.version;
        if !promised.is_empty() && promised != found {
            return Err(failed(format!("it was promised as version {promised} and says that it is {found}")));
        }
        if !wanted.is_empty() && !chart::in_range(wanted, found) {
            return Err(failed(format!("it has version {found}")));
        }
        Ok(Found { chart: Arc::new(chart), sha256: fetched.sha256 })
    }

    /// Returns the repositories of Helm's own configuration.
    pub(super) fn known_names(&self) -> impl Iterator<Item = &str> {
        self.known_to_helm.keys().map(String::as_str)
    }

    /// Returns the address of such a repository, if that is all that it takes to ask it.
    pub(super) fn plain_address(&self, name: &str) -> Option<String> {
        match self.known_to_helm.get(name)? {
            Source::Repository { url, access, .. } if *access == Access::default() => Some(url.clone()),
            _ => None,
        }
    }

    /// Makes sure that a chart was made by whom its release says. `found` is the chart where it was fetched.
    ///
    /// # Errors
    /// It was not, or nobody can tell.
    pub(super) async fn verify(&self, release: &Release, found: Option<&Found>) -> Result<(), String> {
        let (file, provenance, sha256, image) = match (&release.chart.source, found) {
            (ChartSource::Local(path), _) => {
                let archive = fetch::dir::archive(path)
                    .map_err(|_| format!("{} is no archive: only those can be signed", path.display()))?;
                let chart = chart::load::from_archive(&archive).map_err(|error| error_text(&error))?;
                whole(&chart)?;
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let beside = path.with_file_name(format!("{name}.prov"));
                let provenance = (files::kind(&beside) == files::PathKind::File).then(|| read(&beside));
                (name, provenance.transpose()?, fetch::store::sha256(&archive), None)
            }
            (source, Some(found)) => {
                whole(&found.chart)?;
                let source = self.source(source)?;
                let version = &found.chart.metadata.version;
                let origin =
                    self.fetcher.origin(&source, version).await.map_err(|error| error_text(&error))?;
                (origin.file, origin.provenance, found.sha256.clone(), origin.image)
            }
            (_, None) => return Ok(()),
        };
        if let Some(keyring) = &release.verify.keyring {
            let provenance = provenance.ok_or("there is no provenance file beside the chart")?;
            let text = String::from_utf8(provenance).map_err(|_| "the provenance file is no text")?;
            fetch::provenance::verify(&text, &read(keyring)?, &file, &sha256)
                .map_err(|error| error_text(&error))?;
        }
        if let Some(cosign) = &release.verify.cosign {
            let (image, archive) = image.ok_or("cosign signs charts in registries only")?;
            if archive != sha256 {
                return Err(format!("{image} holds another archive, sha256:{archive}, than sha256:{sha256}"));
            }
            let key;
            let signer = match cosign {
                Cosign::Key(path) => {
                    key = path.display().to_string();
                    Signer::Key(&key)
                }
                Cosign::Identity { identity, issuer } => Signer::Identity { identity, issuer },
            };
            fetch::provenance::cosign(&image, signer).await.map_err(|error| error_text(&error))?;
        }
        Ok(())
    }

    /// Returns the lines of a lock file for what was fetched.
    pub(super) fn entry(&self, (source, version): &Asked) -> Option<(String, String)> {
        Some((self.source(source).ok()?.shown(), wanted(version).to_owned()))
    }

    fn source(&self, source: &ChartSource) -> Result<Source, String> {
        match source {
            ChartSource::Local(path) => Err(format!("the chart {} is on this machine", path.display())),
            ChartSource::Oci(reference) => Ok(Source::Registry { reference: reference.clone() }),
            ChartSource::Url(url) => Ok(Source::Archive { url: url.clone() }),
            ChartSource::Git(chart) => Ok(Source::Git(chart.clone())),
            ChartSource::Repository { repository, chart } => {
                let declared = self.repositories.get(repository);
                let Some(declared) = declared.filter(|declared| !declared.url.is_empty()) else {
                    return match self.known_to_helm.get(repository) {
                        Some(Source::Repository { url, access, .. }) => {
                            let (url, access, chart) = (url.clone(), access.clone(), chart.clone());
                            Ok(Source::Repository { url, access, chart })
                        }
                        _ => Err(format!("Helm's configuration has no repository `{repository}`")),
                    };
                };
                let authorities = declared.ca_file.as_deref().map(read).transpose()?;
                let identity = match &declared.identity {
                    Some((certificate, key)) => Some(pair(read(certificate)?, &read(key)?)),
                    None => None,
                };
                learn_password(&declared.url);
                let resolved = |given: &Option<String>| {
                    let text = given.as_deref().map(|text| self.secrets.resolved(text)).transpose();
                    text.map_err(|why| format!("the repository `{repository}`: {why}"))
                };
                let basic = match (resolved(&declared.username_from)?, resolved(&declared.password_from)?) {
                    (None, None) => None,
                    (user, password) => Some((user.unwrap_or_default(), password.unwrap_or_default())),
                };
                let access = Access { basic, authorities, identity, bearer: None };
                Ok(Source::Repository { url: declared.url.clone(), access, chart: chart.clone() })
            }
        }
    }
}

/// Learns the password in an address.
fn learn_password(url: &str) {
    let user = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    let user = user.and_then(|host| host.rsplit_once('@')).and_then(|(user, _)| user.split_once(':'));
    if let Some((_, password)) = user {
        known::learn(password);
        known::learn(&percent_encoding::percent_decode_str(password).decode_utf8_lossy());
    }
}

/// Makes sure that a signed chart has all that it lists: what is fetched besides is not what was signed.
fn whole(chart: &Chart) -> Result<(), String> {
    match missing(chart).next() {
        None => Ok(()),
        Some(lacks) => Err(format!("the chart {} that it lists is not in it, and so not signed", lacks.name)),
    }
}

/// Tells whether somebody has to have made a chart.
pub(super) fn is_verified(release: &Release) -> bool {
    release.verify != Verify::default()
}

/// Returns the dependencies that a chart lists and does not have.
pub(super) fn missing(chart: &Chart) -> impl Iterator<Item = &Dependency> {
    let listed = chart.metadata.dependencies.iter().flatten();
    listed.filter(|wanted| !chart.dependencies.iter().any(|there| there.name() == wanted.name))
}

/// Returns the version of a dependency that the chart's own lock names, if it still fits; else what the chart asks for.
fn pinned<'c>(chart: &'c Chart, wanted: &'c Dependency) -> &'c str {
    let locked = chart.lock.iter().flat_map(|lock| lock.dependencies.iter().flatten());
    let mut same =
        locked.filter(|locked| locked.name == wanted.name && locked.repository == wanted.repository);
    let fits =
        |locked: &&Dependency| wanted.version.is_empty() || chart::in_range(&wanted.version, &locked.version);
    same.find(fits).map_or(wanted.version.as_str(), |locked| locked.version.as_str())
}

/// Returns what is asked of a repository: a version, a constraint, or nothing for the newest.
fn wanted(version: &ChartVersion) -> &str {
    match version {
        ChartVersion::Matching(text) => text,
        ChartVersion::Latest | ChartVersion::Any => "",
    }
}

/// Returns a certificate and its key in one PEM text.
fn pair(mut certificate: Vec<u8>, key: &[u8]) -> Vec<u8> {
    certificate.push(b'\n');
    certificate.extend_from_slice(key);
    certificate
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    files::read(path).map_err(|error| error_text(&error))
}

/// Returns the folder for what is fetched: `STATECTL_CACHE`, else where the machine keeps such things (XDG Base
/// Directory Specification).
fn cache_folder(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let folder = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("STATECTL_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("statectl")))
        .or_else(|| Some(folder("HOME")?.join(".cache/statectl")))
}

/// Returns where Helm keeps its configuration (Helm `pkg/helmpath`).
fn helm_folder(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let folder = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("HELM_CONFIG_HOME")
        .or_else(|| Some(folder("XDG_CONFIG_HOME")?.join("helm")))
        .or_else(|| Some(folder("HOME")?.join(".config/helm")))
}

/// Reads the registries that somebody logged in to: with Helm first, then with Docker.
fn logins(environment: &BTreeMap<String, String>) -> Result<Vec<DockerConfig>, String> {
    let given = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let helm = given("HELM_REGISTRY_CONFIG")
        .or_else(|| Some(helm_folder(environment)?.join("registry/config.json")));
    let docker = given("DOCKER_CONFIG").or_else(|| Some(given("HOME")?.join(".docker")));
    let docker = docker.map(|folder| folder.join("config.json"));
    let mut logins = Vec::new();
    for path in helm.into_iter().chain(docker) {
        if files::kind(&path) == files::PathKind::File {
            let config = DockerConfig::read(&read(&path)?);
            logins.push(config.map_err(|why| format!("{}: {why}", path.display()))?);
        }
    }
    Ok(logins)
}

/// Reads the repositories that `helm repo add` knows (Helm `pkg/repo/v1`, `repositories.yaml`).
fn helm_repositories(environment: &BTreeMap<String, String>) -> Result<BTreeMap<String, Source>, String> {
    let path = environment.get("HELM_REPOSITORY_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = path.or_else(|| Some(helm_folder(environment)?.join("repositories.yaml")));
    let Some(path) = path.filter(|path| files::kind(path) == files::PathKind::File) else {
        return Ok(BTreeMap::new());
    };
    let bytes = read(&path)?;
    let map = yaml::read_map(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let Some(Value::List(entries)) = map.get("repositories") else { return Ok(BTreeMap::new()) };
    let text = |entry: &Map, key: &str| {
        entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let mut out = BTreeMap::new();
    for entry in entries {
        let Value::Map(entry) = entry else { continue };
        let (Some(name), Some(url)) = (text(entry, "name"), text(entry, "url")) else { continue };
        let file = |key: &str| text(entry, key).map(|path| read(Path::new(&path))).transpose();
        let identity = match (file("certFile")?, file("keyFile")?) {
            (Some(certificate), Some(key)) => Some(pair(certificate, &key)),
            _ => None,
        };
        let basic = text(entry, "username").map(|user| (user, text(entry, "password").unwrap_or_default()));
        let access = Access { basic, bearer: None, authorities: file("caFile")?, identity };
        out.insert(name, Source::Repository { url, access, chart: String::new() });
    }
    Ok(out)
}
