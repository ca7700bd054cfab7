//! How long it takes to read, check and resolve a desired-state file of 1,000 apps, and how much memory it needs.
//!
//! `cargo bench --bench dsf`; `-- APPS` for another number of apps. Prints the median of several runs for both syntaxes.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark measures and prints")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use statectl::dsf::{self, Files, Options, PathKind, Source};

const RUNS: usize = 11;

/// A tree in which everything is there.
struct Tree;

impl Files for Tree {
    fn kind(&self, path: &Path) -> PathKind {
        if path.extension().is_some() { PathKind::File } else { PathKind::Folder }
    }
}

fn main() -> Result<(), std::fmt::Error> {
    let apps = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000);
    let env = BTreeMap::from([("TAG".to_owned(), "1.2.3".to_owned())]);
    for (name, text) in [("state.toml", toml(apps)?), ("state.yaml", yaml(apps)?)] {
        let source = Source { name: name.to_owned(), bytes: text.into_bytes(), dir: PathBuf::from("dir") };
        let mut times = Vec::new();
        let mut releases = 0;
        for _ in 0..RUNS {
            let start = Instant::now();
            let loaded = dsf::load(std::slice::from_ref(&source), &env, &Tree, &Options::default());
            times.push(start.elapsed());
            releases = loaded.map_or(0, |loaded| loaded.state.releases.len());
        }
        times.sort_unstable();
        let median = times[times.len() / 2];
        println!("{name}: {releases} releases, {} KiB, {} ms", source.bytes.len() / 1024, median.as_millis());
        assert_eq!(releases, apps, "the file is fine");
    }
    if let Some(peak) = peak() {
        println!("peak memory of the process: {} MiB", peak / 1024);
    }
    Ok(())
}

/// The most memory that the process had, in KiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn toml(apps: usize) -> Result<String, std::fmt::Error> {
    let mut out = "context = \"bench\"\n[vars]\nregion = \"eu\"\n[defaults]\nwait = true\n\
                   [appsTemplates.web]\nchart = \"charts/web\"\nvaluesFiles = [\"common.yaml\"]\n"
        .to_owned();
    for space in 0..20 {
        writeln!(out, "[namespaces.team-{space}]\nlabels = {{ team = \"t{space}\" }}")?;
    }
    for app in 0..apps {
        let (space, needs) = (app % 20, app.saturating_sub(20));
        writeln!(
            out,
            "[apps.web-{app}]\nextends = \"web\"\nnamespace = \"team-{space}\"\nenabled = true\n\
             valuesFile = \"env/web-{app}.yaml\"\nlabels = {{ tier = \"web\", shard = \"{space}\" }}\n\
             set = {{ \"image.tag\" = \"$TAG\", region = \"${{vars.region}}\" }}\n\
             values = {{ replicas = {space}, ingress = {{ host = \"web-{app}.example.org\", paths = [\"/a\", \"/b\"] }} }}\n\
             createOnly = [{{ kind = \"Secret\", name = \"web-{app}\" }}]"
        )?;
        if app >= 20 {
            writeln!(out, "needs = [\"team-{space}/web-{needs}\"]")?;
        }
    }
    Ok(out)
}

fn yaml(apps: usize) -> Result<String, std::fmt::Error> {
    let mut out =
        "context: bench\nappsTemplates:\n  web: &web {chart: charts/web, wait: true}\nnamespaces:\n"
            .to_owned();
    for space in 0..20 {
        writeln!(out, "  team-{space}: {{labels: {{team: t{space}}}}}")?;
    }
    out.push_str("apps:\n");
    for app in 0..apps {
        writeln!(
            out,
            "  web-{app}:\n    <<: *web\n    namespace: team-{}\n    enabled: true\n    valuesFiles: [common.yaml, env/web-{app}.yaml]\n    \
             set: {{image.tag: $TAG}}\n    values:\n      replicas: 3\n      ingress:\n        host: web-{app}.example.org\n        paths: [/a, /b]",
            app % 20
        )?;
    }
    Ok(out)
}
