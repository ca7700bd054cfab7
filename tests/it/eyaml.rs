//! Files of hiera-eyaml: recorded with the real program (3.3.0), and made with openssl, which the program calls as well.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use statectl::encrypted::eyaml::{EyamlError, PrivateKey, decrypt};
use statectl::value::Value;
use statectl::value::json::{self, Escape};
use statectl::yaml;

use crate::support::scene::{Scene, chart};
use crate::support::statectl::{command, finish};
use crate::support::{repository, scan};

const WORD: &str = "eyaml-Secret-5501";

fn openssl(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let ended = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    assert!(ended.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    ended.stdout
}

/// Makes a key and a certificate for it.
fn keys(folder: &Path, name: &str) {
    let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
    let subject = "/CN=eyaml";
    let request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", subject];
    openssl(folder, &[&request[..], &["-keyout", &key, "-out", &certificate]].concat());
    scan::input(&folder.join(key));
}

/// Encrypts as `eyaml encrypt` does.
fn encrypted(folder: &Path, name: &str, cipher: &str, text: &str) -> String {
    std::fs::write(scan::input(&folder.join("plain")), text).unwrap();
    let certificate = format!("{name}.crt");
    let arguments = ["smime", "-encrypt", cipher, "-binary", "-outform", "DER", "-in", "plain", &certificate];
    format!("ENC[PKCS7,{}]", STANDARD.encode(openssl(folder, &arguments)))
}

fn as_helm_reads(value: &Value) -> Value {
    yaml::read(json::to_string(value, Escape::Raw).unwrap().as_bytes()).unwrap()
}

#[test]
fn a_file_is_read_as_eyaml_reads_it() {
    let file = |name: &str| std::fs::read(repository("tests/cases/eyaml").join(name)).unwrap();
    let key = PrivateKey::parse(&file("private_key.pem")).unwrap();
    let found = decrypt(&file("secrets.yaml"), &key).unwrap();
    assert_eq!(as_helm_reads(&found.value), yaml::read(&file("decrypted.yaml")).unwrap());
    assert_eq!(found.secrets.len(), 8);
    assert!(!found.secrets.iter().any(|secret| secret == "hello"));
}

#[test]
fn what_cannot_be_decrypted_says_where_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    keys(folder, "own");
    keys(folder, "other");
    let key = PrivateKey::parse(&std::fs::read(folder.join("own.key")).unwrap()).unwrap();
    let good = encrypted(folder, "own", "-aes256", "a: 'b' \"c\"\n- d");
    let found = decrypt(format!("v: [\"{good}\"]\nw: {good}\n").as_bytes(), &key).unwrap();
    // What eyaml would paste into the YAML is one value here.
    assert_eq!(found.value.at(&["w"]).and_then(Value::as_str), Some("a: 'b' \"c\"\n- d"));
    let part = |text: &str| text.replace("PKCS7", "GPG");
    for (text, expected) in [
        (encrypted(folder, "other", "-aes256", "x"), "a.b.0: it is encrypted to another key"),
        (encrypted(folder, "own", "-des3", "x"), "a.b.0: its cipher is not AES-256 in CBC mode"),
        (part(&good), "a.b.0: it is encrypted with GPG, and only PKCS7 is read"),
        ("ENC[PKCS7,AAAA]".to_owned(), "a.b.0: it is no PKCS7 data"),
        ("ENC[PKCS7,?]".to_owned(), "a.b.0: it is no base64"),
        ("ENC[PKCS7,AAAA".to_owned(), "a.b.0: `ENC[` is not closed"),
    ] {
        let file = serde_json::json!({ "a": { "b": [text] } }).to_string();
        assert_eq!(decrypt(file.as_bytes(), &key).unwrap_err().to_string(), expected);
    }
    for text in ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(matches!(PrivateKey::parse(text.as_bytes()), Err(EyamlError::Key(_))), "{text}");
    }
}

#[test]
fn secrets_files_of_eyaml_reach_the_cluster_and_no_output() {
    let scene = Scene::new("eyaml");
    let folder = scene.folder.path();
    std::fs::create_dir_all(folder.join("secrets")).unwrap();
    keys(folder, "own");
    scan::secret(WORD);
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\n\
                    data: { word: {{ .Values.word | quote }}, port: {{ .Values.port | toJson | quote }} }\n";
    chart(folder, &[("templates/a.yaml", template), ("values.yaml", "")]);
    let (word, port) =
        (encrypted(folder, "own", "-aes256", WORD), encrypted(folder, "own", "-aes256", "8080"));
    std::fs::remove_file(folder.join("plain")).unwrap();
    std::fs::write(folder.join("secrets/a.yaml"), format!("word: {word}\nport: {port}\n")).unwrap();
    let app = "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nsecretsFile = \"secrets/a.yaml\"\n";
    let settings = |key: &str| format!("[settings]\neyamlEnabled = true\n{key}{app}");
    let run = |arguments: &[&str], file: &Path| {
        let mut command = command(arguments.iter().copied().chain([file.to_str().unwrap()]));
        let kubeconfig = scene.cluster.kubeconfig();
        finish(command.env("KUBECONFIG", kubeconfig).env("PATH", "/nonexistent").current_dir(folder))
    };
    let file =
        scene.write(&settings("eyamlPrivateKeyPath = \"own.key\"\neyamlPublicKeyPath = \"own.crt\"\n"));
    run(&["validate"], &file).expect(0);
    run(&["diff"], &file).expect(0).says("word: (secret)");
    run(&["apply", "--yes"], &file).expect(0);
    let map = scene.cluster.get(&scene.namespace, "configmap", "r").unwrap();
    assert_eq!([&map["data"]["word"], &map["data"]["port"]], [WORD, "8080"]);
    // Where eyaml itself looks for the key.
    let file = scene.write(&settings(""));
    run(&["plan"], &file).expect(1).complains("the private key of eyaml, keys/private_key.pkcs7.pem");
    std::fs::create_dir_all(folder.join("keys")).unwrap();
    std::fs::copy(folder.join("own.key"), scan::input(&folder.join("keys/private_key.pkcs7.pem"))).unwrap();
    run(&["plan", "--detailed-exit-code"], &file).expect(0);
    keys(folder, "other");
    let file = scene.write(&settings("eyamlPrivateKeyPath = \"other.key\"\n"));
    run(&["plan"], &file).expect(1).complains("word: it is encrypted to another key");
    scan::files(folder);
}
