//! Secrets in the key-value stores of Vault and OpenBao, over their HTTP API.
//!
//! Which server is asked, and with which token, is said by the environment only. Of a store it is asked first whether it
//! keeps versions, as the command line of Vault does (`sys/internal/ui/mounts`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::header::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;

use super::http::{Access, Http, HttpError, address};

const NAMESPACE: HeaderName = HeaderName::from_static("x-vault-namespace");
/// Servers may want it, so that nobody is led to ask unknowingly.
const REQUEST: HeaderName = HeaderName::from_static("x-vault-request");
/// Vault itself keeps no larger ones.
const LIMIT: usize = 4 << 20;
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// Where the settings of a client come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultFiles {
    /// The token, if no variable holds it.
    pub token: Option<PathBuf>,
    /// The certificates of authorities.
    pub authorities: Option<PathBuf>,
    /// The certificate and the key of the client.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Returns the value of a setting: OpenBao's own variable before that of Vault.
fn variable<'e>(environment: &'e BTreeMap<String, String>, name: &str) -> Option<&'e str> {
    let given = ["BAO", "VAULT"].into_iter().find_map(|start| environment.get(&format!("{start}_{name}")));
    given.map(String::as_str).filter(|value| !value.is_empty())
}

/// Returns the files that the settings name.
pub fn files(environment: &BTreeMap<String, String>) -> VaultFiles {
    let path = |name: &str| variable(environment, name).map(PathBuf::from);
    let home = environment.get("HOME").filter(|home| !home.is_empty());
    let token = home.filter(|_| variable(environment, "TOKEN").is_none());
    VaultFiles {
        token: token.map(|home| PathBuf::from(home).join(".vault-token")),
        authorities: path("CACERT"),
        identity: path("CLIENT_CERT").zip(path("CLIENT_KEY")),
    }
}

/// Why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// Something is missing in the environment, or cannot be done.
    #[error("{0}")]
    Settings(String),
    /// The server cannot be asked.
    #[error("the vault cannot be asked")]
    Http(#[source] HttpError),
    /// The server refuses.
    #[error("{0}")]
    Refused(String),
    /// The server's answer has not the form that it should have.
    #[error("the vault's answer cannot be read")]
    Answer,
}

/// A client of one server.
pub struct Vault {
    http: Http,
    address: reqwest::Url,
    access: Access,
    namespace: Option<String>,
}

impl Vault {
    /// Makes a client from the environment and the content of the files that it names.
    ///
    /// # Errors
    /// There is no address or no token.
    pub fn new(
        environment: &BTreeMap<String, String>,
        token: Option<String>,
        authorities: Option<Vec<u8>>,
        identity: Option<Vec<u8>>,
    ) -> Result<Self, VaultError> {
        let missing = |what: &str| VaultError::Settings(what.to_owned());
        if variable(environment, "SKIP_VERIFY").is_some_and(|value| !matches!(value, "0" | "false")) {
            return Err(missing(
                "`VAULT_SKIP_VERIFY` is not followed; name the certificate of the authority in `VAULT_CACERT`",
            ));
        }
        let given = variable(environment, "ADDR");
        let given = given.ok_or_else(|| missing("no vault is known: `VAULT_ADDR` is not set"))?;
        let token = variable(environment, "TOKEN").map(str::to_owned).or(token);
        let token = token.ok_or_else(|| {
            missing("there is no token for the vault: neither `VAULT_TOKEN` nor the file `.vault-token`")
        })?;
        let mut access =
            Access { bearer: Some(token.trim().to_owned()), authorities, identity, ..Access::default() };
        let address = address(given, &mut access).map_err(VaultError::Http)?;
        let namespace = variable(environment, "NAMESPACE").map(str::to_owned);
        Ok(Self { http: Http::default(), address, access, namespace })
    }

    /// Returns the token that it asks with.
    pub fn token(&self) -> &str {
        self.access.bearer.as_deref().unwrap_or_default()
    }

    /// Returns a secret: its values by their keys.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    pub async fn secret(
        &self,
        path: &str,
        version: Option<u64>,
        namespace: Option<&str>,
    ) -> Result<Json, VaultError> {
        let mount = match self.ask(&format!("sys/internal/ui/mounts/{path}"), None, namespace).await {
            Ok(answer) => Some(answer),
            // A server that is too old to tell keeps no versions.
            Err(error) if status(&error) == Some(404) => None,
            Err(error) => return Err(told(error, path)),
        };
        let mount = mount.as_ref().map(|answer| &answer["data"]);
        let versioned = mount.filter(|mount| mount["options"]["version"] == "2");
        let Some(mount) = versioned else {
            if version.is_some() {
                return Err(VaultError::Refused("the store keeps no versions".to_owned()));
            }
            let answer = self.ask(path, None, namespace).await.map_err(|error| told(error, path))?;
            return Ok(answer["data"].clone());
        };
        let mount = mount["path"].as_str().ok_or(VaultError::Answer)?.trim_end_matches('/');
        let below = path.strip_prefix(mount).ok_or(VaultError::Answer)?;
        let place = format!("{mount}/data{below}");
        let answer = self.ask(&place, version, namespace).await.map_err(|error| told(error, path))?;
        Ok(answer["data"]["data"].clone())
    }

    async fn ask(
        &self,
        path: &str,
        version: Option<u64>,
        namespace: Option<&str>,
    ) -> Result<Json, VaultError> {
        let mut url = self.address.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/v1/{}", utf8_percent_encode(path, SEGMENT)));
        if let Some(version) = version {
            url.set_query(Some(&format!("version={version}")));
        }
        let mut headers = vec![(REQUEST, HeaderValue::from_static("true"))];
        if let Some(namespace) = namespace.or(self.namespace.as_deref()) {
            let value = HeaderValue::from_str(namespace);
            headers.push((
                NAMESPACE,
                value.map_err(|_| VaultError::Settings("the namespace is no name".to_owned()))?,
            ));
        }
        let reply = self.http.get(&url, &self.access, &headers, LIMIT).await.map_err(VaultError::Http)?;
        serde_json::from_slice(&reply.body).map_err(|_| VaultError::Answer)
    }
}

fn status(error: &VaultError) -> Option<u16> {
    match error {
        VaultError::Http(error) => error.status(),
        _ => None,
    }
}

/// Says what a refusal means.
fn told(error: VaultError, path: &str) -> VaultError {
    let why = match status(&error) {
        Some(403) => "the token may not read it, or is none of this vault",
        Some(404) => "there is no such secret",
        Some(503) => "the vault is sealed",
        _ => return error,
    };
    VaultError::Refused(format!("{path}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_come_from_the_environment() {
        let made = |pairs: &[(&str, &str)]| Vault::new(&environment(pairs), None, None, None);
        let address = ("VAULT_ADDR", "https://vault.example.org/x/");
        for (pairs, part) in [
            (&[][..], "`VAULT_ADDR` is not set"),
            (&[address][..], "there is no token"),
            (&[address, ("VAULT_TOKEN", "t"), ("VAULT_SKIP_VERIFY", "true")][..], "`VAULT_SKIP_VERIFY`"),
        ] {
            let text = made(pairs).err().unwrap().to_string();
            assert!(text.contains(part), "{text}");
        }
        let vault = made(&[address, ("BAO_ADDR", "http://bao"), ("VAULT_TOKEN", "t\n")]).unwrap();
        assert_eq!((vault.address.as_str(), vault.token()), ("http://bao/", "t"));
        let found = files(&environment(&[("HOME", "/home/me"), ("VAULT_CACERT", "ca.pem")]));
        assert_eq!(found.token, Some("/home/me/.vault-token".into()));
        assert_eq!(found.authorities, Some("ca.pem".into()));
        assert_eq!(files(&environment(&[("HOME", "/home/me"), ("VAULT_TOKEN", "t")])).token, None);
    }
}
