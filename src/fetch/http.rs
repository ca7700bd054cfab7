//! Files from web servers: with credentials that go nowhere else, bounded, and asked for again only where that helps.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use futures::StreamExt as _;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Identity, Url};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// How often a request is sent.
const ATTEMPTS: u32 = 4;
/// The first pause before a request is sent again; it doubles.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Redirects in a row, as in Go's `net/http`.
const MOST_REDIRECTS: usize = 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest silence while a body is read.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// How a server is asked: who asks, and which authorities vouch for it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// User name and password.
    pub basic: Option<(String, String)>,
    /// A token.
    pub bearer: Option<String>,
    /// Certificates in PEM of the authorities that are trusted besides those of the machine.
    pub authorities: Option<Vec<u8>>,
    /// A client certificate and its key in PEM.
    pub identity: Option<Vec<u8>>,
}

impl fmt::Debug for Access {
    /// Leaves out everything that is secret, which is nearly all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("basic", &self.basic.is_some()).finish_non_exhaustive()
    }
}

/// Access whose credentials are for one host.
pub struct Bound {
    access: Access,
    host: Url,
}

impl Bound {
    /// Returns the access that an address gets: credentials of a repository are for its own host (Helm without
    /// `--pass-credentials`).
    pub fn towards(&self, url: &Url) -> Access {
        if url.origin() == self.host.origin() {
            return self.access.clone();
        }
        Access { authorities: self.access.authorities.clone(), ..Access::default() }
    }
}

impl Access {
    /// Binds the credentials to the host of an address.
    pub fn only_for(self, url: &Url) -> Bound {
        Bound { access: self, host: url.clone() }
    }

    /// Returns the value of the header that says who asks.
    fn authorization(&self) -> Option<HeaderValue> {
        let text = match (&self.bearer, &self.basic) {
            (Some(token), _) => format!("Bearer {token}"),
            (None, Some((user, password))) => {
                let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
                format!("Basic {pair}")
            }
            (None, None) => return None,
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
pub struct Reply {
    /// The status: 200, or 304 where an `ETag` was sent, or 401.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// Returns a header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why a file did not arrive. Addresses are shown without user, password and query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address is none.
    #[error("`{0}` is not the address of a web server")]
    Address(String),
    /// A certificate or key cannot be used.
    #[error("the {what} for {host} cannot be used")]
    Material {
        /// Which.
        what: &'static str,
        /// For which server.
        host: String,
        /// Why not.
        #[source]
        source: reqwest::Error,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("{url} cannot be read")]
    Transport {
        /// What was asked for.
        url: String,
        /// What went wrong.
        #[source]
        source: reqwest::Error,
    },
    /// The server refuses.
    #[error("{url} answers {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The answer.
        status: u16,
    },
    /// It is larger than anything of its kind.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        /// What was asked for.
        url: String,
        /// How much is read at most.
        limit: usize,
    },
    /// Redirects lead nowhere.
    #[error("{url}: {why}")]
    Redirect {
        /// Where it began.
        url: String,
        /// What is wrong.
        why: String,
    },
}

impl HttpError {
    /// Returns what went wrong without the address, which may be a secret.
    pub fn reason(&self) -> String {
        match self {
            HttpError::Transport { source, .. } if source.is_timeout() => {
                "it did not answer in time".to_owned()
            }
            HttpError::Transport { source, .. } | HttpError::Material { source, .. } => {
                let text = source.to_string();
                let causes = crate::failure::chain(&text, std::error::Error::source(source));
                std::iter::once(text).chain(causes).collect::<Vec<_>>().join(": ")
            }
            HttpError::Status { status, .. } => format!("it answers {status}"),
            HttpError::Address(_) => "it is no address of a web server".to_owned(),
            HttpError::TooLarge { .. } | HttpError::Redirect { .. } => "its answer makes no sense".to_owned(),
        }
    }

    /// Returns the status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            HttpError::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Authorities and identity: what a client works with.
type Material = (Option<Vec<u8>>, Option<Vec<u8>>);

/// A client for any number of servers.
#[derive(Default)]
pub struct Http {
    /// By the certificates that they work with.
    clients: Mutex<BTreeMap<Material, Client>>,
}

/// Returns an address as messages may show it: what may be secret is left out.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for addresses without a host, which hold neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// Reads an address; user and password in it become part of the access.
///
/// # Errors
/// It is no address of a web server.
pub fn address(text: &str, access: &mut Access) -> Result<Url, HttpError> {
    let bad = || HttpError::Address(text.split('@').next_back().unwrap_or_default().to_owned());
    let mut url = Url::parse(text).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad());
    }
    if !url.username().is_empty() {
        let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let given = (plain(url.username()), plain(url.password().unwrap_or_default()));
        access.basic.get_or_insert(given);
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    Ok(url)
}

impl Http {
    /// Gets a file of at most `limit` bytes. Credentials of `access` go to the host of `url` only, wherever it redirects
    /// to. A 401 is an answer, so that a registry can say what it wants; anything else but 200 and 304 is an error.
    ///
    /// # Errors
    /// It did not arrive, after several attempts where that can help.
    pub async fn get(
        &self,
        url: &Url,
        access: &Access,
        headers: &[(HeaderName, HeaderValue)],
        limit: usize,
    ) -> Result<Reply, HttpError> {
        let mut pause = PAUSE;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let answer = self.follow(url, access, headers, limit).await;
            let wait = match &answer {
                Err((HttpError::Transport { source, .. }, _)) if !source.is_builder() => Some(pause),
                Err((HttpError::Status { status: 429 | 500 | 502 | 503 | 504, .. }, asked)) => {
                    Some(asked.unwrap_or(pause).min(LONGEST_PAUSE))
                }
                _ => None,
            };
            match wait.filter(|_| attempt < ATTEMPTS) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return answer.map_err(|(error, _)| error),
            }
            pause *= 2;
        }
    }

    /// Posts JSON, once, and returns the status of the answer. Redirects are not followed.
    ///
    /// # Errors
    /// There was no answer in time.
    pub async fn post_json(
        &self,
        url: &Url,
        access: &Access,
        body: String,
        timeout: Duration,
    ) -> Result<u16, HttpError> {
        self.post(url, access, "application/json", body, timeout).await
    }

    /// Posts a text, with the user and password of `access` if there are any, and returns the status of the answer.
    ///
    /// # Errors
    /// Nobody answered in time.
    pub async fn post_text(
        &self,
        url: &Url,
        access: &Access,
        body: String,
        timeout: Duration,
    ) -> Result<u16, HttpError> {
        self.post(url, access, "text/plain; version=0.0.4", body, timeout).await
    }

    async fn post(
        &self,
        url: &Url,
        access: &Access,
        kind: &str,
        body: String,
        timeout: Duration,
    ) -> Result<u16, HttpError> {
        let client = self.client(url, access)?;
        let mut request = client.post(url.clone()).timeout(timeout).header(CONTENT_TYPE, kind);
        if let Some(value) = access.authorization() {
            request = request.header(AUTHORIZATION, value);
        }
        let sent = request.body(body).send().await;
        let failed =
            |source: reqwest::Error| HttpError::Transport { url: shown(url), source: source.without_url() };
        sent.map(|answer| answer.status().as_u16()).map_err(failed)
    }

    /// Sends one request, and those that its redirects ask for. With an error comes the pause that the server asks for.
    async fn follow(
        &self,
        url: &Url,
        access: &Access,
        headers: &[(HeaderName, HeaderValue)],
        limit: usize,
    ) -> Result<Reply, (HttpError, Option<Duration>)> {
        let client = self.client(url, access).map_err(|error| (error, None))?;
        let redirected = |why: String| (HttpError::Redirect { url: shown(url), why }, None);
        let mut place = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut request = client.get(place.clone());
            for (name, value) in headers {
                request = request.header(name.clone(), value.clone());
            }
            if place.origin() == url.origin()
                && let Some(value) = access.authorization()
            {
                request = request.header(AUTHORIZATION, value);
            }
            let failed = |source: reqwest::Error| {
                (HttpError::Transport { url: shown(&place), source: source.without_url() }, None)
            };
            let response = request.send().await.map_err(failed)?;
            let status = response.status().as_u16();
            if matches!(status, 301 | 302 | 303 | 307 | 308) {
                let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                let target = target.and_then(|target| place.join(target).ok());
                let target = target.ok_or_else(|| redirected("it redirects to nowhere".to_owned()))?;
                if !matches!(target.scheme(), "https" | "http") {
                    return Err(redirected(format!("it redirects to a place of kind `{}`", target.scheme())));
                }
                if place.scheme() == "https" && target.scheme() == "http" {
                    return Err(redirected(format!(
                        "it redirects to {}, without encryption",
                        shown(&target)
                    )));
                }
                place = target;
                continue;
            }
            if !matches!(status, 200 | 304 | 401) || (status == 401 && access.authorization().is_some()) {
                let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let asked = asked.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
                return Err((HttpError::Status { url: shown(&place), status }, asked));
            }
            let headers = response.headers().clone();
            let mut body = Vec::new();
            let mut stream = response.bytes_stream();
            while let Some(part) = stream.next().await {
                let part = part.map_err(failed)?;
                if body.len() + part.len() > limit {
                    return Err((HttpError::TooLarge { url: shown(&place), limit }, None));
                }
                body.extend_from_slice(&part);
            }
            return Ok(Reply { status, headers, body });
        }
        Err(redirected(format!("more than {MOST_REDIRECTS} redirects in a row")))
    }

    fn client(&self, url: &Url, access: &Access) -> Result<Client, HttpError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (access.authorities.clone(), access.identity.clone());
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let bad = |what: &'static str| {
            let host = host.clone();
            move |source: reqwest::Error| HttpError::Material { what, host, source }
        };
        use_ring();
        let made = |bundled: bool| -> Result<Client, HttpError> {
            let mut builder = Client::builder()
                .redirect(Policy::none())
                .connect_timeout(CONNECT_TIMEOUT)
                .read_timeout(READ_TIMEOUT)
                .user_agent(concat!("statectl/", env!("CARGO_PKG_VERSION")));
            let mut own = Vec::new();
            if let Some(pem) = &access.authorities {
                own = Certificate::from_pem_bundle(pem).map_err(bad("authority's certificate"))?;
            }
            if bundled {
                let known = TLS_SERVER_ROOT_CERTS.iter().map(|root| Certificate::from_der(root));
                own.extend(known.collect::<Result<Vec<_>, _>>().map_err(bad("bundled certificates"))?);
                builder = builder.tls_certs_only(own);
            } else if !own.is_empty() {
                builder = builder.tls_certs_merge(own);
            }
            if let Some(pem) = &access.identity {
                builder = builder.identity(Identity::from_pem(pem).map_err(bad("client certificate"))?);
            }
            builder.build().map_err(bad("TLS settings"))
        };
        // A machine without authorities of its own, as an empty image, trusts those that are built in.
        let client = made(false).or_else(|error| made(true).map_err(|_| error))?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

/// The TLS library has no cryptography of its own; it is told once which one to use.
fn use_ring() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Whoever was faster chose one as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        let mut access = Access::default();
        let url = address("https://me%40x:p%3Ass@example.org/charts?token=abc#x", &mut access).unwrap();
        assert_eq!(access.basic, Some(("me@x".to_owned(), "p:ss".to_owned())));
        assert_eq!(shown(&url), "https://example.org/charts");
        assert!(!format!("{access:?}").contains("p:ss"));
        for bad in ["charts", "ftp://example.org", "https://", "https://user:secret@"] {
            let text = address(bad, &mut Access::default()).unwrap_err().to_string();
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
