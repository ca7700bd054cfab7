//! Charts and values files from further away: behind certificates, in git repositories, behind addresses.

use std::path::Path;
use std::process::Command;

use crate::sources::{Place, files, hex, index};
use crate::support::scene::Scene;
use crate::support::statectl::{command, finish};
use crate::support::tls::{Clients, Tls};
use crate::support::web::{Answer, Web};

#[test]
fn a_repository_behind_an_authority_of_its_own() {
    let place = Place::new();
    let archive = place.pack("1.0.0");
    index(&place);
    let web = Web::start(files(&place));
    let tls = Tls::start(web.port, place.folder.path(), Clients::All);
    let declared = |more: &str| format!("[repositories.shop]\nurl = \"{}\"\n{more}", tls.url("/charts"));
    let file = place.state(&declared("caFile = \"ca.pem\""), "shop/web", "1.0.0");
    place.lock(&file).expect(0);
    assert!(place.locked().contains(&hex(&archive)));
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    // Nobody vouches for it, or something else does.
    let file = place.state(&declared(""), "shop/web", "1.0.0");
    place.lock(&file).expect(1).complains("certificate");
    let file = place.state(&declared("caFile = \"client.key\""), "shop/web", "1.0.0");
    place.lock(&file).expect(1).complains("127.0.0.1");
    let asked = web.seen().len();
    let file = place.state(&declared("caFile = \"nothing.pem\""), "shop/web", "1.0.0");
    place.lock(&file).expect(64).complains("no file `nothing.pem`");
    assert_eq!(web.seen().len(), 0, "asked {asked} times before");
}

#[test]
fn a_repository_that_wants_a_client_certificate() {
    let place = Place::new();
    place.pack("1.0.0");
    index(&place);
    let web = Web::start(files(&place));
    let tls = Tls::start(web.port, place.folder.path(), Clients::Known);
    let declared = |more: &str| {
        format!("[repositories.shop]\nurl = \"{}\"\ncaFile = \"ca.pem\"\n{more}", tls.url("/charts"))
    };
    let file =
        place.state(&declared("certFile = \"client.pem\"\nkeyFile = \"client.key\""), "shop/web", "1.0.0");
    place.lock(&file).expect(0);
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    let file = place.state(&declared(""), "shop/web", "1.0.0");
    place.lock(&file).expect(1).complains("127.0.0.1");
    let file = place.state(&declared("certFile = \"client.pem\""), "shop/web", "1.0.0");
    place.lock(&file).expect(64).complains("belong together");
    // What `helm repo add --ca-file … --cert-file … --key-file …` leaves is enough too.
    let config = format!(
        "repositories:\n- name: known\n  url: {}\n  caFile: {}\n  certFile: {}\n  keyFile: {}\n",
        tls.url("/charts"),
        tls.file("ca.pem"),
        tls.file("client.pem"),
        tls.file("client.key")
    );
    std::fs::create_dir_all(place.path(".config/helm")).unwrap();
    std::fs::write(place.path(".config/helm/repositories.yaml"), config).unwrap();
    let file = place.state("preconfiguredHelmRepos = [\"known\"]", "known/web", "1.0.0");
    place.lock(&file).expect(0);
}

/// Runs git in a folder, as somebody.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with one chart in a folder, at the tag `v1`.
fn repository(place: &Place) -> std::path::PathBuf {
    let repository = place.path("repository");
    let chart = repository.join("charts/web");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(chart.join(name), text).unwrap();
    write("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    write(".helmignore", "*.md\n");
    write("README.md", "not a part of it\n");
    write("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\n");
    git(&repository, &["init", "--quiet"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "one"]);
    git(&repository, &["tag", "v1"]);
    repository
}

#[test]
fn a_chart_in_a_git_repository() {
    let place = Place::new();
    let repository = repository(&place);
    let url = format!("git+file://{}", repository.display());
    let path = std::env::var_os("PATH").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command
            .env("STATECTL_CACHE", place.path("cache"))
            .env("HOME", place.folder.path())
            .env("PATH", &path);
        finish(&mut command)
    };
    let locked = |chart: &str, version: &str| {
        let file = place.state("", chart, version);
        run(&["lock", file.to_str().unwrap()])
    };
    let commit = git(&repository, &["rev-parse", "HEAD"]);
    let mut locks = Vec::new();
    for reference in ["v1", "main", commit.as_str()] {
        std::fs::remove_dir_all(place.path("cache")).ok();
        locked(&format!("{url}//charts/web?ref={reference}"), "").expect(0).says("1.0.0");
        let lock = place.locked();
        locks.push(lock.lines().find(|line| line.starts_with("sha256")).unwrap().to_owned());
    }
    assert!(locks[0] == locks[1] && locks[1] == locks[2], "one commit, one digest: {locks:?}");

    // The branch goes on; what is locked stays, and a tag that was moved is refused.
    locked(&format!("{url}//charts/web?ref=v1"), "^1").expect(0);
    std::fs::write(repository.join("charts/web/README.md"), "still not a part of it\n").unwrap();
    git(&repository, &["commit", "--quiet", "-am", "two"]);
    git(&repository, &["tag", "--force", "v1"]);
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    let state = place.path("state.toml");
    let scene = Scene::new("git-chart");
    let plan = |code: i32| {
        let text = std::fs::read_to_string(&state).unwrap();
        let namespace = &scene.namespace;
        let text = text.replace("[namespaces.n]", &format!("[namespaces.{namespace}]"));
        std::fs::write(place.path("live.toml"), text.replace("\"n\"", &format!("\"{namespace}\""))).unwrap();
        let live = place.path("live.toml");
        let mut command = command(["plan", live.to_str().unwrap(), "-o", "json"]);
        command.env("STATECTL_CACHE", place.path("cache")).env("PATH", &path);
        finish(command.env("KUBECONFIG", &scene.cluster.kubeconfig)).expect(code)
    };
    let report = plan(0).json();
    assert_eq!(report["releases"][0]["objects"][0]["kind"], "ConfigMap", "{report}");
    std::fs::write(repository.join("charts/web/values.yaml"), "a: 1\n").unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "three"]);
    git(&repository, &["tag", "--force", "v1"]);
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    let said = plan(1).stdout;
    assert!(said.contains("has the digest sha256:"), "{said}");

    for (chart, version, said) in [
        (format!("{url}//charts/web?ref=nothing"), "", "nothing"),
        (format!("{url}//charts?ref=main"), "", "there is no Chart.yaml"),
        (format!("{url}//charts/web?ref=main"), "^2", "it has version 1.0.0"),
        (format!("git+file://{}/none//a?ref=main", place.path("x").display()), "", "none"),
    ] {
        locked(&chart, version).expect(1).complains(said);
    }
    // A link that leaves the repository shows nothing of this machine.
    std::fs::write(place.path("secret"), "s3cr3t").unwrap();
    std::os::unix::fs::symlink(place.path("secret"), repository.join("charts/web/link")).unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "four"]);
    locked(&format!("{url}//charts/web?ref=main"), "").expect(1).complains("leads out of the repository");
    // Nor does the folder of a chart that is such a link itself.
    std::fs::create_dir_all(place.path("private")).unwrap();
    std::fs::write(place.path("private/Chart.yaml"), "apiVersion: v2\nname: private\nversion: 1.0.0\n")
        .unwrap();
    std::os::unix::fs::symlink(place.path("private"), repository.join("lent")).unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "five"]);
    locked(&format!("{url}//lent?ref=main"), "").expect(1).complains("leads out of the repository");
    // A chart that is the whole repository: what git keeps for itself is no part of it.
    let whole = place.path("whole");
    std::fs::create_dir_all(&whole).unwrap();
    std::fs::write(whole.join("Chart.yaml"), "apiVersion: v2\nname: whole\nversion: 1.0.0\n").unwrap();
    git(&whole, &["init", "--quiet"]);
    git(&whole, &["add", "."]);
    git(&whole, &["commit", "--quiet", "-m", "one"]);
    let chart = format!("git+file://{}?ref=main", whole.display());
    locked(&chart, "").expect(0);
    let first = place.locked();
    std::fs::remove_dir_all(place.path("cache")).unwrap();
    locked(&chart, "").expect(0).says("nothing changed");
    assert_eq!(place.locked(), first);
    // No git, no chart; and nothing of the work is left.
    let file = place.state("", &format!("{url}//charts/web?ref=v1"), "");
    let mut command = command(["lock", file.to_str().unwrap()]);
    finish(command.env("PATH", "/nonexistent").env("HOME", place.folder.path()))
        .expect(1)
        .complains("the program `git` is not on PATH");
}

#[test]
fn a_values_file_behind_an_address() {
    let scene = Scene::new("remote-values");
    crate::support::scene::chart(
        scene.folder.path(),
        &[(
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { a: {{ .Values.a | quote }}, b: {{ .Values.b | quote }} }\n",
        )],
    );
    let web = Web::start(|asked| match asked.path.as_str() {
        "/a.yaml" if asked.header("authorization") == Some("Basic bWU6czNjcjN0cHc=") => {
            Answer::ok("a: from-afar\nb: 1\n")
        }
        "/a.yaml" => Answer::status(403),
        "/none.yaml" => Answer::status(404),
        _ => Answer::ok("a: [\n"),
    });
    let state = |address: &str| {
        let app = format!(
            "[apps.a]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nvaluesFiles = [\"{address}\"]\nset = {{ b = \"2\" }}\n"
        );
        scene.write(&app)
    };
    let run = |verb: &str, address: &str, flags: &[&str]| {
        let path = state(address);
        let arguments = [&[verb, path.to_str().unwrap()][..], flags].concat();
        scene.cluster.statectl(arguments)
    };
    let good = web.url("/a.yaml").replace("http://", "http://me:s3cr3tpw@");
    run("apply", &good, &["--yes"]).expect(0);
    let map = scene.cluster.get(&scene.namespace, "configmap", "a").unwrap();
    assert_eq!((map["data"]["a"].as_str(), map["data"]["b"].as_str()), (Some("from-afar"), Some("2")));
    run("plan", &good, &["--detailed-exit-code"]).expect(0);
    assert!(!web.seen().is_empty());
    run("validate", &good, &[]).expect(0);
    assert!(web.seen().is_empty(), "validate asks nobody");
    for (address, said) in [
        (web.url("/a.yaml").replace("http://", "http://me:wr0ngpw@"), "answers 403"),
        (web.url("/none.yaml"), "answers 404"),
        (web.url("/bad.yaml"), "/bad.yaml"),
    ] {
        let output = run("plan", &address, &[]).expect(1);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains(said) && !all.contains("wr0ngpw"), "{all}");
    }
    let output = run("plan", &good, &["--offline"]).expect(1);
    assert!(output.stdout.contains("`--offline` asks nobody") && !output.stdout.contains("s3cr3tpw"));
}

#[test]
fn a_flag_of_helm_reads_no_file_outside_the_repository() {
    let scene = Scene::new("set-file");
    crate::support::scene::chart(
        scene.folder.path(),
        &[("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Values.a }} }\n")],
    );
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("outside.txt");
    std::fs::write(&outside, "text-from-outside").unwrap();
    std::fs::write(scene.folder.path().join("inside.txt"), "text-from-inside").unwrap();
    let link = scene.folder.path().join("link.txt");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let plan = |path: &Path, flags: &[&str]| {
        let app = format!(
            "[apps.a]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nhelmFlags = [\"--set-file\", \"a={}\"]\n",
            path.display()
        );
        let file = scene.write(&app);
        scene.cluster.statectl([&["plan", file.to_str().unwrap()][..], flags].concat())
    };
    plan(&scene.folder.path().join("inside.txt"), &[]).expect(0).says("text-from-inside");
    for path in [&outside, &link] {
        let output = plan(path, &[]).expect(1);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("outside the repository") && !all.contains("text-from-outside"), "{all}");
        plan(path, &["--allow-outside-paths"]).expect(0).says("text-from-outside");
    }
}
