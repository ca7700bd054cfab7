//! Credentials for registries, as `docker login` and `helm registry login` keep them.
//!
//! Source: docker/cli `cli/config`, docker/docker-credential-helpers. A helper is named by the user's own configuration,
//! never by a desired-state file.

use std::collections::BTreeMap;
use std::process::Stdio;

use base64::Engine as _;
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// A `config.json`, as far as it is about credentials.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DockerConfig {
    auths: BTreeMap<String, Auth>,
    creds_store: String,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Auth {
    auth: String,
    username: String,
    password: String,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Auth")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

impl DockerConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// It is no such file; its content is not shown.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes)
            .map_err(|error| format!("line {}: not a configuration of docker", error.line()))
    }

    /// Returns user name and password for a registry; nothing if there are none for it.
    ///
    /// # Errors
    /// The helper that the file names for it does not work.
    pub async fn credentials(&self, host: &str) -> Result<Option<(String, String)>, String> {
        let helper = self.cred_helpers.get(host).or(Some(&self.creds_store)).filter(|name| !name.is_empty());
        if let Some(helper) = helper
            && let Some(found) = ask(helper, host).await?
        {
            return Ok(Some(found));
        }
        Ok(self.stored(host))
    }

    fn stored(&self, host: &str) -> Option<(String, String)> {
        // Entries are hosts, or addresses such as `https://index.docker.io/v1/`.
        let is_host = |key: &str| {
            let bare = key.split_once("://").map_or(key, |(_, rest)| rest);
            bare.split('/').next() == Some(host)
        };
        let entry = self.auths.iter().find(|(key, _)| is_host(key))?.1;
        if !entry.username.is_empty() {
            return Some((entry.username.clone(), entry.password.clone()));
        }
        let bytes = base64::engine::general_purpose::STANDARD.decode(entry.auth.trim()).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (user, password) = text.split_once(':')?;
        Some((user.to_owned(), password.trim_end_matches('\0').to_owned()))
    }
}

/// Asks `docker-credential-NAME get`. What it prints on failure may hold secrets and is not shown.
async fn ask(helper: &str, host: &str) -> Result<Option<(String, String)>, String> {
    let program = format!("docker-credential-{helper}");
    if !helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        return Err(format!("`{helper}` is not the name of a credential helper"));
    }
    let failed = |error: std::io::Error| format!("{program} cannot be run: {error}");
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A helper that ends before it has read everything tells so by its exit code.
        drop(input.write_all(host.as_bytes()).await);
    }
    let output = child.wait_with_output().await.map_err(failed)?;
    if !output.status.success() {
        // Helpers say "not found" in this way.
        let said = String::from_utf8_lossy(&output.stdout);
        return match said.contains("credentials not found") {
            true => Ok(None),
            false => Err(format!("{program} does not answer for {host} ({})", output.status)),
        };
    }
    let answer: Answer = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{program} gives no credentials for {host}"))?;
    if answer.username == "<token>" {
        return Err(format!("{program} gives an identity token for {host}, which is not supported"));
    }
    Ok(Some((answer.username, answer.secret)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stored_credentials_are_found_by_host() {
        let config = DockerConfig::read(
            br#"{"auths":{"r.example.org":{"auth":"dTpwOng="},"https://index.docker.io/v1/":{"username":"a","password":"b"},
                "empty.example.org":{}},"credHelpers":{"bad.example.org":"no/such"},"HttpHeaders":{"x":"y"}}"#,
        )
        .unwrap();
        let found = |host: &'static str| {
            let config = config.clone();
            async move {
                config
                    .credentials(host)
                    .await
                    .map(|found| found.map(|(user, password)| format!("{user} {password}")))
            }
        };
        assert_eq!(found("r.example.org").await, Ok(Some("u p:x".to_owned())));
        assert_eq!(found("index.docker.io").await, Ok(Some("a b".to_owned())));
        assert_eq!(found("empty.example.org").await, Ok(None));
        assert_eq!(found("r.example.org.evil").await, Ok(None));
        assert!(found("bad.example.org").await.is_err());
        assert!(!format!("{config:?}").contains("dTpw"));
        assert!(DockerConfig::read(b"{\"auths\": 3}").unwrap_err().starts_with("line 1"));
    }
}
