//! Flags that the environment and the user's configuration file may give: a flag wins over a variable, a variable over
//! the file.
//!
//! Only what says how a person, or a machine, works: which releases, what is removed and what is forced is said on each
//! command line, or in the desired-state file. The file is the user's own and never that of a repository: a pull request
//! cannot change it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Command};

use crate::failure::{Failure, FailureClass};
use crate::host::files;
use crate::text;

/// A flag that may stand elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// The flag without `--`; also the key of the file.
    pub(super) flag: &'static str,
    /// What it is for, in short.
    pub(super) about: &'static str,
}

const fn setting(flag: &'static str, about: &'static str) -> Setting {
    Setting { flag, about }
}

/// All of them.
pub(super) const SETTINGS: [Setting; 19] = [
    setting("allow-exec", "programs that files name may run"),
    setting("allow-outside-paths", "paths in files may lead out of their repository"),
    setting("ci", "which CI system reads the output: `auto`, `none`, `github`, `gitlab`"),
    setting("color", "when to colour: `auto`, `always`, `never`"),
    setting("detailed-exit-code", "exit with 2 when changes are pending"),
    setting("environment", "the environment of the files"),
    setting("helmsman-compat", "read files as leniently as Helmsman"),
    setting("hook-logs", "show the logs of hooks that ended well, too"),
    setting("kube-context", "the context of the kubeconfig"),
    setting("kubeconfig", "the kubeconfig"),
    setting("lock-wait", "how long a lock of another run is waited for"),
    setting("locked", "use only charts that `statectl.lock` has"),
    setting("no-env-subst", "leave `$NAME` as it is written"),
    setting("offline", "fetch no chart"),
    setting("parallel", "releases at once inside a batch"),
    setting("skip-pending", "leave releases with a pending operation alone"),
    setting("verify", "which objects the server is asked about"),
    setting("warnings-as-errors", "the server's warnings count as refusals"),
    setting("yes", "do not ask"),
];

impl Setting {
    /// Returns the name of the variable.
    pub(super) fn variable(&self) -> String {
        format!("STATECTL_{}", self.flag.to_ascii_uppercase().replace('-', "_"))
    }
}

/// Where a default came from.
#[derive(Clone, Debug)]
pub(super) struct Given {
    flag: &'static str,
    value: String,
    source: String,
}

/// Returns what the environment and the file give.
///
/// # Errors
/// The file cannot be read, is no TOML, or has a key that is no setting.
pub(super) fn given(environment: &BTreeMap<String, String>) -> Result<Vec<Given>, Failure> {
    let mut given: BTreeMap<&'static str, Given> = BTreeMap::new();
    if let Some((path, needed)) = file(environment)
        && (needed || files::kind(&path) == files::PathKind::File)
    {
        for entry in read(&path)? {
            given.insert(entry.flag, entry);
        }
    }
    for setting in &SETTINGS {
        let variable = setting.variable();
        if let Some(value) = environment.get(&variable) {
            let entry = Given { flag: setting.flag, value: value.clone(), source: variable };
            given.insert(setting.flag, entry);
        }
    }
    Ok(given.into_values().collect())
}

/// Returns the path of the file, and whether it has to be there.
fn file(environment: &BTreeMap<String, String>) -> Option<(PathBuf, bool)> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
    if let Some(path) = environment.get("STATECTL_CONFIG") {
        // An empty one means: no file.
        return (!path.is_empty()).then(|| (PathBuf::from(path), true));
    }
    let folder = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some((folder.join("statectl").join("config.toml"), false))
}

fn read(path: &std::path::Path) -> Result<Vec<Given>, Failure> {
    let name = path.display();
    let text = files::read_text(path)
        .map_err(|error| Failure::of(format!("{name}: the configuration cannot be read"), &error).usage())?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| {
        Failure::new(
            FailureClass::Usage,
            format!("{name}: the configuration is no TOML: {}", error.message()),
        )
    })?;
    let mut out = Vec::new();
    for (key, value) in table {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.flag == key) else {
            let failure = Failure::new(FailureClass::Usage, format!("{name}: there is no setting `{key}`"));
            let near = text::closest(&key, SETTINGS.iter().map(|setting| setting.flag));
            return Err(match near {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("`statectl docs configuration` lists them".to_owned()),
            });
        };
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Boolean(flag) => flag.to_string(),
            toml::Value::Integer(number) => number.to_string(),
            other => {
                let kind = other.type_str();
                let message = format!("{name}: `{key}` cannot be of type {kind}");
                return Err(
                    Failure::new(FailureClass::Usage, message).hint("write a text, a number, true or false")
                );
            }
        };
        out.push(Given { flag: setting.flag, value, source: name.to_string() });
    }
    Ok(out)
}

/// Returns the command with what was given as defaults of its flags.
///
/// # Errors
/// A flag that takes no value was given something else than yes or no.
pub(super) fn configured(command: Command, given: &[Given]) -> Result<Command, Failure> {
    for entry in given.iter().filter(|entry| is_switch(&command, entry.flag)) {
        if truth(&entry.value).is_none() {
            let failure = Failure::new(
                FailureClass::Usage,
                format!(
                    "{}: `{}` is neither true nor false (for --{})",
                    entry.source, entry.value, entry.flag
                ),
            );
            return Err(failure.hint("write `true` or `false`"));
        }
    }
    Ok(with_defaults(command, given))
}

fn with_defaults(command: Command, given: &[Given]) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let mut command = command.mut_args(|arg| {
        let entry = given.iter().find(|entry| arg.get_long() == Some(entry.flag));
        match (entry, arg.get_action()) {
            (None, _) => arg,
            (Some(entry), ArgAction::SetTrue) => {
                let value = truth(&entry.value).unwrap_or_default();
                arg.default_value(if value { "true" } else { "false" })
            }
            (Some(entry), _) => arg.default_value(OsString::from(&entry.value)),
        }
    });
    for name in names {
        command = command.mut_subcommand(name, |verb| with_defaults(verb, given));
    }
    command
}

fn is_switch(command: &Command, flag: &str) -> bool {
    let here = command.get_arguments().find(|arg| arg.get_long() == Some(flag));
    here.is_some_and(|arg| matches!(arg.get_action(), ArgAction::SetTrue))
        || command.get_subcommands().any(|verb| is_switch(verb, flag))
}

fn truth(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "" | "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Returns what to say behind a usage error, since a value may come from elsewhere than the command line.
pub(super) fn note(given: &[Given]) -> Option<String> {
    if given.is_empty() {
        return None;
    }
    let all: Vec<String> =
        given.iter().map(|entry| format!("--{} from {}", entry.flag, entry.source)).collect();
    Some(format!("note: not from the command line: {}", all.join(", ")))
}

/// Other variables that are read, and what for. Those of CI systems are in `lock::job`.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("NO_COLOR", "set and not empty: no colour, unless `--color` says so"),
    ("CLICOLOR_FORCE", "not empty and not 0: colour even where there is no terminal"),
    ("TERM", "`dumb`: neither colour nor movement"),
    ("CI", "set: no movement on stderr"),
    (
        "GITHUB_ACTIONS",
        "`true`: GitHub reads the output, unless `--ci` says otherwise; GITLAB_CI is the same for GitLab",
    ),
    (
        "GITHUB_OUTPUT",
        "on GitHub: takes the outputs of the step; GITHUB_STEP_SUMMARY takes the summary of the job",
    ),
    ("KUBECONFIG", "kubeconfigs, merged as kubectl merges them; `--kubeconfig` wins"),
    (
        "HTTPS_PROXY",
        "the proxy for clusters, repositories and registries; HTTP_PROXY, ALL_PROXY and NO_PROXY as usual",
    ),
    ("HOME", "where the folders below are looked for"),
    ("XDG_CONFIG_HOME", "the folder of the configuration file and of age keys; `~/.config` without it"),
    ("XDG_CACHE_HOME", "the folder of kept charts; `~/.cache` without it"),
    ("STATECTL_CONFIG", "the configuration file; empty means none"),
    ("STATECTL_CACHE", "the folder of kept charts; wins over XDG_CACHE_HOME"),
    ("DOCKER_CONFIG", "the folder of the credentials of registries"),
    ("HELM_CONFIG_HOME", "where Helm's own credentials are looked for"),
    ("HELM_REGISTRY_CONFIG", "Helm's credentials of registries"),
    ("HELM_REPOSITORY_CONFIG", "Helm's repositories, for their credentials"),
    ("SOPS_AGE_KEY", "age keys"),
    ("SOPS_AGE_KEY_FILE", "a file of age keys"),
    (
        "VAULT_ADDR",
        "the address behind `ref+vault://`; BAO_ADDR is the same for OpenBao, as for each of these",
    ),
    ("VAULT_TOKEN", "its token; `~/.vault-token` without it"),
    ("VAULT_CACERT", "a file of authorities to trust"),
    ("VAULT_CLIENT_CERT", "a certificate to show; VAULT_CLIENT_KEY is its key"),
    ("VAULT_SKIP_VERIFY", "refused when set: a vault whose certificate cannot be checked is not asked"),
    ("USER", "who holds a lock, for other people to read; LOGNAME and USERNAME are the same"),
    (
        "GITHUB_BASE_REF",
        "the target of a pull request, for `affected --base auto`; on GitLab CI_MERGE_REQUEST_DIFF_BASE_SHA",
    ),
    ("STATECTL_COMMIT", "when it is built: the commit that `--version` shows"),
    ("GITHUB_RUN_ID", "with GITHUB_SERVER_URL and GITHUB_REPOSITORY: which job holds a lock"),
    ("CI_JOB_URL", "the same on GitLab, with CI_PIPELINE_URL and CI_PIPELINE_ID"),
    ("BUILD_URL", "the same on Jenkins, with BUILD_NUMBER"),
    ("BUILDKITE_BUILD_URL", "the same on Buildkite, with BUILDKITE_BUILD_NUMBER"),
    ("CIRCLE_BUILD_URL", "the same on CircleCI, with CIRCLE_BUILD_NUM"),
    (
        "BUILD_BUILDID",
        "the same on Azure Pipelines, with SYSTEM_TEAMFOUNDATIONCOLLECTIONURI and SYSTEM_TEAMPROJECT",
    ),
    ("BITBUCKET_BUILD_NUMBER", "the same on Bitbucket, with BITBUCKET_GIT_HTTP_ORIGIN"),
    ("DRONE_BUILD_LINK", "the same on Drone, with DRONE_BUILD_NUMBER"),
    ("TRAVIS_JOB_WEB_URL", "the same on Travis, with TRAVIS_BUILD_NUMBER"),
];
