//! TLS in front of a web server of a test, with an authority of its own and, where wanted, client certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto::ring, pki_types};

/// A server that passes everything on to another one; it ends with the test process.
pub(crate) struct Tls {
    pub(crate) port: u16,
    folder: PathBuf,
}

/// Who may connect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clients {
    /// Anybody.
    All,
    /// Whoever shows a certificate of the authority.
    Known,
}

impl Tls {
    /// Starts one in front of the server at `target`. `ca.pem`, `client.pem` and `client.key` come into `folder`.
    pub(crate) fn start(target: u16, folder: &Path, clients: Clients) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let signed = |names: &[&str]| {
            let key = KeyPair::generate().unwrap();
            let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
            (certificate, key)
        };
        let (server, server_key) = signed(&["127.0.0.1", "localhost"]);
        let (client, client_key) = signed(&["client"]);
        std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
        std::fs::write(folder.join("client.pem"), client.pem()).unwrap();
        std::fs::write(folder.join("client.key"), client_key.serialize_pem()).unwrap();

        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            Clients::All => builder.with_no_client_auth(),
            Clients::Known => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.der().clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = pki_types::PrivateKeyDer::Pkcs8(server_key.serialize_der().into());
        let config = builder.with_single_cert(vec![server.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap().port()).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let acceptor = acceptor.clone();
                    tokio::spawn(async move {
                        let Ok(mut near) = acceptor.accept(stream).await else { return };
                        let Ok(mut far) = TcpStream::connect(("127.0.0.1", target)).await else { return };
                        // Either side may end as it likes.
                        drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
                    });
                }
            });
        });
        Self { port: receiver.recv().unwrap(), folder: folder.to_owned() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// One of the files that belong to it.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}
