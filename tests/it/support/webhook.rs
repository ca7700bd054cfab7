//! An admission webhook that the test itself serves, by TLS, as API servers ask for.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto::ring, pki_types};

use super::proxy::{read_request, send};

/// What a webhook answers to the `request` of a review: the `response` without its uid.
type Answer = fn(&Json) -> Json;

/// A running webhook; it ends with the test process.
pub(crate) struct Webhook {
    port: u16,
    certificate: String,
    seen: Arc<Mutex<Vec<Json>>>,
}

impl Webhook {
    pub(crate) fn start(answer: Answer) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let seen: Arc<Mutex<Vec<Json>>> = Arc::default();
        let shared = Arc::clone(&seen);
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap().port()).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let (acceptor, seen) = (acceptor.clone(), Arc::clone(&shared));
                    tokio::spawn(async move {
                        let Ok(mut stream) = acceptor.accept(stream).await else { return };
                        let mut buffer = Vec::new();
                        while let Some(request) = read_request(&mut stream, &mut buffer).await {
                            let review: Json = serde_json::from_slice(&request.body).unwrap();
                            seen.lock().unwrap().push(review["request"].clone());
                            let mut response = answer(&review["request"]);
                            response["uid"] = review["request"]["uid"].clone();
                            let body = json!({
                                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
                            });
                            let body = body.to_string();
                            let headers = [("Content-Type", "application/json".to_owned())];
                            send(&mut stream, 200, &headers, body.as_bytes(), body.len()).await;
                        }
                    });
                }
            });
        });
        let port = receiver.recv().unwrap();
        Self { port, certificate: made.cert.pem(), seen }
    }

    /// Returns what an entry of a webhook configuration says about where to ask.
    pub(crate) fn client_config(&self) -> Json {
        let bundle = base64::engine::general_purpose::STANDARD.encode(&self.certificate);
        json!({"url": format!("https://127.0.0.1:{}/", self.port), "caBundle": bundle})
    }

    /// Returns the requests of the reviews so far.
    pub(crate) fn seen(&self) -> Vec<Json> {
        self.seen.lock().unwrap().clone()
    }
}
