//! The cluster of a run, once it has answered.

use crate::cluster::{ConnectOptions, Described, Discovery, Reader, Token};
use crate::dsf::state::{ClusterCredential, DesiredState};
use crate::host::{files, secrets};
use crate::model::ClusterIdentity;

/// A cluster that answers.
pub(super) struct Cluster {
    pub(super) reader: Reader,
    pub(super) discovery: Discovery,
    pub(super) identity: ClusterIdentity,
}

/// Returns the cluster that a desired-state file describes, unless one is named on the command line or for a release:
/// whoever does that means that one. What is wrong with its files is told when they are used.
pub(super) fn described(
    state: &DesiredState,
    options: &ConnectOptions,
    of_release: bool,
) -> Option<Described> {
    let is_named = options.context.is_some() || options.kubeconfig.is_some() || of_release;
    let access = state.settings.cluster.as_ref().filter(|_| !is_named)?;
    let (token, identity) = match &access.credential {
        ClusterCredential::Token(path) => {
            let text = files::read_text(path).unwrap_or_default();
            let token = text.trim();
            secrets::learn(token);
            // The client takes a file to the letter, with a line break at its end.
            let token = if token == text { Token::File(path.clone()) } else { Token::Text(token.to_owned()) };
            (Some(token), None)
        }
        ClusterCredential::Certificate { certificate, key } => {
            (None, Some((certificate.clone(), key.clone())))
        }
    };
    Some(Described { server: access.server.clone(), authority: access.authority.clone(), token, identity })
}
