//! No secret of a test is in anything that a run writes.
//!
//! Tests name their secrets; each end of a run looks for all of them in what it printed, in the files that its arguments
//! name as outputs, in its cache and in the folder for temporary files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Shorter ones would be found in any text.
const SHORTEST: usize = 8;

/// The secrets, and the texts by which each is found.
static SECRETS: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());
/// Files in which tests put secrets themselves.
static INPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The temporary folder of all runs of this process.
static TEMPORARY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// Registers a secret and returns it.
pub(crate) fn secret(text: &str) -> &str {
    assert!(text.len() >= SHORTEST, "too short to be looked for: {text}");
    let mut forms = Vec::new();
    for part in [text].into_iter().chain(text.lines()).filter(|part| part.len() >= SHORTEST) {
        let json = serde_json::Value::from(part).to_string();
        forms.extend([part.to_owned(), json[1..json.len() - 1].to_owned(), part.replace('\'', "''")]);
        // In HTML and XML.
        let escapes = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
        forms.push(escapes.iter().fold(part.to_owned(), |text, (from, to)| text.replace(*from, to)));
        // Base64 in all three ways to divide it, as a part of whatever is longer.
        for shift in 0..3_usize {
            let encoded = STANDARD_NO_PAD.encode([&b"__"[..shift], part.as_bytes()].concat());
            let own = encoded.get((shift * 8).div_ceil(6)..(shift + part.len()) * 8 / 6);
            forms.extend(own.filter(|own| own.len() >= SHORTEST).map(str::to_owned));
        }
    }
    forms.sort();
    forms.dedup();
    SECRETS.lock().unwrap().insert(text.to_owned(), forms);
    text
}

/// Tells that a test put secrets into a file itself, and returns the path.
pub(crate) fn input(path: &Path) -> &Path {
    INPUTS.lock().unwrap().push(path.to_owned());
    path
}

/// The folder for temporary files.
pub(crate) fn temporary() -> &'static Path {
    TEMPORARY.path()
}

/// Returns the form in which a secret is in a text, if one is.
pub(crate) fn found_in(bytes: &[u8]) -> Option<String> {
    let secrets = SECRETS.lock().unwrap();
    let mut forms = secrets.values().flatten();
    forms.find(|form| memchr::memmem::find(bytes, form.as_bytes()).is_some()).cloned()
}

/// Fails the test if a secret is in a text.
#[track_caller]
pub(crate) fn text(what: &str, text: &str) {
    if let Some(form) = found_in(text.as_bytes()) {
        panic!("the secret {form} is in {what}:\n{text}");
    }
}

/// Fails the test if a secret is in a file, or in any file below a folder, but for those that tests wrote.
#[track_caller]
pub(crate) fn files(path: &Path) {
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if INPUTS.lock().unwrap().contains(&path) {
            continue;
        }
        if path.is_dir() {
            // What goes while it is looked at holds nothing.
            open.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if let Some(form) = std::fs::read(&path).ok().and_then(|bytes| found_in(&bytes)) {
            panic!("the secret {form} is in {}", path.display());
        }
    }
}

/// Looks at everything that a run may have written besides what it printed.
#[track_caller]
pub(crate) fn outputs(command: &Command) {
    let folder = command.get_current_dir().unwrap_or(Path::new("."));
    let arguments: Vec<&OsStr> = command.get_args().collect();
    for pair in arguments.windows(2) {
        let [name, value] = pair else { continue };
        let value = value.to_str().unwrap_or_default();
        let path = match name.to_str() {
            Some("--out") => Some(value),
            Some("-o" | "--output") => value.split_once('=').map(|(_, path)| path),
            _ => None,
        };
        if let Some(path) = path {
            files(&folder.join(path));
        }
    }
    for (name, value) in command.get_envs() {
        let below = match name.to_str() {
            Some("STATECTL_CACHE" | "TMPDIR") => "",
            Some("XDG_CACHE_HOME") => "statectl",
            Some("HOME") => ".cache/statectl",
            _ => continue,
        };
        if let Some(value) = value {
            files(&folder.join(value).join(below));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::statectl::finish;

    /// Whether the end of this run fails the test.
    fn is_caught(command: &mut Command) -> bool {
        let run = std::panic::AssertUnwindSafe(|| drop(finish(command)));
        std::panic::catch_unwind(run).is_err()
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env_clear().env("PATH", "/usr/bin:/bin");
        command
    }

    #[test]
    fn a_planted_leak_is_found_wherever_it_is() {
        let planted = secret("planted-\"Leak\"-7731");
        let folder = tempfile::tempdir().unwrap();
        for script in ["true", "echo nothing here", "echo planted-Leak"] {
            assert!(!is_caught(&mut shell(script)), "{script}");
        }
        for script in [
            "printf %s \"$LEAK\"",
            "printf %s \"$LEAK\" >&2",
            "printf 'a=%s.' \"$LEAK\" | base64",
            "printf 'ab=%s.' \"$LEAK\" | base64",
            "printf '%s' \"$LEAK\" | sed 's/\"/\\\\\"/g'",
        ] {
            assert!(is_caught(shell(script).env("LEAK", planted)), "{script}");
        }
        for name in ["TMPDIR", "STATECTL_CACHE"] {
            let script = "mkdir -p \"$PLACE/a\" && printf %s \"$LEAK\" >\"$PLACE/a/b\"";
            let place = folder.path().join(name);
            let mut command = shell(script);
            command.env("LEAK", planted).env("PLACE", &place).env(name, &place);
            assert!(is_caught(&mut command), "{name}");
        }
        let saved = folder.path().join("plan.json");
        for arguments in [["--out", saved.to_str().unwrap()], ["-o", &format!("json={}", saved.display())]] {
            let mut command = shell("printf %s \"$LEAK\" >\"$FILE\"");
            command.args(arguments).env("LEAK", planted).env("FILE", &saved);
            assert!(is_caught(&mut command), "{arguments:?}");
        }
        // A file that the test itself wrote is no leak.
        assert!(std::panic::catch_unwind(|| files(folder.path())).is_err());
        input(&saved);
        files(&saved);
    }
}
