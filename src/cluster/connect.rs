//! Finds the cluster and makes the client: kubeconfig, in-cluster account, proxies, credential plugins.

use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::read::Reader;

/// Which cluster is meant.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// `--kubeconfig`; without it `KUBECONFIG`, then the user's file, then the pod's account.
    pub kubeconfig: Option<PathBuf>,
    /// The context to use; without it the kubeconfig's current one.
    pub context: Option<String>,
    /// How long one request may take, connection and body included; nothing for the usual limit.
    pub request_timeout: Option<Duration>,
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

/// Makes a client for the cluster that `options` mean; no request is sent to it yet.
///
/// A named context or file is never replaced by another cluster: only when nothing is named and there is no
/// kubeconfig at all, the account of the surrounding pod is used.
pub async fn connect(options: &ConnectOptions) -> Result<Connection, ConnectError> {
    let (mut config, context) = match kubeconfig_of(options) {
        Ok(kubeconfig) => {
            let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
            let context = options.context.clone().or_else(|| kubeconfig.current_context.clone());
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
            let absent = matches!(&error, ConnectError::Kubeconfig { source, .. }
                if matches!(&**source, KubeconfigError::ReadConfig(io, _) if io.kind() == std::io::ErrorKind::NotFound)
                    || matches!(&**source, KubeconfigError::FindPath));
            if named || !absent {
                return Err(error);
            }
            (kube::Config::incluster().map_err(|_| ConnectError::NoCluster)?, None)
        }
    };
    // Repetitions are decided here, per request: kube's own policy would repeat writes after a 504.
    config.default_retry = false;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = kube::Client::try_from(config)
        .map_err(|source| ConnectError::Client { server: server.clone(), source: Box::new(source) })?;
    Ok(Connection { reader: Reader::new(client, options.request_timeout), server, context })
}
