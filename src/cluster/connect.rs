//! Finds the cluster and makes the client: kubeconfig, in-cluster account, proxies, credential plugins.

use std::path::PathBuf;
use std::time::Duration;

use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster,
    NamedContext,
};

use super::read::Reader;

/// Which cluster is meant.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// `--kubeconfig`; without it `KUBECONFIG`, then the user's file, then the pod's account.
    pub kubeconfig: Option<PathBuf>,
    /// The context to use; without it the kubeconfig's current one.
    pub context: Option<String>,
    /// The user as whom everything is asked, in the name of who asks; nothing for who asks.
    pub user: Option<String>,
    /// The groups of that user.
    pub groups: Vec<String>,
    /// A cluster that is described here, unless a context of the name is there.
    pub described: Option<Described>,
    /// How long one request may take, connection and body included; nothing for the usual limit.
    pub request_timeout: Option<Duration>,
}

/// A cluster that no kubeconfig has to describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The URL of the API server.
    pub server: String,
    /// The file with the certificate of its authority.
    pub authority: PathBuf,
    /// The token of who asks.
    pub token: Option<Token>,
    /// The files with the certificate and the key of who asks.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// A token, and how it is read.
#[derive(Clone, PartialEq, Eq)]
pub enum Token {
    /// Again and again, from a file that somebody renews.
    File(PathBuf),
    /// Once.
    Text(String),
}

impl std::fmt::Debug for Token {
    /// Leaves the token out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// A client whose cluster is known.
pub struct Connection {
    /// The way to read.
    pub reader: Reader,
    /// The server's address.
    pub server: String,
    /// The kubeconfig context.
    pub context: Option<String>,
}

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read, or has no such context.
    #[error("kubeconfig: {}", kubeconfig_problem(source))]
    Kubeconfig {
        /// What is wrong with it.
        source: Box<KubeconfigError>,
        /// The contexts that exist.
        known: Vec<String>,
        /// The context that was asked for.
        asked: Option<String>,
    },
    /// Neither a kubeconfig nor a pod's service account.
    #[error("no cluster: there is no kubeconfig and this is not a pod of a cluster")]
    NoCluster,
    /// The kubeconfig says one thing and the files another.
    #[error("the context `{context}` of the kubeconfig leads to {server}, and not to {described}")]
    OtherServer {
        /// The context.
        context: String,
        /// Where it leads to.
        server: String,
        /// Where it should lead to.
        described: String,
    },
    /// TLS material, proxy or credential plugin.
    #[error("cannot make a client for {server}")]
    Client {
        /// The server's address.
        server: String,
        /// What is wrong.
        #[source]
        source: Box<kube::Error>,
    },
}

impl ConnectError {
    /// Returns the way out.
    pub fn hint(&self) -> String {
        match self {
            ConnectError::Kubeconfig { known, asked: Some(asked), .. } if !known.is_empty() => {
                format!("`{asked}` is not one of the contexts there are: {}", known.join(", "))
            }
            ConnectError::Kubeconfig { known, .. } if !known.is_empty() => {
                format!(
                    "name a context with `--kube-context` or `settings.kubeContext`: {}",
                    known.join(", ")
                )
            }
            ConnectError::Kubeconfig { .. } | ConnectError::NoCluster => {
                "set KUBECONFIG, or name the file with `--kubeconfig FILE`".to_owned()
            }
            ConnectError::OtherServer { .. } => {
                "correct `settings.clusterURI`, or name another `settings.kubeContext`".to_owned()
            }
            ConnectError::Client { .. } => {
                "check the certificates, the proxy and the credential plugin of this context".to_owned()
            }
        }
    }
}

fn kubeconfig_problem(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::CurrentContextNotSet => "no current context is set".to_owned(),
        KubeconfigError::LoadContext(context) => format!("there is no context `{context}`"),
        other => other.to_string(),
    }
}

/// Reads the kubeconfig that `options` mean.
fn kubeconfig_of(options: &ConnectOptions) -> Result<Kubeconfig, ConnectError> {
    let read = match &options.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    read.map_err(|source| ConnectError::Kubeconfig {
        source: Box::new(source),
        known: Vec::new(),
        asked: options.context.clone(),
    })
}

/// Returns what there is if it has the context, else a kubeconfig of the described cluster; it is never written.
fn in_place_of(
    found: Result<Kubeconfig, ConnectError>,
    described: &Described,
    options: &ConnectOptions,
) -> Result<Kubeconfig, ConnectError> {
    let has_context = |found: &Kubeconfig| {
        options
            .context
            .as_ref()
            .is_some_and(|name| found.contexts.iter().any(|context| context.name == *name))
    };
    match found {
        Ok(found) if has_context(&found) => return Ok(found),
        Err(error) if !is_absent(&error) => return Err(error),
        _ => {}
    }
    let text = |path: &PathBuf| Some(path.display().to_string());
    let name = options.context.clone().unwrap_or_else(|| described.server.clone());
    let cluster = Cluster {
        server: Some(described.server.clone()),
        certificate_authority: text(&described.authority),
        ..Cluster::default()
    };
    let (token_file, token) = match &described.token {
        Some(Token::File(path)) => (text(path), None),
        Some(Token::Text(token)) => (None, Some(token.clone().into())),
        None => (None, None),
    };
    let user = AuthInfo {
        token_file,
        token,
        client_certificate: described.identity.as_ref().and_then(|(certificate, _)| text(certificate)),
        client_key: described.identity.as_ref().and_then(|(_, key)| text(key)),
        ..AuthInfo::default()
    };
    let context = Context { cluster: name.clone(), user: Some(name.clone()), ..Context::default() };
    Ok(Kubeconfig {
        clusters: vec![NamedCluster {
            name: name.clone(),
            cluster: Some(cluster),
            other: Default::default(),
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.clone(),
            auth_info: Some(user),
            other: Default::default(),
        }],
        contexts: vec![NamedContext {
            name: name.clone(),
            context: Some(context),
            other: Default::default(),
        }],
        current_context: Some(name),
        ..Kubeconfig::default()
    })
}

/// Tells whether there is no kubeconfig at all.
fn is_absent(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Kubeconfig { source, .. }
        if matches!(&**source, KubeconfigError::ReadConfig(io, _) if io.kind() == std::io::ErrorKind::NotFound)
            || matches!(&**source, KubeconfigError::FindPath))
}

/// Makes a client for the cluster that `options` mean; no request is sent to it yet.
///
/// A named context or file is never replaced by another cluster: only when nothing is named and there is no
/// kubeconfig at all, the account of the surrounding pod is used.
pub async fn connect(options: &ConnectOptions) -> Result<Connection, ConnectError> {
    let kubeconfig = match &options.described {
        Some(described) => in_place_of(kubeconfig_of(options), described, options),
        None => kubeconfig_of(options),
    };
    let (mut config, context) = match kubeconfig {
        Ok(kubeconfig) => {
            let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
            let named = kubeconfig.current_context.clone();
            // One that was made up has no name.
            let is_real = |name: &String| options.described.as_ref().is_none_or(|made| made.server != *name);
            let context = options.context.clone().or_else(|| named.filter(is_real));
            let selection = KubeConfigOptions { context: options.context.clone(), ..Default::default() };
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &selection).await;
            let config = config.map_err(|source| ConnectError::Kubeconfig {
                source: Box::new(source),
                known,
                asked: options.context.clone(),
            })?;
            (config, context)
        }
        Err(error) => {
            let named = options.kubeconfig.is_some() || options.context.is_some();
            if named || !is_absent(&error) {
                return Err(error);
            }
            (kube::Config::incluster().map_err(|_| ConnectError::NoCluster)?, None)
        }
    };
    // Repetitions are decided here, per request: kube's own policy would repeat writes after a 504.
    config.default_retry = false;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    if let Some(described) = options.described.as_ref().filter(|described| described.server != server) {
        let (context, described) = (context.unwrap_or_default(), described.server.clone());
        return Err(ConnectError::OtherServer { context, server, described });
    }
    if let Some(user) = &options.user {
        config.auth_info.impersonate = Some(user.clone());
        config.auth_info.impersonate_groups = (!options.groups.is_empty()).then(|| options.groups.clone());
    }
    let client = kube::Client::try_from(config)
        .map_err(|source| ConnectError::Client { server: server.clone(), source: Box::new(source) })?;
    Ok(Connection { reader: Reader::new(client, options.request_timeout), server, context })
}
