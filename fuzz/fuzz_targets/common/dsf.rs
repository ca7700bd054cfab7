//! Any bytes as desired-state files: a state, or problems that can be shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use statectl::dsf::{self, Files, Options, PathKind, Source};

/// A tree in which the name of a path tells what it is.
struct Tree;

impl Files for Tree {
    fn kind(&self, path: &Path) -> PathKind {
        let name = path.to_string_lossy();
        if name.contains("missing") {
            PathKind::Missing
        } else if name.contains("locked") {
            PathKind::Unreadable("permission denied".to_owned())
        } else if path.extension().is_some() {
            PathKind::File
        } else {
            PathKind::Folder
        }
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        // What imports itself, and what imports another file.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!("imports = [\"{name}\", \"other.toml\"]\n[vars]\nb = \"$A\"\n").into_bytes())
    }

    fn names(&self, _: &Path) -> Result<Vec<String>, String> {
        Ok(vec!["a.toml".to_owned(), "b.yaml".to_owned(), ".c.toml".to_owned()])
    }
}

/// Reads `bytes` in the syntax of a file with this extension.
///
/// A line of three equal signs divides them into files, of which later ones are laid over earlier ones.
pub fn check(bytes: &[u8], extension: &str) {
    let env = [("A", "a"), ("EMPTY", ""), ("NAME", "shop"), ("LINES", "x\ny: [\n\"$A"), ("KEY", "a.b=c,d")];
    let env: BTreeMap<String, String> =
        env.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let mut sources = Vec::new();
    let mut rest = bytes;
    loop {
        let divider = rest.windows(5).position(|window| window == b"\n===\n");
        let (file, after) = divider.map_or((rest, None), |at| (&rest[..at + 1], Some(&rest[at + 5..])));
        let name = format!("state{}.{extension}", sources.len());
        sources.push(Source { name, bytes: file.to_vec(), dir: PathBuf::from("dir") });
        match after {
            Some(after) if sources.len() < 3 => rest = after,
            _ => break,
        }
    }
    for helmsman_compat in [false, true] {
        let options = Options {
            helmsman_compat,
            check_only: helmsman_compat,
            roots: Some(vec![PathBuf::from(".")]),
            environment: helmsman_compat.then(|| "staging".to_owned()),
            set_app: vec!["web.values.a.b=[1, x]".to_owned(), "web.force=true".to_owned()],
            ..Options::default()
        };
        match dsf::load(&sources, &env, &Tree, &options) {
            Ok(loaded) => {
                for release in &loaded.state.releases {
                    let _ = loaded.state.is_protected(release);
                }
                let _ = loaded.state.edges().count();
            }
            Err(problems) => {
                let _ = problems.to_string();
                for problem in problems.iter() {
                    let _ = problem.excerpt(problems.sources()).to_string();
                }
            }
        }
    }
}
