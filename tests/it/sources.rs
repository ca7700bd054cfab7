//! Charts from repositories, registries and plain addresses: real servers, and what goes wrong with them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest as _, Sha256};

use crate::support::cluster::tools;
use crate::support::scan;
use crate::support::scene::Scene;
use crate::support::statectl::{Output, command, finish};
use crate::support::web::{Answer, Asked, Registry, Web};

/// A folder with packed charts, a file and a cache of its own.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a tool; returns whether it succeeded, and all that it printed.
    pub(crate) fn tool(&self, name: &str, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(tools().join(name))
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Packs a chart with real Helm and returns the bytes.
    pub(crate) fn pack(&self, version: &str) -> Vec<u8> {
        let chart = self.path(&format!("src-{version}/web"));
        std::fs::create_dir_all(chart.join("templates")).unwrap();
        std::fs::write(chart.join("Chart.yaml"), format!("apiVersion: v2\nname: web\nversion: {version}\n"))
            .unwrap();
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { version: {{ .Chart.Version | quote }} }\n";
        std::fs::write(chart.join("templates/a.yaml"), config).unwrap();
        let (done, text) = self.tool("helm4", &["package", chart.to_str().unwrap(), "-d", "packed"]);
        assert!(done, "{text}");
        std::fs::read(self.path(&format!("packed/web-{version}.tgz"))).unwrap()
    }

    /// Writes a file with one release of this chart.
    pub(crate) fn state(&self, head: &str, chart: &str, version: &str) -> PathBuf {
        let version = if version.is_empty() { String::new() } else { format!("version = \"{version}\"\n") };
        let text = format!(
            "{head}\n[namespaces.n]\n[apps.r]\nenabled = true\nnamespace = \"n\"\nchart = \"{chart}\"\n{version}"
        );
        let path = self.path("state.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = command(arguments);
        command.env("STATECTL_CACHE", self.path("cache")).env("HOME", self.folder.path());
        finish(&mut command)
    }

    pub(crate) fn lock(&self, file: &Path) -> Output {
        self.run(&["lock", file.to_str().unwrap()])
    }

    pub(crate) fn locked(&self) -> String {
        std::fs::read_to_string(self.path("statectl.lock")).unwrap()
    }
}

/// The index that `helm repo index` writes for the packed charts.
pub(crate) fn index(place: &Place) -> String {
    let (done, text) = place.tool("helm4", &["repo", "index", "packed"]);
    assert!(done, "{text}");
    std::fs::read_to_string(place.path("packed/index.yaml")).unwrap()
}

pub(crate) fn files(place: &Place) -> impl Fn(&Asked) -> Answer + Send + Sync + 'static {
    let folder = place.path("packed");
    move |asked: &Asked| {
        let name = asked.path.split('?').next().unwrap().trim_start_matches("/charts/");
        match std::fs::read(folder.join(name)) {
            Ok(bytes) if asked.path.starts_with("/charts/") => Answer::ok(bytes),
            _ => Answer::status(404),
        }
    }
}

#[test]
fn a_repository_gives_the_version_that_is_meant() {
    let place = Place::new();
    let archives = ["1.0.0", "1.2.0", "2.0.0-rc.1"].map(|version| place.pack(version));
    index(&place);
    let web = Web::start(files(&place));
    let head = format!("helmRepos = {{ shop = \"{}\" }}", web.url("/charts"));
    for (version, expected) in [("1.0.0", 0), ("^1", 1), ("latest", 1), ("2.0.0-rc.1", 2), (">=1.0 <1.2", 0)]
    {
        let file = place.state(&head, "shop/web", version);
        place.lock(&file).expect(0);
        let lock = place.locked();
        assert!(lock.contains(&format!("sha256 = \"{}\"", hex(&archives[expected]))), "{version}: {lock}");
    }
    // Each archive was fetched once, and is taken from this machine since.
    let asked: Vec<String> = web.seen().into_iter().map(|asked| asked.path).collect();
    for version in ["1.0.0", "1.2.0", "2.0.0-rc.1"] {
        let path = format!("/charts/web-{version}.tgz");
        assert_eq!(asked.iter().filter(|asked| **asked == path).count(), 1, "{asked:?}");
    }
    for (chart, version, said) in [
        ("shop/web", "^3", "no version of `web` fits ^3; the newest are 2.0.0-rc.1, 1.2.0, 1.0.0"),
        ("shop/nginx", "1", "no chart `nginx` in the index"),
    ] {
        let file = place.state(&head, chart, version);
        place.lock(&file).expect(1).complains(said);
    }
    // What was fetched is enough without the network.
    let file = place.state(&head, "shop/web", "^1");
    place.run(&["lock", file.to_str().unwrap(), "--offline"]).expect(0);
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    place.run(&["lock", file.to_str().unwrap(), "--offline"]).expect(1).complains("`--offline` asks nobody");
}

#[test]
fn an_index_is_read_again_only_if_it_changed() {
    let place = Place::new();
    place.pack("1.0.0");
    index(&place);
    let given = files(&place);
    let web = Web::start(move |asked| match asked.header("if-none-match") {
        Some("\"one\"") => Answer::status(304),
        _ if asked.path.contains("index") => given(asked).with("ETag", "\"one\""),
        _ => given(asked),
    });
    let file =
        place.state(&format!("helmRepos = {{ shop = \"{}\" }}", web.url("/charts")), "shop/web", "1.0.0");
    place.lock(&file).expect(0);
    assert_eq!(web.seen().len(), 2);
    place.lock(&file).expect(0);
    let asked = web.seen();
    assert_eq!((asked.len(), asked[0].header("if-none-match")), (1, Some("\"one\"")));
}

#[test]
fn credentials_go_to_the_repository_alone() {
    let place = Place::new();
    place.pack("1.0.0");
    let text = index(&place);
    let given = Arc::new(files(&place));
    let theirs = Arc::clone(&given);
    // Another host has the archives, and one redirects there.
    let other = Web::start(move |asked| theirs(asked));
    let elsewhere = other.url("/charts/web-1.0.0.tgz");
    let direct = text.replace("web-1.0.0.tgz", &elsewhere);
    let pair = "Basic dTpzM2NyM3Qtd29yZA==";
    let web = Web::start(move |asked| {
        if asked.header("authorization") != Some(pair) {
            return Answer::status(401).with("WWW-Authenticate", "Basic realm=\"x\"");
        }
        match asked.path.as_str() {
            "/direct/index.yaml" => Answer::ok(direct.clone()),
            "/charts/web-1.0.0.tgz" => Answer::status(302).with("Location", elsewhere.clone()),
            _ => given(asked),
        }
    });
    for path in ["/direct", "/charts"] {
        let url = web.url(path).replace("http://", &format!("http://u:{}@", scan::secret("s3cr3t-word")));
        let file = place.state(&format!("helmRepos = {{ shop = \"{url}\" }}"), "shop/web", "1.0.0");
        place.lock(&file).expect(0);
        scan::text("the lock file", &place.locked());
        std::fs::remove_dir_all(place.path("cache")).unwrap();
        let asked = other.seen();
        assert_eq!((asked.len(), asked[0].header("authorization")), (1, None), "{path}");
        assert!(!web.seen().is_empty());
    }
    // Wrong ones are refused, and never shown.
    let url = web.url("/charts").replace("http://", &format!("http://u:{}@", scan::secret("wr0ng-word")));
    let file = place.state(&format!("helmRepos = {{ shop = \"{url}\" }}"), "shop/web", "1.0.0");
    place.lock(&file).expect(1).complains("answers 401");
    // Where user and password come from is said without saying them.
    std::fs::write(scan::input(&place.path("password")), "s3cr3t-word\n").unwrap();
    for (user, password, said) in [
        ("REPO_USER", "ref+file://password", None),
        ("REPO_USER", "ref+env://REPO_PASSWORD", None),
        (
            "NOBODY",
            "ref+file://password",
            Some("the repository `shop`: ref+env://NOBODY: the environment variable"),
        ),
        ("REPO_USER", "ref+k8s://v1/Secret/a/b/c", Some("no cluster is asked here")),
        ("REPO_USER", "ref+exec://cat password", Some("it runs a program")),
    ] {
        let head = format!(
            "[repositories.shop]\nurl = \"{}\"\nusernameFrom = \"ref+env://{user}\"\npasswordFrom = \"{password}\"",
            web.url("/charts")
        );
        let file = place.state(&head, "shop/web", "1.0.0");
        let mut run = command(["lock", file.to_str().unwrap()]);
        run.env("STATECTL_CACHE", place.path("cache"))
            .env("REPO_USER", "u")
            .env("REPO_PASSWORD", "s3cr3t-word");
        let output = finish(&mut run);
        match said {
            None => drop(output.expect(0)),
            Some(said) => assert!(output.stderr.contains(said), "{password}: {}", output.stderr),
        }
        drop(std::fs::remove_dir_all(place.path("cache")));
    }
    // Helm's own configuration knows the repository and the password.
    let config = format!(
        "repositories:\n- name: known\n  url: {}\n  username: u\n  password: s3cr3t-word\n",
        web.url("/charts")
    );
    std::fs::create_dir_all(place.path(".config/helm")).unwrap();
    std::fs::write(place.path(".config/helm/repositories.yaml"), config).unwrap();
    let file = place.state("preconfiguredHelmRepos = [\"known\"]", "known/web", "1.0.0");
    place.lock(&file).expect(0);
}

#[test]
fn what_comes_must_be_what_was_promised() {
    let place = Place::new();
    let archive = place.pack("1.0.0");
    let text = index(&place);
    type Give = fn(&[u8]) -> Answer;
    let ways: [(&str, Give, &str); 6] = [
        ("other bytes", |_| Answer::ok("not a chart"), "has the digest sha256:"),
        ("cut off", |archive| Answer { broken: true, ..Answer::ok(archive) }, "cannot be read"),
        ("refused", |_| Answer::status(403), "answers 403"),
        (
            "in a circle",
            |_| Answer::status(302).with("Location", "/charts/web-1.0.0.tgz"),
            "more than 10 redirects",
        ),
        (
            "to a file",
            |_| Answer::status(302).with("Location", "file:///etc/passwd"),
            "a place of kind `file`",
        ),
        ("an error page", |_| Answer::ok("<html>500</html>"), "has the digest sha256:"),
    ];
    for (name, give, said) in ways {
        let (text, archive) = (text.clone(), archive.clone());
        let web = Web::start(move |asked| match asked.path.as_str() {
            "/charts/index.yaml" => Answer::ok(text.clone()),
            _ => give(&archive),
        });
        let file =
            place.state(&format!("helmRepos = {{ shop = \"{}\" }}", web.url("/charts")), "shop/web", "1.0.0");
        let output = place.lock(&file).expect(1);
        assert!(output.stderr.contains(said), "{name}: {}", output.stderr);
        assert!(!place.path("statectl.lock").exists(), "{name}: nothing is written");
    }
    // Without a digest in the index the archive itself has to be a chart of that version.
    let plain = text
        .lines()
        .filter(|line| !line.contains("digest:"))
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    for (body, said) in [(archive.clone(), "says that it is 1.0.0"), (b"junk".to_vec(), "gzip")] {
        let promised = plain.replace("version: 1.0.0", "version: 1.0.1");
        let web = Web::start(move |asked| match asked.path.as_str() {
            "/charts/index.yaml" => Answer::ok(promised.clone()),
            _ => Answer::ok(body.clone()),
        });
        let file =
            place.state(&format!("helmRepos = {{ shop = \"{}\" }}", web.url("/charts")), "shop/web", "1.0.1");
        place.lock(&file).expect(1).complains(said);
    }
}

#[test]
fn a_passing_fault_is_tried_again() {
    let place = Place::new();
    place.pack("1.0.0");
    index(&place);
    let given = files(&place);
    let count = AtomicUsize::new(0);
    let web = Web::start(move |asked| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::status(503).with("Retry-After", "1"),
        1 => Answer::status(429),
        3 => Answer { broken: true, ..given(asked) },
        _ => given(asked),
    });
    let file =
        place.state(&format!("helmRepos = {{ shop = \"{}\" }}", web.url("/charts")), "shop/web", "1.0.0");
    place.lock(&file).expect(0);
    assert_eq!(web.seen().len(), 5);
}

#[test]
fn an_archive_behind_an_address_is_a_chart() {
    let place = Place::new();
    place.pack("1.0.0");
    let web = Web::start(files(&place));
    let query = format!("token={}", scan::secret("s3cr3t-query"));
    let file = place.state("", &web.url(&format!("/charts/web-1.0.0.tgz?{query}")), "1.0.0");
    place.lock(&file).expect(0);
    let lock = place.locked();
    assert!(lock.contains("web-1.0.0.tgz\""), "{lock}");
    scan::text("the lock file", &lock);
    let file = place.state("", &web.url("/charts/web-1.0.0.tgz"), "^2");
    place.lock(&file).expect(1).complains("it has version 1.0.0");
}

#[test]
fn a_registry_gives_charts_by_tag_constraint_and_digest() {
    let place = Place::new();
    let password = scan::secret("hunter2-9d1");
    let registry = Registry::start(&tools().join("registry"), place.folder.path(), Some(password));
    let host = format!("127.0.0.1:{}", registry.port);
    let reference = format!("oci://{host}/charts/web");
    let (done, text) =
        place.tool("helm4", &["registry", "login", &host, "-u", "me", "-p", password, "--plain-http"]);
    assert!(done, "{text}");
    let mut digests = Vec::new();
    for version in ["1.0.0", "1.2.0+build.5"] {
        digests.push(hex(&place.pack(version)));
        let packed = format!("packed/web-{version}.tgz");
        let (done, text) =
            place.tool("helm4", &["push", &packed, &format!("oci://{host}/charts"), "--plain-http"]);
        assert!(done, "{text}");
    }
    let config = place.path(".config/helm/registry/config.json");
    assert!(config.exists(), "helm wrote its login");
    for (version, expected) in [("1.0.0", 0), ("^1", 1), ("1.2.0+build.5", 1), ("~1.0", 0)] {
        let file = place.state("", &reference, version);
        place.lock(&file).expect(0);
        assert!(place.locked().contains(&digests[expected]), "{version}: {}", place.locked());
    }
    let file = place.state("", &format!("{reference}:1.0.0"), "1.0.0");
    place.lock(&file).expect(0);
    // The digest of a manifest names a chart too, and a constraint beside it has to hold.
    let (_, pulled) = place.tool("helm4", &["pull", &reference, "--version", "1.0.0", "--plain-http"]);
    let digest = pulled.split_whitespace().find(|word| word.starts_with("sha256:")).unwrap().to_owned();
    let by_digest = format!("{reference}@{digest}");
    for version in ["", "^1"] {
        place.lock(&place.state("", &by_digest, version)).expect(0);
        assert!(place.locked().contains(&digests[0]), "{version}: {}", place.locked());
    }
    place.lock(&place.state("", &by_digest, "^2")).expect(1).complains("it has version 1.0.0");
    for (chart, version, said) in [
        (reference.as_str(), "^4", "no tag of"),
        (reference.as_str(), "9.9.9", "answers 404"),
        (&format!("{reference}:1.0.0"), "1.2.0", "are not the same"),
        (&format!("oci://{host}/charts/nothing"), "^1", "answers 404"),
    ] {
        let file = place.state("", chart, version);
        place.lock(&file).expect(1).complains(said);
    }
    // A helper of the user's own Docker configuration gives the password as well.
    let helper = place.path("bin/docker-credential-mine");
    std::fs::create_dir_all(helper.parent().unwrap()).unwrap();
    std::fs::write(
        &helper,
        format!("#!/bin/sh\nread host\necho '{{\"Username\":\"me\",\"Secret\":\"{password}\"}}'\n"),
    )
    .unwrap();
    std::fs::set_permissions(&helper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::remove_file(&config).unwrap();
    let file = place.state("", &reference, "1.0.0");
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    let output = place.lock(&file).expect(1).complains("it wants credentials, and there are none for it");
    assert!(!output.stderr.contains(password));
    std::fs::create_dir_all(place.path(".docker")).unwrap();
    std::fs::write(place.path(".docker/config.json"), format!("{{\"credHelpers\":{{\"{host}\":\"mine\"}}}}"))
        .unwrap();
    let mut command = command(["lock", file.to_str().unwrap()]);
    command.env("STATECTL_CACHE", place.path("cache")).env("HOME", place.folder.path());
    command.env("PATH", format!("{}:/usr/bin:/bin", helper.parent().unwrap().display()));
    finish(&mut command).expect(0);
}

#[test]
fn a_lock_file_holds_a_run_to_what_it_says() {
    let scene = Scene::new("locked-charts");
    let place = Place::new();
    place.pack("1.0.0");
    index(&place);
    let web = Web::start(files(&place));
    let ns = &scene.namespace;
    let text = format!(
        "context = \"{ns}\"\nhelmRepos = {{ shop = \"{}\" }}\n[namespaces.{ns}]\n[apps.r]\nenabled = true\nnamespace = \"{ns}\"\n\
         chart = \"shop/web\"\nversion = \"^1\"\n",
        web.url("/charts")
    );
    let file = place.path("state.toml");
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("STATECTL_CACHE", place.path("cache")).env("KUBECONFIG", &scene.cluster.kubeconfig);
        finish(&mut command)
    };
    let version = || scene.cluster.get(ns, "configmap", "r").unwrap()["data"]["version"].clone();
    run(&["plan", path, "--locked"]).expect(1).says("it is not in the lock file");
    place.lock(&file).expect(0).says("web 1.0.0");
    run(&["apply", path, "--yes", "--locked"]).expect(0);
    assert_eq!(version(), "1.0.0");

    // A newer version appears, and is not taken.
    place.pack("1.1.0");
    index(&place);
    run(&["plan", path, "--detailed-exit-code"]).expect(0);
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    run(&["plan", path, "--detailed-exit-code", "--locked"]).expect(0);
    place.lock(&file).expect(0).says("1.0.0 → 1.1.0");
    run(&["apply", path, "--yes", "--locked"]).expect(0);
    assert_eq!(version(), "1.1.0");

    // The same version with other content is refused.
    std::fs::write(place.path("src-1.1.0/web/values.yaml"), "other: true\n").unwrap();
    place.pack("1.1.0");
    index(&place);
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    run(&["plan", path, "--locked"]).expect(1).complains("not sha256:");
    // A lock file that somebody damaged is not passed over.
    std::fs::write(place.path("statectl.lock"), "format = \"statectl.lock/v9\"\n").unwrap();
    run(&["plan", path]).expect(1).says("its format is `statectl.lock/v9`");
}

#[test]
fn dependencies_that_a_folder_lacks_are_fetched_as_its_lock_says() {
    let place = Place::new();
    let first = place.pack("1.0.0");
    index(&place);
    let web = Web::start(files(&place));
    let chart = place.path("shop");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    let url = web.url("/charts");
    let depends = |version: &str, repository: &str| {
        let text = format!(
            "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies:\n- name: web\n  version: {version}\n  repository: {repository}\n"
        );
        std::fs::write(chart.join("Chart.yaml"), text).unwrap();
    };
    depends("^1", &url);
    // Real Helm writes the lock; the archives that it puts there go again.
    let (done, text) = place.tool("helm4", &["dependency", "update", "shop"]);
    assert!(done, "{text}");
    std::fs::remove_dir_all(chart.join("charts")).unwrap();
    place.pack("1.1.0");
    index(&place);
    let file = place.state("", "./shop", "");
    place.lock(&file).expect(0).says("web 1.0.0");
    assert!(place.locked().contains(&hex(&first)));
    // Without Helm's lock the newest that fits counts.
    std::fs::remove_file(chart.join("Chart.lock")).unwrap();
    place.lock(&file).expect(0).says("web 1.1.0");
    // A repository by its name, and a folder beside.
    depends("1.0.0", "'@known'");
    let file = place.state(&format!("helmRepos = {{ known = \"{url}\" }}"), "./shop", "");
    place.lock(&file).expect(0).says("1.0.0");
    depends("1.0.0", "file://../src-1.0.0/web");
    place.lock(&file).expect(0).says("- ");
    for (version, repository, said) in [
        ("^7", url.as_str(), "no version of `web` fits ^7"),
        ("1.0.0", "''", "no repository is named for it"),
        ("1.0.0", "'@nobody'", "has no repository `nobody`"),
        ("^7", "file://../src-1.0.0/web", "has version 1.0.0"),
        ("1.0.0", "file://../nowhere", "nowhere"),
    ] {
        depends(version, repository);
        let output = place.lock(&file).expect(1);
        assert!(output.stderr.contains(said), "{repository}: {}", output.stderr);
    }

    // What is rendered has the templates of the dependency.
    let scene = Scene::new("dependencies");
    depends("1.0.0", &url);
    let app = format!("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"{}\"\n", chart.display());
    let state = scene.write(&app);
    let plan = scene.plan(&state);
    assert_eq!(scene.release(&plan, "r")["objects"][0]["kind"], "ConfigMap", "{plan}");
}
