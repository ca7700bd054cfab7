//! Encrypted files, made by real sops with real age keys: read here, and as real sops reads them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output as Ended};

use statectl::encrypted::age::Identities;
use statectl::encrypted::sops::{self, Format, SopsError};
use statectl::value::json::{self, Escape};
use statectl::yaml;

use crate::support::cluster::secret_tools;
use crate::support::scan;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::{Output, command, finish};

const WORD: &str = "correct-Horse-2201";
const LINES: &str = "first-Line-2202\nsecond \"Line\"-2203\n";

/// A folder with age keys of its own.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        for text in [WORD, LINES] {
            scan::secret(text);
        }
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a key and returns its public half.
    fn key(&self, name: &str) -> String {
        let path = self.path(name);
        let made = Command::new(secret_tools().join("age-keygen")).arg("-o").arg(&path).output().unwrap();
        assert!(made.status.success());
        let text = std::fs::read_to_string(scan::input(&path)).unwrap();
        let secret = text.lines().find(|line| line.starts_with("AGE-SECRET-KEY-")).unwrap();
        scan::secret(secret);
        text.lines().find_map(|line| line.strip_prefix("# public key: ")).unwrap().to_owned()
    }

    fn identities(&self, name: &str) -> Identities {
        Identities::parse(&std::fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }

    /// Writes a plain file and encrypts it in place.
    fn encrypt(&self, name: &str, plain: &str, arguments: &[&str]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, plain).unwrap();
        let mut all = arguments.to_vec();
        all.extend(["--encrypt", "--in-place", path.to_str().unwrap()]);
        let ended = self.sops(&all, "none");
        assert!(ended.status.success(), "{name}: {}", String::from_utf8_lossy(&ended.stderr));
        path
    }

    fn sops(&self, arguments: &[&str], key: &str) -> Ended {
        Command::new(secret_tools().join("sops"))
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("SOPS_AGE_KEY_FILE", self.path(key))
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }
}

fn open(path: &Path, keys: &Identities) -> Result<statectl::encrypted::Decrypted, SopsError> {
    sops::parse(Format::of(path), &std::fs::read(path).unwrap())?.open(&keys.known)
}

/// A file with everything in it that a values file may hold.
fn everything() -> String {
    let lines = serde_json::Value::from(LINES);
    format!(
        "word: {WORD}\nlines: {lines}\nempty: ''\nnothing:\nnumber: 12\nnegative: -3\nfraction: 1.50\nlarge: 1e3\nyes: true\n\
         no: false\nquoted: 'true'\ndate: 2020-01-02\nunicode: \"gr\\u00fc\\u00df\"\nnested:\n  deep: {{ deeper: {WORD} }}\n\
         list:\n- {WORD}\n- 7\n- [a, {{ b: c }}]\n- null\nflag_unencrypted: yes\nday_unencrypted: 2020-01-02\n\
         float_unencrypted: 2.50\ntext_unencrypted: plain\nnull_unencrypted: ~\nnested_unencrypted: {{ a: [1, x] }}\n\
         block: |\n  a\n  b\nkey with space: x\n\"12\": y\nempty map: {{}}\nempty list: []\n"
    )
}

#[test]
fn files_are_read_as_sops_reads_them() {
    let place = Place::new();
    let recipient = place.key("key");
    let other = place.key("other");
    let both = format!("{other},{recipient}");
    let json = serde_json::json!({
        "word": WORD, "number": 12, "fraction": 1.5, "large": 12345678901_u64, "list": [1, "a\u{1f600}/", null, true],
        "z": {"b": LINES, "a_unencrypted": 2.0}, "empty": "",
    });
    let variables =
        format!("# a comment\nWORD={WORD}\nEMPTY=\nLINES=a\\nb\nQUOTED=\"x y\"\nB_unencrypted=plain\n");
    let everything = everything();
    let cases: [(&str, &str, &[&str]); 12] = [
        ("a.yaml", &everything, &["--age", &recipient]),
        ("b.yml", &everything, &["--age", &both]),
        ("c.yaml", &everything, &["--age", &recipient, "--mac-only-encrypted"]),
        ("d.yaml", &everything, &["--age", &recipient, "--encrypted-regex", "^(word|n.*)$"]),
        ("e.yaml", &everything, &["--age", &recipient, "--unencrypted-regex", "^(list|date|yes|large)$"]),
        ("f.yaml", &everything, &["--age", &recipient, "--encrypted-suffix", "ord"]),
        ("g.yaml", &everything, &["--age", &recipient, "--unencrypted-suffix", "_plain"]),
        ("h.json", &json.to_string(), &["--age", &recipient]),
        ("i.json", &json.to_string(), &["--age", &recipient, "--encrypted-regex", "^z$"]),
        ("j.env", &variables, &["--age", &recipient]),
        ("k.txt", LINES, &["--age", &recipient]),
        ("l.yaml", "a: 1\n", &["--age", &recipient]),
    ];
    for (name, plain, arguments) in cases {
        let path = place.encrypt(name, plain, arguments);
        let expected = place.sops(&["--decrypt", path.to_str().unwrap()], "key").stdout;
        let found = open(&path, &place.identities("key")).unwrap_or_else(|error| panic!("{name}: {error}"));
        match Format::of(&path) {
            Format::Yaml | Format::Json => {
                let own = json::to_string(&found.value, Escape::Raw).unwrap();
                // Helm reads both in this way; numbers lose their kinds.
                let (own, expected) = (yaml::read(own.as_bytes()), yaml::read(&expected));
                assert_eq!(own.unwrap(), expected.unwrap(), "{name}");
            }
            _ => {
                // Comments have no meaning to anybody who reads the values.
                let expected = String::from_utf8_lossy(&expected).replace("# a comment\n", "");
                assert_eq!(String::from_utf8_lossy(&found.text), expected, "{name}");
            }
        }
        let wrong = open(&path, &place.identities("other"));
        assert_eq!(wrong.is_ok(), name == "b.yml", "{name}");
    }
    // Only what was encrypted is a secret.
    let found = open(&place.path("a.yaml"), &place.identities("key")).unwrap();
    assert!(found.secrets.iter().any(|secret| secret == WORD));
    assert!(!found.secrets.iter().any(|secret| secret == "plain"));
}

/// Each change is one that sops refuses as well.
#[test]
fn a_file_that_was_changed_is_refused() {
    let place = Place::new();
    let recipient = place.key("key");
    let plain = "a: one-2204\nb: two-2205\nc_unencrypted: three\nl: [x-2206, y-2207]\n";
    let path = place.encrypt("a.yaml", plain, &["--age", &recipient]);
    let good = std::fs::read_to_string(&path).unwrap();
    let line =
        |start: &str| good.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned();
    let (a, b) = (line("a: "), line("b: "));
    let value = |line: &str| line.split_once(": ").unwrap().1.to_owned();
    let items: Vec<String> =
        good.lines().filter(|line| line.trim_start().starts_with("- ENC")).map(str::to_owned).collect();
    let mac = line("mac: ");
    for (what, text) in [
        ("another plain value", good.replace("three", "four")),
        ("a value less", good.replace(&format!("{b}\n"), "")),
        ("a value more", good.replace(&a, &format!("{a}\nd: ENC[x]"))),
        ("a plain value in place of a secret", good.replace(&a, "a: mine")),
        ("another order", good.replace(&format!("{a}\n{b}"), &format!("{b}\n{a}"))),
        ("another order in a list", {
            let swapped = good.replace(&items[0], "FIRST").replace(&items[1], &items[0]);
            swapped.replace("FIRST", &items[1])
        }),
        ("a value at another place", good.replace(&value(&a), &value(&b))),
        ("no code", good.replace(&mac, "    mac: \"\"")),
        ("another code", good.replace(&value(&mac), &value(&a))),
        ("another time", good.replace(&line("lastmodified: "), "    lastmodified: \"2020-01-01T00:00:00Z\"")),
    ] {
        assert_ne!(text, good, "{what}");
        std::fs::write(&path, &text).unwrap();
        let theirs = place.sops(&["--decrypt", path.to_str().unwrap()], "key");
        assert!(!theirs.status.success(), "sops takes {what}");
        let own = open(&path, &place.identities("key"));
        assert!(matches!(own, Err(SopsError::Changed(_))), "{what}: {own:?}");
    }
}

/// Files whose keys are encrypted for somebody else too, in each way in which statectl looks for keys.
#[test]
fn age_keys_are_found_where_sops_finds_them() {
    let scene = Scene::new("age-keys");
    let place = Place::new();
    let recipient = place.key("key");
    place.key("other");
    let folder = scene.folder.path();
    let template = "apiVersion: v1\nkind: Secret\nmetadata: { name: {{ .Release.Name }} }\n\
                    stringData: { word: {{ .Values.word | quote }}, port: {{ .Values.port | toJson | quote }}, from: {{ .Values.from | quote }} }\n";
    chart(folder, &[("templates/a.yaml", template), ("values.yaml", "word: none\nport: none\nfrom: none\n")]);
    let sealed = place.encrypt("good.yaml", &format!("word: {WORD}\nport: 8080\n"), &["--age", &recipient]);
    std::fs::copy(&sealed, folder.join("good.yaml")).unwrap();
    let commented = format!("# a secret\nword: {WORD}\nport: 8080\n");
    let by_comment = ["--age", &recipient, "--encrypted-comment-regex", "secret"];
    let commented = place.encrypt("comments.yaml", &commented, &by_comment);
    std::fs::copy(&commented, folder.join("comments.yaml")).unwrap();
    let plain = place.encrypt("values.env", &format!("WORD={WORD}\n"), &["--age", &recipient]);
    std::fs::copy(&plain, folder.join("values.env")).unwrap();
    std::fs::write(scan::input(&folder.join("plain.yaml.dec")), format!("word: {WORD}\nport: 8080\n"))
        .unwrap();
    let app = |file: &str| {
        format!(
            "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nsecretsFile = \"{file}\"\n\
             set = {{ from = \"ref+sops://values.env#WORD\" }}\n"
        )
    };
    let secret_key = std::fs::read_to_string(place.path("key")).unwrap();
    let home = place.path("home");
    std::fs::create_dir_all(home.join(".config/sops/age")).unwrap();
    std::fs::copy(place.path("key"), scan::input(&home.join(".config/sops/age/keys.txt"))).unwrap();
    let (key, other) = (place.path("key").display().to_string(), place.path("other").display().to_string());
    let home = home.display().to_string();
    let tools = secret_tools().display().to_string();
    let run = |verb: &[&str], file: &str, env: &[(&str, &str)]| -> Output {
        let path = scene.write(&app(file));
        let mut command = command(verb.iter().copied().chain([path.to_str().unwrap()]));
        let base = [("PATH", "/nonexistent"), ("KUBECONFIG", scene.cluster.kubeconfig().to_str().unwrap())];
        finish(command.envs(base).envs(env.iter().copied()).current_dir(folder))
    };
    for env in [
        &[("SOPS_AGE_KEY", secret_key.as_str())][..],
        &[("SOPS_AGE_KEY_FILE", &key)],
        &[("HOME", &home)],
        &[("HOME", "/nonexistent"), ("XDG_CONFIG_HOME", &format!("{home}/.config"))],
        &[("SOPS_AGE_KEY_FILE", &other), ("SOPS_AGE_KEY", &secret_key)],
    ] {
        run(&["plan"], "good.yaml", env).expect(0).says("to install");
    }
    run(&["apply", "--yes"], "good.yaml", &[("SOPS_AGE_KEY_FILE", &key)]).expect(0);
    let stored = scene.cluster.get(&scene.namespace, "secret", "r").unwrap();
    let data = |key: &str| {
        use base64::Engine as _;
        let text = stored["data"][key].as_str().unwrap();
        String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
    };
    assert_eq!([data("word"), data("port"), data("from")], [WORD, "8080", WORD]);
    // What somebody else decrypted is taken as it is.
    run(&["plan", "--detailed-exit-code"], "plain.yaml.dec", &[("SOPS_AGE_KEY_FILE", &key)]).expect(0);
    // What only the program reads is read by it, with the same keys.
    run(&["plan"], "comments.yaml", &[("SOPS_AGE_KEY_FILE", &key)])
        .expect(1)
        .complains("it has comments that decide what is encrypted, which only the program `sops` reads")
        .complains(&format!("it is encrypted to age {recipient}"))
        .complains("install it from https://getsops.io");
    let with_program = [("SOPS_AGE_KEY_FILE", key.as_str()), ("PATH", &tools)];
    run(&["plan", "--detailed-exit-code"], "comments.yaml", &with_program).expect(0);
    // Nobody's key: the message says for whom it is, and where keys are looked for.
    run(&["plan"], "good.yaml", &[("SOPS_AGE_KEY_FILE", &other)])
        .expect(1)
        .complains("none of the age keys opens it")
        .complains(&recipient)
        .complains("keys are looked for in SOPS_AGE_KEY, SOPS_AGE_KEY_FILE");
    run(&["plan"], "good.yaml", &[("SOPS_AGE_KEY", "hello")])
        .expect(1)
        .complains("the age keys of SOPS_AGE_KEY: line 1 is no age key");
    std::fs::write(folder.join("open.yaml"), "word: x\n").unwrap();
    run(&["plan"], "open.yaml", &[]).expect(1).complains("it has no metadata of sops");
    scan::files(folder);
}
