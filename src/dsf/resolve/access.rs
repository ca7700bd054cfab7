//! Keys that say who is asked and with which credentials: a cluster that no kubeconfig describes, and the key of eyaml.
//!
//! Whether the files are there is seen when they are used: they belong to the machine of the run, and files are looked at on
//! others too.

use super::Resolver;
use crate::dsf::files;
use crate::dsf::notes::NoteCode;
use crate::dsf::problems::{Code, Problem};
use crate::dsf::raw::{At, Given, RawCertificates, RawSettings};
use crate::dsf::state::{ClusterAccess, ClusterCredential, Eyaml};
use crate::dsf::tree::Text;
use crate::text::Span;
use std::path::{Path, PathBuf};

/// Where a pod finds the token of its account; Helmsman's default as well.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/// Where eyaml looks by itself.
const EYAML_KEY: &str = "keys/private_key.pkcs7.pem";

impl Resolver<'_, '_, '_, '_> {
    /// Returns the cluster that the file describes by itself (Helmsman: the context that it makes from these keys).
    pub(super) fn cluster_access(
        &mut self,
        settings: &RawSettings,
        certificates: RawCertificates,
    ) -> Option<ClusterAccess> {
        let server = settings.cluster_uri.clone().filter(|at| !at.value.value.is_empty());
        let wants_token = settings.bearer_token.as_ref().filter(|at| at.value);
        let RawCertificates { ca_crt, ca_key, ca_client } = certificates;
        let given = |file: Given<Text>| file.filter(|at| !at.value.value.is_empty());
        let (ca_crt, ca_key, ca_client) = (given(ca_crt), given(ca_key), given(ca_client));
        let Some(server) = server else {
            if let Some(at) = wants_token {
                let message = "the token is for the cluster of `clusterURI`, which is missing";
                self.problem(Code::MissingKey, "settings.bearerToken", message, at.span);
            }
            if let Some(at) = ca_crt.or(ca_key).or(ca_client) {
                let message = "without `settings.clusterURI` the kubeconfig says which certificates count";
                self.report.note(NoteCode::DiffersFromHelmsman, "certificates", message.to_owned(), at.span);
            }
            return None;
        };
        let path = "settings.clusterURI";
        if server.value.value.strip_prefix("https://").is_none_or(|rest| rest.trim_matches('/').is_empty()) {
            let problem = Problem::new(Code::BadValue, path, "not the address of an API server", server.span);
            self.report.problem(problem.hint("it starts with https://"));
            return None;
        }
        let Some(authority) = ca_crt else {
            let message = "`certificates.caCrt` is missing: the certificate of the authority of this cluster";
            self.problem(Code::MissingKey, path, message, server.span);
            return None;
        };
        let authority = self.access_file("certificates.caCrt", &authority)?;
        let credential = match (wants_token, ca_client, ca_key) {
            (Some(at), _, _) => ClusterCredential::Token(self.token_file(settings, at.span)?),
            (None, Some(certificate), Some(key)) => ClusterCredential::Certificate {
                certificate: self.access_file("certificates.caClient", &certificate)?,
                key: self.access_file("certificates.caKey", &key)?,
            },
            _ => {
                let message = "nothing says who asks this cluster";
                let problem = Problem::new(Code::MissingKey, path, message, server.span);
                self.report.problem(problem.hint(
                    "give `settings.bearerToken = true`, or `certificates.caClient` with `certificates.caKey`",
                ));
                return None;
            }
        };
        let server = server.value.value.trim_end_matches('/').to_owned();
        Some(ClusterAccess { server, authority, credential })
    }

    fn token_file(&mut self, settings: &RawSettings, span: Span) -> Option<PathBuf> {
        if let Some(file) = settings.bearer_token_path.as_ref().filter(|at| !at.value.value.is_empty()) {
            return self.access_file("settings.bearerTokenPath", file);
        }
        let path = Path::new(POD_TOKEN);
        if !files::is_allowed(self.around.files, self.around.roots, path) {
            let message = format!("the token is outside the repository: {POD_TOKEN}");
            let problem = Problem::new(Code::OutsidePath, "settings.bearerToken", message, span);
            self.report.problem(problem.hint(
                "whoever writes the file says which server gets it; `--allow-outside-paths` permits it",
            ));
            return None;
        }
        Some(path.to_owned())
    }

    /// A file with a credential for a server that the file names: it may not come from anywhere.
    fn access_file(&mut self, path: &str, file: &At<Text>) -> Option<PathBuf> {
        if let Some(found) = self.beside_or_in_working_folder(path, file) {
            return Some(found);
        }
        self.local_file(path, file, true)
    }

    /// Returns the key of eyaml, if secrets files are of it.
    pub(super) fn eyaml(&mut self, settings: &RawSettings) -> Option<Eyaml> {
        let private = settings.eyaml_private_key.as_ref().filter(|at| !at.value.value.is_empty());
        settings.eyaml_enabled.as_ref().filter(|at| at.value)?;
        let path = "settings.eyamlPrivateKeyPath";
        let private_key = match private {
            // What it decrypts stays here, so it may be anywhere.
            Some(file) => match self.beside_or_in_working_folder(path, file) {
                Some(found) => found,
                None => self.local_file(path, file, false)?,
            },
            None => PathBuf::from(EYAML_KEY),
        };
        Some(Eyaml { private_key })
    }
}
