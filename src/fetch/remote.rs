//! Charts that are not on this machine: from repositories, registries and plain addresses.
//!
//! Source: Helm `pkg/downloader`. Unlike Helm, what is downloaded has to have the digest that the index promises.
#![expect(clippy::disallowed_methods, reason = "repositories may be folders of this machine")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError};

use http::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use tokio::sync::OnceCell;

use super::ARCHIVE_LIMIT;
use super::docker::DockerConfig;
use super::git::{self, GitError};
use super::http::{self as web, Access, Bound, Http, HttpError};
use super::index::{self, IndexError};
use super::oci::{OciError, Reference, Registry};
use super::store::{Store, sha256};
use crate::dsf::GitChart;

/// The largest index that is read.
const INDEX_LIMIT: usize = 256 << 20;
/// The largest provenance file that is read.
const PROVENANCE_LIMIT: usize = 1 << 20;

/// Where a chart is.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A chart of a repository.
    Repository {
        /// The address of the repository.
        url: String,
        /// How it is asked.
        access: Access,
        /// The chart.
        chart: String,
    },
    /// A chart in a registry.
    Registry {
        /// The reference, `oci://…`.
        reference: String,
    },
    /// An archive.
    Archive {
        /// Its address.
        url: String,
    },
    /// A folder of a git repository.
    Git(GitChart),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Source {
    /// Returns the source as messages and lock files show it, without anything secret.
    pub fn shown(&self) -> String {
        let plain = |url: &str| match web::address(url, &mut Access::default()) {
            Ok(url) => web::shown(&url),
            Err(_) => url.split('@').next_back().unwrap_or_default().to_owned(),
        };
        match self {
            Source::Repository { url, chart, .. } => format!("{} {chart}", plain(url)),
            Source::Registry { reference } => reference.clone(),
            Source::Archive { url } => plain(url),
            Source::Git(git) => {
                let (scheme, rest) = git.url.split_once("://").unwrap_or(("", &git.url));
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                let host = host.rsplit('@').next().unwrap_or_default();
                format!("git+{scheme}://{host}/{path}//{}?ref={}", git.folder, git.reference)
            }
        }
    }
}

/// A chart that is here now.
#[derive(Debug)]
pub struct Fetched {
    /// The archive.
    pub archive: Vec<u8>,
    /// Its SHA-256.
    pub sha256: String,
    /// The version that was chosen; empty where only the archive tells it.
    pub version: String,
}

/// What says who made a chart.
#[derive(Debug, Default)]
pub struct Origin {
    /// What the archive is called in the provenance file.
    pub file: String,
    /// The provenance file.
    pub provenance: Option<Vec<u8>>,
    /// The chart in a registry, as cosign takes it, and the SHA-256 of the archive in it.
    pub image: Option<(String, String)>,
}

/// Why a chart is not here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A server does not give it.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// git does not give it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A registry does not give it.
    #[error(transparent)]
    Registry(#[from] OciError),
    /// A repository has no such chart.
    #[error("{repository}: {source}")]
    Index {
        /// The repository.
        repository: String,
        /// What is wrong.
        source: IndexError,
    },
    /// The index is no text.
    #[error("{0}: the index is no UTF-8 text")]
    NotText(String),
    /// Something on this machine cannot be read.
    #[error("cannot read {path}")]
    File {
        /// What.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// What came is not what the index, or the lock file, promises.
    #[error("{place} has the digest sha256:{found}, not sha256:{wanted}")]
    Digest {
        /// What was fetched.
        place: String,
        /// The digest of what came.
        found: String,
        /// The digest that it should have.
        wanted: String,
    },
    /// Nothing may be asked, and it is not kept here.
    #[error("{0} is not kept on this machine, and `--offline` asks nobody")]
    Offline(String),
    /// Credentials cannot be had.
    #[error("{0}")]
    Credentials(String),
}

/// Fetches charts, and keeps what it fetched.
#[derive(Default)]
pub struct Fetcher {
    http: Http,
    registry: Registry,
    store: Store,
    /// Whose credentials are used for registries; the first that knows one counts.
    logins: Vec<DockerConfig>,
    offline: bool,
    /// Each index is read once in a run.
    indexes: std::sync::Mutex<BTreeMap<String, Arc<OnceCell<Arc<str>>>>>,
}

impl Fetcher {
    /// Returns a fetcher. With `offline` nothing is asked of anybody.
    pub fn new(store: Store, logins: Vec<DockerConfig>, offline: bool) -> Self {
        Self { store, logins, offline, ..Self::default() }
    }

    /// Returns the chart of `source` in the version that is meant: exact, a constraint, or empty for the newest. With
    /// `locked`, the SHA-256 that the archive must have, nothing else is accepted, and nothing is fetched that is kept.
    ///
    /// # Errors
    /// It cannot be had, or is not what was promised.
    pub async fn fetch(
        &self,
        source: &Source,
        version: &str,
        locked: Option<&str>,
    ) -> Result<Fetched, FetchError> {
        if let Some(digest) = locked
            && let Some(archive) = self.store.archive(digest)
        {
            return Ok(Fetched { archive, sha256: digest.to_owned(), version: version.to_owned() });
        }
        let fetched = match source {
            Source::Repository { url, access, chart } => {
                self.of_repository(url, access, chart, version).await?
            }
            Source::Registry { reference } => self.of_registry(reference, version).await?,
            Source::Archive { url } => {
                let mut access = Access::default();
                let url = web::address(url, &mut access)?;
                self.may_ask(&web::shown(&url))?;
                let archive = self.http.get(&url, &access, &[], ARCHIVE_LIMIT).await?;
                let archive = refuse_401(archive, &url)?;
                Fetched { sha256: sha256(&archive), archive, version: String::new() }
            }
            Source::Git(git) => {
                let shown = source.shown();
                self.may_ask(&shown)?;
                let archive = git::pull(git, &shown).await?;
                Fetched { sha256: sha256(&archive), archive, version: String::new() }
            }
        };
        if let Some(wanted) = locked.filter(|wanted| *wanted != fetched.sha256) {
            let (place, found) = (source.shown(), fetched.sha256);
            return Err(FetchError::Digest { place, found, wanted: wanted.to_owned() });
        }
        self.store.keep_archive(&fetched.sha256, &fetched.archive);
        Ok(fetched)
    }

    fn may_ask(&self, place: &str) -> Result<(), FetchError> {
        if self.offline { Err(FetchError::Offline(place.to_owned())) } else { Ok(()) }
    }

    /// Returns what says who made the chart of `source` in this exact version: the name of the archive in its provenance file,
    /// that file, and the image in a registry.
    ///
    /// # Errors
    /// It cannot be had.
    pub async fn origin(&self, source: &Source, version: &str) -> Result<Origin, FetchError> {
        self.may_ask(&format!("the origin of {}", source.shown()))?;
        match source {
            Source::Registry { reference } => {
                let reference = Reference::parse(reference)?;
                let access = self.login(&reference).await?;
                let beside = self.registry.beside(&self.http, &access, &reference, version).await?;
                let file = format!("{}-{version}.tgz", reference.name());
                // What was fetched may be another archive than the tag means by now: only the image of that one counts.
                let image = beside.archive.map(|archive| (beside.image, archive));
                Ok(Origin { file, provenance: beside.provenance, image })
            }
            Source::Repository { url, access, chart } => {
                let mut access = access.clone();
                let base = web::address(url, &mut access)?;
                let index = self.index(&base, &access).await?;
                let entry = index::entries(&index, chart)
                    .and_then(|entries| index::choose(&entries, chart, version))
                    .map_err(|source| FetchError::Index { repository: web::shown(&base), source })?;
                let place = entry.urls.first().map(String::as_str).unwrap_or_default();
                let target = below(&base, place)?;
                self.beside(target, &access.only_for(&base)).await
            }
            Source::Archive { url } => {
                let mut access = Access::default();
                let url = web::address(url, &mut access)?;
                let access = access.only_for(&url);
                self.beside(url, &access).await
            }
            Source::Git(_) => Ok(Origin::default()),
        }
    }

    /// Asks for the provenance file beside an archive. That there is none is an answer.
    async fn beside(&self, archive: reqwest::Url, access: &Bound) -> Result<Origin, FetchError> {
        let mut url = archive.clone();
        url.set_path(&format!("{}.prov", archive.path()));
        let file = archive.path().rsplit('/').next().unwrap_or_default().to_owned();
        match self.http.get(&url, &access.towards(&url), &[], PROVENANCE_LIMIT).await {
            Ok(reply) => Ok(Origin { file, provenance: Some(refuse_401(reply, &url)?), image: None }),
            Err(HttpError::Status { status: 404, .. }) => Ok(Origin { file, ..Origin::default() }),
            Err(error) => Err(error.into()),
        }
    }

    async fn login(&self, reference: &Reference) -> Result<Access, FetchError> {
        let mut access = Access::default();
        for login in &self.logins {
            let found = login.credentials(&reference.host).await.map_err(FetchError::Credentials)?;
            if found.is_some() {
                access.basic = found;
                break;
            }
        }
        Ok(access)
    }

    async fn of_registry(&self, reference: &str, version: &str) -> Result<Fetched, FetchError> {
        let reference = Reference::parse(reference)?;
        self.may_ask(&format!("oci://{}/{}", reference.host, reference.repository))?;
        let access = self.login(&reference).await?;
        let kept = |digest: &str| self.store.archive(digest);
        let pulled = self.registry.pull(&self.http, &access, &reference, version, &kept).await?;
        Ok(Fetched { archive: pulled.archive, sha256: pulled.sha256, version: pulled.version })
    }

    async fn of_repository(
        &self,
        url: &str,
        access: &Access,
        chart: &str,
        version: &str,
    ) -> Result<Fetched, FetchError> {
        if let Some(folder) = url.strip_prefix("file://") {
            return of_folder(folder, chart, version);
        }
        let mut access = access.clone();
        let base = web::address(url, &mut access)?;
        let repository = web::shown(&base);
        let index = self.index(&base, &access).await?;
        let wrong = |source: IndexError| FetchError::Index { repository: repository.clone(), source };
        let entry = index::entries(&index, chart)
            .and_then(|entries| index::choose(&entries, chart, version))
            .map_err(wrong)?;
        drop(index);
        let wanted = entry.digest.trim_start_matches("sha256:").to_ascii_lowercase();
        if let Some(archive) = self.store.archive(&wanted) {
            return Ok(Fetched { archive, sha256: wanted, version: entry.version });
        }
        let place = entry.urls.first().map(String::as_str).unwrap_or_default();
        let target = below(&base, place)?;
        self.may_ask(&web::shown(&target))?;
        let access = access.only_for(&base).towards(&target);
        let reply = self.http.get(&target, &access, &[], ARCHIVE_LIMIT).await?;
        let archive = refuse_401(reply, &target)?;
        let found = sha256(&archive);
        if !wanted.is_empty() && wanted != found {
            return Err(FetchError::Digest { place: web::shown(&target), found, wanted });
        }
        Ok(Fetched { archive, sha256: found, version: entry.version })
    }

    /// Returns the index of a repository: the one that is kept if the server says that it is still the same.
    async fn index(&self, base: &reqwest::Url, access: &Access) -> Result<Arc<str>, FetchError> {
        // Two users may see two indexes.
        let user = access.basic.as_ref().map(|(user, _)| user.as_str()).unwrap_or_default();
        let place = format!("{base} {user}");
        let cell = {
            let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(indexes.entry(place.clone()).or_default())
        };
        let index = cell.get_or_try_init(|| async {
            let kept = self.store.index(&place);
            let url = below(base, "index.yaml")?;
            if self.offline {
                let kept = kept.ok_or_else(|| FetchError::Offline(web::shown(&url)))?;
                return Ok::<Arc<str>, FetchError>(Arc::from(kept.text));
            }
            let etag = kept.as_ref().and_then(|kept| HeaderValue::from_str(kept.etag.as_deref()?).ok());
            let headers: Vec<_> = etag.map(|etag| (IF_NONE_MATCH, etag)).into_iter().collect();
            let reply = self.http.get(&url, access, &headers, INDEX_LIMIT).await?;
            if let (304, Some(kept)) = (reply.status, kept) {
                return Ok(Arc::from(kept.text));
            }
            let etag = reply.header(ETAG.as_str()).map(str::to_owned);
            let body = refuse_401(reply, &url)?;
            let text = String::from_utf8(body).map_err(|_| FetchError::NotText(web::shown(&url)))?;
            self.store.keep_index(&place, &text, etag.as_deref());
            Ok(Arc::from(text))
        });
        index.await.cloned()
    }
}

/// A server that wants credentials, or others than those that there are.
fn refuse_401(reply: web::Reply, url: &reqwest::Url) -> Result<Vec<u8>, HttpError> {
    match reply.status {
        200 => Ok(reply.body),
        status => Err(HttpError::Status { url: web::shown(url), status }),
    }
}

/// Returns an address that a repository names: relative ones start below the repository, whose query they keep (Helm
/// `pkg/repo/v1/chartrepo.go`, `ResolveReferenceURL`).
fn below(base: &reqwest::Url, place: &str) -> Result<reqwest::Url, FetchError> {
    if place.contains("://") {
        return Ok(web::address(place, &mut Access::default())?);
    }
    let mut folder = base.clone();
    if !folder.path().ends_with('/') {
        folder.set_path(&format!("{}/", base.path()));
    }
    let mut url = folder.join(place).map_err(|_| HttpError::Address(place.to_owned()))?;
    if url.query().is_none() {
        url.set_query(base.query());
    }
    Ok(url)
}

/// A repository in a folder of this machine.
fn of_folder(folder: &str, chart: &str, version: &str) -> Result<Fetched, FetchError> {
    let read =
        |path: &str| std::fs::read(path).map_err(|source| FetchError::File { path: path.to_owned(), source });
    let folder = folder.trim_end_matches('/');
    let index = String::from_utf8(read(&format!("{folder}/index.yaml"))?)
        .map_err(|_| FetchError::NotText(format!("file://{folder}")))?;
    let wrong = |source: IndexError| FetchError::Index { repository: format!("file://{folder}"), source };
    let entry = index::entries(&index, chart)
        .and_then(|entries| index::choose(&entries, chart, version))
        .map_err(wrong)?;
    let place = entry.urls.first().map(String::as_str).unwrap_or_default();
    let is_inside =
        !place.contains("://") && !place.starts_with('/') && !place.split('/').any(|part| part == "..");
    if !is_inside {
        let why = format!("the chart is outside of the repository: {place}");
        return Err(wrong(IndexError::Malformed(why)));
    }
    let path = format!("{folder}/{place}");
    let archive = read(&path)?;
    let found = sha256(&archive);
    let wanted = entry.digest.trim_start_matches("sha256:").to_ascii_lowercase();
    if !wanted.is_empty() && wanted != found {
        return Err(FetchError::Digest { place: path, found, wanted });
    }
    Ok(Fetched { archive, sha256: found, version: entry.version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_start_below_the_repository() {
        for (base, place, expected) in [
            ("https://r.example.org/charts", "web-1.tgz", "https://r.example.org/charts/web-1.tgz"),
            (
                "https://r.example.org/charts/?t=1",
                "a/web-1.tgz",
                "https://r.example.org/charts/a/web-1.tgz?t=1",
            ),
            ("https://r.example.org/charts", "/web-1.tgz", "https://r.example.org/web-1.tgz"),
            (
                "https://r.example.org/charts",
                "https://cdn.example.org/w.tgz?x=2",
                "https://cdn.example.org/w.tgz?x=2",
            ),
        ] {
            let base = web::address(base, &mut Access::default()).unwrap();
            assert_eq!(below(&base, place).unwrap().as_str(), expected);
        }
        let base = web::address("https://r.example.org", &mut Access::default()).unwrap();
        assert!(below(&base, "ftp://x/y").is_err());
    }

    #[test]
    fn a_source_shows_no_secret() {
        let (url, chart) = ("https://u:secret@r.example.org/c".to_owned(), "web".to_owned());
        let source = Source::Repository { url, access: Access::default(), chart };
        assert_eq!(format!("{source:?}"), "https://r.example.org/c web");
        let source = Source::Archive { url: "https://u:secret@r.example.org/c.tgz?token=secret".to_owned() };
        assert_eq!(source.shown(), "https://r.example.org/c.tgz");
    }
}
