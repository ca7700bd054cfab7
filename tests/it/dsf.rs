//! Desired-state files: each folder below `tests/cases/dsf` is one run of the reader.
//!
//! `input.*`, and `later.*` laid over it, are the files; `env` holds variables; a file `compat` turns Helmsman's
//! leniency on, `options` holds flags, a line each; `expected.txt` holds the problems, or the resolved state and the
//! notes. The files that inputs refer to are those of [`Tree`], and those below `tree`. After a wanted change, run with
//! `STATECTL_BLESS=1` and read the difference.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "fixtures are files; a test fails by panicking"
)]

use proptest::prelude::*;
use statectl::dsf::state::{
    ChartSource, ChartVersion, DesiredState, MaxPrune, Patience, Release, SetEntry, Settings,
};
use statectl::dsf::{self, Files, Loaded, Options, PathKind, Source, keys};
use statectl::values::ReuseValues;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that exist for every case, and those of the case itself.
#[derive(Default)]
struct Tree {
    own: Option<PathBuf>,
}

impl Tree {
    fn own(&self, path: &Path) -> Option<PathBuf> {
        let own = self.own.as_ref()?.join(path);
        own.exists().then_some(own)
    }
}

impl Files for Tree {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let own = self.own(path).ok_or("it is only pretended")?;
        fs::read(own).map_err(|error| error.to_string())
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, String> {
        self.own(folder).map(|folder| names(&folder)).ok_or_else(|| "no such folder".to_owned())
    }

    fn kind(&self, path: &Path) -> PathKind {
        if let Some(own) = self.own(path) {
            return if own.is_dir() { PathKind::Folder } else { PathKind::File };
        }
        match path.to_str().unwrap_or_default() {
            "chart" | "charts/web" | "empty" => PathKind::Folder,
            "chart/Chart.yaml" | "charts/web/Chart.yaml" | "web-1.0.0.tgz" => PathKind::File,
            "values.yaml" | "more.yaml" | "env/prod.yaml" | "notes.txt" => PathKind::File,
            "locked.yaml" => PathKind::Unreadable("permission denied".to_owned()),
            _ => PathKind::Missing,
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/dsf")
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn load(inputs: &[Source], env: &BTreeMap<String, String>, compat: bool) -> Result<Loaded, dsf::Problems> {
    let options =
        Options { helmsman_compat: compat, roots: Some(vec![PathBuf::from(".")]), ..Options::default() };
    dsf::load(inputs, env, &Tree::default(), &options)
}

fn run(case: &Path) -> Result<Loaded, dsf::Problems> {
    let files = names(case);
    let source = |name: &String| Source {
        name: name.clone(),
        bytes: fs::read(case.join(name)).unwrap(),
        dir: PathBuf::new(),
    };
    let inputs: Vec<Source> = files
        .iter()
        .filter(|name| name.starts_with("input.") || name.starts_with("later."))
        .map(source)
        .collect();
    let env = fs::read_to_string(case.join("env")).unwrap_or_default();
    let env = env.lines().filter_map(|line| line.split_once('='));
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut options = Options {
        helmsman_compat: files.iter().any(|name| name == "compat"),
        roots: Some(vec![PathBuf::from(".")]),
        specs: files.iter().filter(|name| name.starts_with("spec.")).map(source).collect(),
        ..Options::default()
    };
    for line in fs::read_to_string(case.join("options")).unwrap_or_default().lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("--environment", name) => options.environment = Some(name.to_owned()),
            ("--set-app", given) => options.set_app.push(given.to_owned()),
            ("--check", "") => options.check_only = true,
            ("--skip-charts", "") => options.skip_charts = true,
            ("--no-env-subst", "") => options.no_substitution = true,
            ("--allow-outside-paths", "") => options.roots = None,
            _ => panic!("{}: unknown option {line}", case.display()),
        }
    }
    dsf::load(&inputs, &env, &Tree { own: Some(case.join("tree")) }, &options)
}

#[test]
fn every_case_gives_its_expected_text() {
    let bless = std::env::var_os("STATECTL_BLESS").is_some();
    let mut wrong = Vec::new();
    let cases = names(&root());
    for case in &cases {
        let dir = root().join(case);
        let result = run(&dir);
        let expected_to_fail = case.starts_with("bad-");
        assert!(expected_to_fail || case.starts_with("good-"), "{case}: neither bad- nor good-");
        let text = match &result {
            Ok(loaded) => print(loaded),
            Err(problems) => problems.to_string(),
        };
        let file = dir.join("expected.txt");
        if bless {
            fs::write(&file, &text).unwrap();
        }
        if result.is_err() != expected_to_fail || fs::read_to_string(&file).unwrap_or_default() != text {
            wrong.push(format!("--- {case}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.iter().filter(|case| case.starts_with("bad-")).count() >= 60);
}

#[test]
fn every_file_of_a_case_is_used() {
    for case in names(&root()) {
        let files = names(&root().join(&case));
        assert!(files.iter().any(|name| name == "expected.txt"), "{case}: no expected.txt");
        assert!(
            files.iter().any(|name| name.starts_with("input.") || name.starts_with("spec.")),
            "{case}: no input"
        );
        for file in files {
            let known = ["expected.txt", "env", "compat", "options", "tree"].contains(&file.as_str());
            assert!(
                known || ["input.", "later.", "spec."].iter().any(|start| file.starts_with(start)),
                "{case}/{file} is unused"
            );
        }
    }
}

#[test]
fn problems_never_show_values_of_variables() {
    for case in names(&root()) {
        let expected = fs::read_to_string(root().join(&case).join("expected.txt")).unwrap();
        assert!(!case.starts_with("bad-") || !expected.contains("s3cret"), "{case}");
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/dsf.md");
    let page = dsf::reference_page();
    if std::env::var_os("STATECTL_BLESS").is_some() {
        fs::write(&file, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(file).unwrap_or_default(), page);
}

/// Every supported key that takes a value of its own refuses a value that no key takes, at the right place:
/// so no key of the table is left unread.
#[test]
fn every_supported_key_is_read() {
    use statectl::dsf::keys::{KEYS, Section, Status};
    let read = |key: &&keys::Key| key.status == Status::Supported || key.status == Status::NotYet;
    for key in KEYS.iter().filter(read) {
        let place = match key.section {
            Section::File => "",
            Section::Settings => "[settings]\n",
            Section::ExpectCluster => "[settings.expectCluster]\n",
            Section::Moved => "[[moved]]\n",
            Section::Namespace => "[namespaces.a]\n",
            Section::App => "[apps.a]\n",
            Section::Verify => "[apps.a.verify]\n",
            Section::Need => "[[apps.a.needs]]\n",
            Section::Awaited => "[[apps.a.waitFor]]\n",
            Section::Ready => "[[apps.a.ready]]\n",
            Section::Object => "[[apps.a.createOnly]]\n",
            Section::Conflict => "[[apps.a.fieldConflicts]]\n",
            Section::Ignore => "[[apps.a.ignore]]\n",
            Section::Window => "[[settings.windows]]\n",
            Section::Environment => "[environments.e]\n",
            Section::RepositoryForm => "[repositories.r]\n",
            Section::Certificates => "[certificates]\n",
            Section::Limit => "[[namespaces.a.limits]]\n",
            Section::LimitValues => "[[namespaces.a.limits]]\n[namespaces.a.limits.max]\n",
            Section::Quotas => "[namespaces.a.quotas]\n",
            Section::CustomQuota => "[[namespaces.a.quotas.customQuotas]]\n",
            Section::Hooks => "[apps.a.hooks]\n",
            Section::Hook => "[apps.a.hooks.preInstall]\n",
        };
        let text = format!("{place}{:?} = 2020-01-01\n", key.name);
        let source = Source { name: "a.toml".into(), bytes: text.clone().into_bytes(), dir: PathBuf::new() };
        let options = Options { environment: Some("e".to_owned()), ..Options::default() };
        let problems = dsf::load(&[source], &BTreeMap::new(), &Tree::default(), &options).unwrap_err();
        let found = problems.iter().any(|problem| {
            let at = problems.sources().slice(problem.span);
            matches!(problem.code, dsf::Code::WrongType | dsf::Code::BadValue) && at.contains("2020-01-01")
        });
        assert!(found, "{text}{problems}");
    }
}

fn read_anything(name: &str, bytes: &[u8]) {
    let source = Source { name: name.into(), bytes: bytes.to_vec(), dir: PathBuf::new() };
    let env = BTreeMap::from([("A".to_owned(), "x: [".to_owned())]);
    for compat in [false, true] {
        if let Err(problems) = load(&[source.clone(), source.clone()], &env, compat) {
            assert!(!problems.to_string().is_empty());
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read_anything("a.toml", &bytes);
        read_anything("a.yaml", &bytes);
    }

    #[test]
    fn any_text_of_likely_parts_is_read_without_a_panic(
        parts in proptest::collection::vec(prop::sample::select(PARTS), 0..40)
    ) {
        let text = parts.concat();
        read_anything("a.toml", text.as_bytes());
        read_anything("a.yaml", text.as_bytes());
    }
}

const PARTS: &[&str] = &[
    "\n",
    "\n  ",
    "\n    ",
    " ",
    ": ",
    " = ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "- ",
    "\"",
    "'",
    "null",
    "true",
    "no",
    "1",
    "-3",
    "1.10",
    "5m",
    "2020-01-01",
    "apps",
    "namespaces",
    "settings",
    "defaults",
    "appsTemplates",
    "extends",
    "[apps.a]",
    "[namespaces.a]",
    "[[apps.a.needs]]",
    "a",
    "b",
    "needs",
    "force",
    "set",
    "values",
    "chart",
    "version",
    "namespace",
    "labels",
    "protected",
    "timeout",
    "context",
    "createOnly",
    "fieldConflicts",
    "ignore",
    "path",
    "action",
    "keep",
    "a[*].b",
    "kind",
    "name",
    "a/b",
    "$A",
    "${A}",
    "${B:-c}",
    "${",
    "$$",
    "&x ",
    "*x",
    "<<: ",
    "!!str ",
    "|\n",
    "? ",
    "---\n",
    "#",
    "\t",
    "é",
    "\u{feff}",
    "\u{0}",
    ".",
    "...",
    "\"\"\"",
];

#[test]
fn deep_wide_and_self_multiplying_files_are_refused_or_read_in_time() {
    read_anything("a.toml", format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes());
    read_anything("a.toml", format!("a = {}1", "{a=".repeat(100_000)).as_bytes());
    read_anything("a.toml", format!("{}a = 1", "a.".repeat(100_000)).as_bytes());
    read_anything("a.toml", format!("[{}a]", "a.".repeat(100_000)).as_bytes());
    read_anything("a.yaml", "[".repeat(100_000).as_bytes());
    read_anything("a.yaml", "- ".repeat(100_000).as_bytes());
    read_anything("a.yaml", format!("a: {}", "{a: ".repeat(100_000)).as_bytes());
    let mut bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..20 {
        let item = format!("*x{}", level - 1);
        writeln!(bomb, "x{level}: &x{level} [{}]", vec![item; 9].join(", ")).unwrap();
    }
    read_anything("a.yaml", bomb.as_bytes());
    let mut wide = "[namespaces.a]\n".to_owned();
    for app in 0..3000 {
        writeln!(wide, "[apps.a{app}]\nnamespace = \"a\"\nenabled = true\nchart = \"chart\"").unwrap();
        if app > 0 {
            writeln!(wide, "needs = [\"a/a{}\"]", app - 1).unwrap();
        }
    }
    let source = Source { name: "a.toml".into(), bytes: wide.into_bytes(), dir: PathBuf::new() };
    let loaded = load(&[source], &BTreeMap::new(), false).unwrap();
    assert_eq!(loaded.state.edges().count(), 2999);
}

fn print(loaded: &Loaded) -> String {
    let mut out = String::new();
    print_state(&mut out, &loaded.state).unwrap();
    for note in &loaded.notes {
        writeln!(out, "note[{}] {note}", note.code.as_str()).unwrap();
    }
    out
}

fn print_state(out: &mut String, state: &DesiredState) -> std::fmt::Result {
    writeln!(out, "context {}", state.context)?;
    for (key, value) in &state.metadata {
        writeln!(out, "metadata {key} = {value:?}")?;
    }
    print_settings(out, &state.settings)?;
    for (name, space) in &state.namespaces {
        let protected = if space.protected { " protected" } else { "" };
        writeln!(
            out,
            "namespace {name}{protected} labels {:?} annotations {:?}",
            space.labels, space.annotations
        )?;
        for limit in &space.limits {
            writeln!(out, "  limit {} {:?}", limit.kind, limit.parts)?;
        }
        if !space.quotas.is_empty() {
            writeln!(out, "  quotas {:?}", space.quotas)?;
        }
    }
    for release in &state.releases {
        print_release(out, release)?;
    }
    for moved in &state.moved {
        writeln!(out, "moved {} -> {}", moved.from, moved.to)?;
    }
    for edge in state.edges() {
        writeln!(out, "edge {} -> {} {:?}", edge.dependant, edge.needed, edge.when)?;
    }
    Ok(())
}

fn print_settings(out: &mut String, settings: &Settings) -> std::fmt::Result {
    let expect = &settings.expect_cluster;
    writeln!(out, "settings")?;
    writeln!(
        out,
        "  kubeContext {:?} expect {:?} {:?} {:?}",
        settings.kube_context, expect.server, expect.uid, expect.context
    )?;
    writeln!(
        out,
        "  parallel {} lock {:?} wait {:?} lease {:?} onError {:?} reverseDelete {}",
        settings.parallel,
        settings.lock,
        settings.lock_wait,
        settings.lease_duration,
        settings.on_error,
        settings.reverse_delete
    )?;
    let pending = match settings.foreign_pending_after {
        Patience::For(time) => format!("{time:?}"),
        Patience::Forever => "never".to_owned(),
    };
    let prune = match settings.max_prune {
        MaxPrune::Count(count) => count.to_string(),
        MaxPrune::Percent(share) => format!("{share}%"),
    };
    writeln!(
        out,
        "  recover {:?} onInterrupted {:?} foreignPendingAfter {pending} fence {} maxPrune {prune}",
        settings.recover, settings.on_interrupted, settings.fence_taken_over
    )
}

fn print_release(out: &mut String, release: &Release) -> std::fmt::Result {
    let enabled = if release.enabled { "enabled" } else { "disabled" };
    let protected = if release.protected { " protected" } else { "" };
    writeln!(out, "release {} ({} at {}) {enabled}{protected}", release.key, release.app, release.origin)?;
    let source = match &release.chart.source {
        ChartSource::Local(path) => format!("local {}", path.display()),
        ChartSource::Repository { repository, chart } => format!("repository {repository} chart {chart}"),
        ChartSource::Oci(url) | ChartSource::Url(url) => url.clone(),
        ChartSource::Git(git) => format!("git {} folder {} ref {}", git.url, git.folder, git.reference),
    };
    let version = match &release.chart.version {
        ChartVersion::Any => "any",
        ChartVersion::Latest => "latest",
        ChartVersion::Matching(version) => version,
    };
    writeln!(out, "  chart {source} version {version}")?;
    if !release.description.is_empty() || release.group.is_some() || !release.labels.is_empty() {
        writeln!(
            out,
            "  about {:?} group {:?} labels {:?}",
            release.description, release.group, release.labels
        )?;
    }
    if let Some(context) = &release.kube_context {
        writeln!(out, "  cluster {context}")?;
    }
    for file in &release.values.files {
        writeln!(out, "  values file {}", file.display())?;
    }
    for file in &release.values.secrets {
        writeln!(out, "  secrets file {}", file.display())?;
    }
    if !release.values.inline.is_empty() {
        writeln!(out, "  values {:?}", release.values.inline)?;
    }
    for (kind, entries) in [("set", &release.values.set), ("setString", &release.values.set_string)] {
        for SetEntry { path, text } in entries {
            writeln!(out, "  {kind} {path} = {text:?}")?;
        }
    }
    for entry in &release.values.set_file {
        writeln!(out, "  setFile {} = {}", entry.path, entry.file.display())?;
    }
    let flags = &release.values.flags;
    for (name, arguments) in [
        ("set-json", &flags.set_json),
        ("set", &flags.set),
        ("set-string", &flags.set_string),
        ("set-file", &flags.set_file),
        ("set-literal", &flags.set_literal),
    ] {
        for argument in arguments {
            writeln!(out, "  --{name} {argument}")?;
        }
    }
    if release.reuse_values != ReuseValues::Reset || release.sub_notes || release.skip_schema {
        let (reuse, notes, schema) = (release.reuse_values, release.sub_notes, release.skip_schema);
        writeln!(out, "  lastValues {reuse:?} subNotes {notes} skipSchema {schema}")?;
    }
    writeln!(
        out,
        "  priority {} wait {} timeout {:?} maxHistory {} noHooks {} test {} crds {:?}",
        release.priority,
        release.wait,
        release.timeout,
        release.max_history,
        release.no_hooks,
        release.test,
        release.crds
    )?;
    writeln!(
        out,
        "  onFailure {:?} onRemove {:?} adopt {:?} force {:?}",
        release.on_failure, release.on_remove, release.adopt, release.force
    )?;
    for object in &release.allow_data_loss {
        writeln!(out, "  allowDataLoss {object}")?;
    }
    for hook in &release.hooks {
        writeln!(out, "  hook {} {:?} {:?}", hook.moment.key(), hook.work, hook.timeout)?;
    }
    if let Some(command) = &release.post_renderer {
        writeln!(out, "  postRenderer {:?} {:?}", command.program, command.arguments)?;
    }
    if release.restart_on_config {
        writeln!(out, "  restartOnConfig")?;
    }
    for rule in &release.field_conflicts {
        let path = rule.path.as_ref().map(ToString::to_string);
        writeln!(out, "  conflict {path:?} {:?} {:?}", rule.manager, rule.action)?;
    }
    for rule in &release.ignore {
        writeln!(out, "  ignore {:?} {:?} {}", rule.kind, rule.name, rule.path)?;
    }
    for object in &release.create_only {
        writeln!(out, "  createOnly {object}")?;
    }
    Ok(())
}
