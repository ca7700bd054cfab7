//! Charts from OCI registries.
//!
//! Sources: Helm `pkg/registry`, the OCI distribution specification 1.1, and the Docker registry's token
//! authentication.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::header::{ACCEPT, HeaderValue};
use reqwest::Url;
use serde_json::Value as Json;

use super::ARCHIVE_LIMIT;
use super::http::{self as web, Access, Http, HttpError, Reply};
use super::store::sha256;
use crate::semver::{Constraint, Version};

/// Media types of what a chart is made of.
const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const LAYERS: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// A manifest is a page of text.
const MANIFEST_LIMIT: usize = 4 << 20;
const MOST_PAGES: usize = 1000;

/// Why a registry does not give a chart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OciError {
    /// The reference is none.
    #[error("`{0}` is no reference to a chart in a registry: write oci://HOST/PATH/NAME")]
    Reference(String),
    /// The registry does not answer as it should.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Nobody may read it, or not with these credentials.
    #[error("{host} refuses: {why}")]
    Denied {
        /// The registry.
        host: String,
        /// Its words, as far as they help.
        why: String,
    },
    /// The answer is not what a registry answers.
    #[error("{place}: {why}")]
    Malformed {
        /// What was asked for.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// What came is not what was promised.
    #[error("{place} has the digest sha256:{found}, not {wanted}")]
    Digest {
        /// What was asked for.
        place: String,
        /// The digest of what came.
        found: String,
        /// The digest that it should have.
        wanted: String,
    },
    /// No tag fits.
    #[error("no tag of {place} fits {wanted}; the newest are {newest}")]
    NoVersion {
        /// The repository.
        place: String,
        /// What was asked for.
        wanted: String,
        /// Some that there are.
        newest: String,
    },
    /// The tag in the reference is another version than the one that is asked for.
    #[error("`{tag}` in the reference and the version {version} are not the same")]
    Mismatch {
        /// The tag.
        tag: String,
        /// The version.
        version: String,
    },
}

/// A reference such as `oci://registry.example.org/charts/web:1.2.3@sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Host, and port if it is written.
    pub host: String,
    /// The repository in the registry.
    pub repository: String,
    /// The tag.
    pub tag: Option<String>,
    /// The digest of the manifest, `sha256:…`.
    pub digest: Option<String>,
}

impl Reference {
    /// Reads a reference.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, OciError> {
        let bad = || OciError::Reference(text.to_owned());
        let rest = text.strip_prefix("oci://").ok_or_else(bad)?;
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.to_owned())),
            None => (rest, None),
        };
        let (host, path) = rest.split_once('/').ok_or_else(bad)?;
        let (repository, tag) = match path.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag.to_owned())),
            None => (path, None),
        };
        let word = |text: &str, more: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.as_bytes().contains(&byte))
        };
        let is_digest = |digest: &String| {
            digest.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && word(hex, ""))
        };
        let fine = word(host, ".:-[]")
            && repository.split('/').all(|part| word(part, "._-"))
            && tag.as_ref().is_none_or(|tag| word(tag, "._-"))
            && digest.as_ref().is_none_or(is_digest);
        if !fine {
            return Err(bad());
        }
        Ok(Self { host: host.to_owned(), repository: repository.to_owned(), tag, digest })
    }

    /// Returns the last part of the repository: the name of the chart.
    pub fn name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or_default()
    }

    fn place(&self) -> String {
        format!("oci://{}/{}", self.host, self.repository)
    }

    /// Returns where the registry answers. One on this very machine is asked without encryption, as Docker does.
    fn base(&self) -> Result<Url, OciError> {
        let bare = self.host.rsplit_once(':').map_or(self.host.as_str(), |(host, _)| host);
        let scheme = if matches!(bare, "localhost" | "127.0.0.1" | "[::1]") { "http" } else { "https" };
        let text = format!("{scheme}://{}/v2/", self.host);
        Url::parse(&text).map_err(|_| OciError::Reference(self.place()))
    }
}

/// A chart that came from a registry.
#[derive(Debug)]
pub struct Pulled {
    /// The archive.
    pub archive: Vec<u8>,
    /// Its SHA-256.
    pub sha256: String,
    /// The version; empty where only a digest was named.
    pub version: String,
}

/// What a registry keeps beside a chart.
#[derive(Debug)]
pub struct Beside {
    /// The chart as cosign takes it: `HOST/REPOSITORY@sha256:…`.
    pub image: String,
    /// The SHA-256 of the archive that this image holds.
    pub archive: Option<String>,
    /// The provenance file.
    pub provenance: Option<Vec<u8>>,
}

/// A client for registries.
#[derive(Default)]
pub struct Registry {
    /// Tokens by host and scope.
    tokens: Mutex<BTreeMap<(String, String), Access>>,
}

/// Helm writes the `+` of a version as `_` in a tag, which may have no `+`.
fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

impl Registry {
    /// Pulls a chart. `version` is exact, a constraint, or empty for what the reference names; `kept` is asked for the
    /// archive with a digest before it is fetched.
    ///
    /// # Errors
    /// It is not there, may not be read, or is not what it claims to be.
    pub async fn pull(
        &self,
        http: &Http,
        access: &Access,
        reference: &Reference,
        version: &str,
        kept: &(dyn Fn(&str) -> Option<Vec<u8>> + Sync),
    ) -> Result<Pulled, OciError> {
        let (named, version) = self.named(http, access, reference, version).await?;
        let (manifest, _) = self.manifest(http, access, reference, &named).await?;
        let layers = manifest["layers"].as_array().into_iter().flatten();
        let is_chart = |layer: &&Json| layer["mediaType"].as_str().is_some_and(|kind| LAYERS.contains(&kind));
        let digest = layers.into_iter().find(is_chart).and_then(|layer| layer["digest"].as_str());
        let hex =
            digest.and_then(|digest| digest.strip_prefix("sha256:")).ok_or_else(|| OciError::Malformed {
                place: format!("{} {named}", reference.place()),
                why: "it is no chart: no layer holds one".to_owned(),
            })?;
        if let Some(archive) = kept(hex) {
            return Ok(Pulled { archive, sha256: hex.to_owned(), version });
        }
        let path = format!("{}/blobs/sha256:{hex}", reference.repository);
        let reply = self.get(http, access, reference, &path, "*/*", ARCHIVE_LIMIT).await?;
        let found = sha256(&reply.body);
        if found != hex {
            let (place, wanted) = (reference.place(), format!("sha256:{hex}"));
            return Err(OciError::Digest { place, found, wanted });
        }
        Ok(Pulled { archive: reply.body, sha256: found, version })
    }

    /// Returns what goes with a chart in a registry: the digest of its manifest, and its provenance file if it has one.
    ///
    /// # Errors
    /// It is not there, may not be read, or is not what it claims to be.
    pub async fn beside(
        &self,
        http: &Http,
        access: &Access,
        reference: &Reference,
        version: &str,
    ) -> Result<Beside, OciError> {
        let (named, _) = self.named(http, access, reference, version).await?;
        let (manifest, digest) = self.manifest(http, access, reference, &named).await?;
        let layers = manifest["layers"].as_array().into_iter().flatten();
        let is_chart = |layer: &&Json| layer["mediaType"].as_str().is_some_and(|kind| LAYERS.contains(&kind));
        let archive = layers.clone().find(is_chart).and_then(|layer| layer["digest"].as_str());
        let archive = archive.and_then(|digest| digest.strip_prefix("sha256:")).map(str::to_owned);
        let mut layers = layers.filter(|layer| layer["mediaType"] == PROVENANCE);
        let layer = layers.next().and_then(|layer| layer["digest"].as_str());
        let provenance = match layer.and_then(|digest| digest.strip_prefix("sha256:")) {
            None => None,
            Some(hex) => {
                let path = format!("{}/blobs/sha256:{hex}", reference.repository);
                let reply = self.get(http, access, reference, &path, "*/*", MANIFEST_LIMIT).await?;
                let found = sha256(&reply.body);
                if found != hex {
                    let (place, wanted) = (reference.place(), format!("sha256:{hex}"));
                    return Err(OciError::Digest { place, found, wanted });
                }
                Some(reply.body)
            }
        };
        Ok(Beside {
            image: format!("{}/{}@sha256:{digest}", reference.host, reference.repository),
            archive,
            provenance,
        })
    }

    /// Returns the tag or digest that is meant, and the version that it stands for; empty for a digest, which only the
    /// chart itself can tell.
    async fn named(
        &self,
        http: &Http,
        access: &Access,
        reference: &Reference,
        version: &str,
    ) -> Result<(String, String), OciError> {
        if let Some(tag) = &reference.tag {
            if !version.is_empty() && tag_of(version) != *tag {
                let (tag, version) = (tag.clone(), version.to_owned());
                return Err(OciError::Mismatch { tag, version });
            }
            let named = reference.digest.as_ref().unwrap_or(tag).clone();
            return Ok((named, tag.replace('_', "+")));
        }
        if let Some(digest) = &reference.digest {
            return Ok((digest.clone(), String::new()));
        }
        // An exact version is its tag; Helm asks for no list then.
        if Version::parse_strict(version.trim_start_matches('v')).is_ok() {
            return Ok((tag_of(version), version.to_owned()));
        }
        let wanted = if version.is_empty() { "*" } else { version };
        let tags = self.tags(http, access, reference).await?;
        let mut known: Vec<(Version, &String)> =
            tags.iter().filter_map(|tag| Some((Version::parse(&tag.replace('_', "+")).ok()?, tag))).collect();
        known.sort_by(|(a, _), (b, _)| b.cmp(a));
        let constraint = Constraint::parse(wanted).ok();
        let fits =
            constraint.and_then(|constraint| known.iter().find(|(version, _)| constraint.check(version)));
        match fits {
            Some((_, tag)) => Ok(((*tag).clone(), tag.replace('_', "+"))),
            None => {
                let newest: Vec<&str> = known.iter().take(5).map(|(_, tag)| tag.as_str()).collect();
                let newest = if newest.is_empty() { "none".to_owned() } else { newest.join(", ") };
                Err(OciError::NoVersion { place: reference.place(), wanted: wanted.to_owned(), newest })
            }
        }
    }

    async fn tags(
        &self,
        http: &Http,
        access: &Access,
        reference: &Reference,
    ) -> Result<Vec<String>, OciError> {
        let mut tags = Vec::new();
        let mut path = format!("{}/tags/list?n=1000", reference.repository);
        for _ in 0..MOST_PAGES {
            let reply = self.get(http, access, reference, &path, "application/json", MANIFEST_LIMIT).await?;
            let page = json(&reply.body, &reference.place())?;
            let names = page["tags"].as_array().into_iter().flatten();
            tags.extend(names.filter_map(|tag| tag.as_str().map(str::to_owned)));
            // `</v2/name/tags/list?last=x&n=100>; rel="next"`
            let next = reply.header("link").and_then(|link| Some(link.split_once('<')?.1.split_once('>')?.0));
            let Some(next) = next.and_then(|link| link.split_once("/v2/")) else { break };
            path = next.1.to_owned();
        }
        Ok(tags)
    }

    /// Returns the manifest of a chart and its SHA-256; of an index, the first of its manifests that is one.
    async fn manifest(
        &self,
        http: &Http,
        access: &Access,
        reference: &Reference,
        named: &str,
    ) -> Result<(Json, String), OciError> {
        let mut open = vec![named.to_owned()];
        let mut looked_at = 0;
        while let Some(name) = open.pop() {
            looked_at += 1;
            if looked_at > MOST_PAGES {
                break;
            }
            let path = format!("{}/manifests/{name}", reference.repository);
            let accept = format!("{MANIFEST}, {INDEX}");
            let reply = self.get(http, access, reference, &path, &accept, MANIFEST_LIMIT).await?;
            let found = sha256(&reply.body);
            if name.starts_with("sha256:") && name != format!("sha256:{found}") {
                return Err(OciError::Digest { place: reference.place(), found, wanted: name });
            }
            let manifest = json(&reply.body, &reference.place())?;
            if manifest["config"]["mediaType"] == CONFIG {
                return Ok((manifest, found));
            }
            let inner = manifest["manifests"].as_array().into_iter().flatten().rev();
            open.extend(inner.filter_map(|entry| entry["digest"].as_str().map(str::to_owned)));
        }
        let (place, why) = (format!("{} {named}", reference.place()), "it is no chart".to_owned());
        Err(OciError::Malformed { place, why })
    }

    /// Asks the registry, with a token if it wants one.
    async fn get(
        &self,
        http: &Http,
        access: &Access,
        reference: &Reference,
        path: &str,
        accept: &str,
        limit: usize,
    ) -> Result<Reply, OciError> {
        let url = reference.base()?.join(path).map_err(|_| OciError::Reference(reference.place()))?;
        let headers = [(ACCEPT, HeaderValue::from_str(accept).unwrap_or(HeaderValue::from_static("*/*")))];
        let scope = format!("repository:{}:pull", reference.repository);
        let key = (reference.host.clone(), scope.clone());
        let known = self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        // Whoever asks is told what is wanted first: a password is not sent where a token is.
        let anonymous = Access { basic: None, bearer: None, ..access.clone() };
        let denied = |why: &str| OciError::Denied { host: reference.host.clone(), why: why.to_owned() };
        let told = |error: HttpError| match error.status() {
            Some(401 | 403) => denied("these credentials may not read it"),
            _ => OciError::Http(error),
        };
        let reply = http.get(&url, known.as_ref().unwrap_or(&anonymous), &headers, limit).await;
        let reply = match (reply, &known) {
            // The token may be too old.
            (Err(error), Some(_)) if error.status() == Some(401) => {
                http.get(&url, &anonymous, &headers, limit).await
            }
            (reply, _) => reply,
        };
        let reply = reply.map_err(told)?;
        if reply.status != 401 {
            return Ok(reply);
        }
        let challenge = reply.header("www-authenticate").unwrap_or_default().to_owned();
        let granted = match challenge.split_once(' ') {
            Some((kind, rest)) if kind.eq_ignore_ascii_case("bearer") => {
                self.token(http, access, reference, rest, &scope).await?
            }
            Some((kind, _)) if kind.eq_ignore_ascii_case("basic") && access.basic.is_some() => access.clone(),
            _ => return Err(denied("it wants credentials, and there are none for it")),
        };
        let reply = http.get(&url, &granted, &headers, limit).await.map_err(told)?;
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(key, granted);
        Ok(reply)
    }

    /// Fetches a token from where the registry says.
    async fn token(
        &self,
        http: &Http,
        access: &Access,
        reference: &Reference,
        challenge: &str,
        scope: &str,
    ) -> Result<Access, OciError> {
        let malformed =
            |why: &str| OciError::Malformed { place: reference.host.clone(), why: why.to_owned() };
        let parameters = parameters(challenge);
        let realm = parameters.get("realm").ok_or_else(|| malformed("it does not say where tokens are"))?;
        let mut url = web::address(realm, &mut Access::default())?;
        if reference.base()?.scheme() == "https" && url.scheme() != "https" {
            return Err(malformed("it wants a password sent without encryption"));
        }
        let scope = parameters.get("scope").map_or(scope, String::as_str);
        {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(parameters.get("service").map(|service| ("service", service)));
            query.append_pair("scope", scope);
        }
        let reply =
            http.get(&url, access, &[], MANIFEST_LIMIT).await.map_err(|error| match error.status() {
                Some(401 | 403) => OciError::Denied {
                    host: reference.host.clone(),
                    why: "it gives no token for these credentials".to_owned(),
                },
                _ => OciError::Http(error),
            })?;
        if reply.status == 401 {
            let why = "it wants credentials, and there are none for it".to_owned();
            return Err(OciError::Denied { host: reference.host.clone(), why });
        }
        let answer = json(&reply.body, &reference.host)?;
        let token = answer["token"].as_str().or(answer["access_token"].as_str());
        let token = token.ok_or_else(|| malformed("its token service gives no token"))?;
        Ok(Access { basic: None, bearer: Some(token.to_owned()), ..access.clone() })
    }
}

fn json(body: &[u8], place: &str) -> Result<Json, OciError> {
    serde_json::from_slice(body)
        .map_err(|_| OciError::Malformed { place: place.to_owned(), why: "the answer is no JSON".to_owned() })
}

/// Reads `key="value",key=value` of a challenge (RFC 9110, section 11.2).
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        out.insert(key.trim_matches([' ', ',']).to_ascii_lowercase(), value.trim().to_owned());
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_its_parts() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, expected) in [
            ("oci://r.example.org/charts/web".to_owned(), Some(("r.example.org", "charts/web", None, None))),
            (
                "oci://localhost:5000/web:1.2.3".to_owned(),
                Some(("localhost:5000", "web", Some("1.2.3"), None)),
            ),
            (format!("oci://r/a/b:1@{digest}"), Some(("r", "a/b", Some("1"), Some(digest.as_str())))),
            ("oci://r".to_owned(), None),
            ("oci://r/".to_owned(), None),
            ("oci://r/a//b".to_owned(), None),
            ("oci://r/a?b".to_owned(), None),
            ("oci://u:p@r/a".to_owned(), None),
            ("oci://r/a@sha256:zz".to_owned(), None),
            ("https://r/a".to_owned(), None),
        ] {
            let found = Reference::parse(&text).ok();
            let told = found.as_ref().map(|found| {
                (
                    found.host.as_str(),
                    found.repository.as_str(),
                    found.tag.as_deref(),
                    found.digest.as_deref(),
                )
            });
            assert_eq!(told, expected, "{text}");
        }
    }

    #[test]
    fn a_challenge_has_its_parameters() {
        let found = parameters(
            r#"realm="https://auth.example.org/token?a=b",service="r,x", scope=repository:a:pull"#,
        );
        let expected = [
            ("realm", "https://auth.example.org/token?a=b"),
            ("scope", "repository:a:pull"),
            ("service", "r,x"),
        ];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    }
}
