//! The flags of Helmsman that are no flags here: each is passed over with a note, turned into another one, or refused
//! with the way to go instead. None is ignored silently, for some of them delete.

use std::ffi::OsString;

use crate::failure::{Failure, FailureClass};

/// What becomes of a flag.
#[derive(Clone, Copy)]
enum Fate {
    /// It changes nothing here, for this reason.
    Note(&'static str),
    /// The same, and it takes a value.
    NoteOfValue(&'static str),
    /// It is another flag here.
    Becomes(&'static str),
    /// It would mean something that is not done so.
    Refused(&'static str),
}

use Fate::{Becomes, Note, NoteOfValue, Refused};

const FLAGS: &[(&str, Fate)] = &[
    ("kubectl-diff", Note("differences are asked of the API server")),
    ("download-charts", Note("charts are always read before anything is done")),
    ("no-update", Note("no index of repositories is kept by Helm's own configuration")),
    ("no-cleanup", Note("there are no temporary files")),
    ("no-banner", Note("there is no banner")),
    ("no-fancy", Note("off a terminal nothing is drawn")),
    (
        "no-recursive-env-expand",
        Note("variables in the values of variables are left alone without `--helmsman-compat`"),
    ),
    ("no-ssm-subst", Note("parameters of AWS SSM are never read")),
    ("skip-ignored", Note("releases outside the selection are never listed as changes")),
    ("skip-validation", Note("files are always checked; `validate --skip-charts` leaves charts out")),
    ("debug", Note("what is done is told as it is done")),
    ("verbose", Note("what is done is told as it is done")),
    ("show-diff", Note("`statectl diff` shows the differences object by object")),
    ("diff-context", NoteOfValue("`statectl diff` shows whole fields")),
    ("pending-max-retries", NoteOfValue("`settings.lockWait` says how long another run is waited for")),
    ("check-for-chart-updates", Note("a plan never looks for newer charts than it was asked for")),
    ("no-color", Becomes("--color=never")),
    (
        "force-upgrades",
        Refused(
            "write `force` at the apps that need it: `force = [\"replace\"]`; the plan shows what it would delete",
        ),
    ),
    (
        "replace-on-rename",
        Refused(
            "a chart of another name is upgraded in place; `force = [\"reinstall\"]` at the app replaces the release",
        ),
    ),
    ("parallel-files", Refused("start one statectl for each file: they do not get into each other's way")),
    (
        "ns-override",
        Refused(
            "it would uninstall the releases of the file's own namespaces; use `environments` or `${vars.NAME}` for namespaces",
        ),
    ),
    (
        "context-override",
        Refused("the owner of a release is read from its records; `statectl adopt` takes one over"),
    ),
    (
        "migrate-context",
        Refused(
            "`statectl adopt FILE --from-context NAME` takes the releases of that context over, and shows them first",
        ),
    ),
    (
        "always-upgrade",
        Refused(
            "a release is upgraded where something differs; `statectl drift` shows what was changed by others",
        ),
    ),
    ("show-secrets", Refused("secrets are never shown")),
    ("subst-ssm-values", Refused("parameters of AWS SSM are not read; pass them in environment variables")),
    ("update-deps", Refused("run `helm dependency update` on the chart before")),
    ("no-ns", Refused("namespaces of the file are made and labelled; name only those in it that should be")),
];

/// Flags that both have: Go's flags may be written with one dash.
const SHARED: &[&str] = &[
    "target",
    "exclude-target",
    "group",
    "exclude-group",
    "spec",
    "kubeconfig",
    "detailed-exit-code",
    "keep-untracked-releases",
    "skip-pending",
    "no-env-subst",
    "subst-env-values",
];

/// What the arguments mean, and what to tell about them.
pub(super) struct Translated {
    pub(super) arguments: Vec<OsString>,
    pub(super) notes: Vec<String>,
}

/// Replaces Helmsman's flags. Arguments behind `--`, and values of other flags, stay as they are.
///
/// # Errors
/// A flag that would mean something that is not done so.
pub(super) fn translate(arguments: Vec<OsString>) -> Result<Translated, Failure> {
    let mut out = Translated { arguments: Vec::with_capacity(arguments.len()), notes: Vec::new() };
    let is_verb =
        arguments.get(1).and_then(|first| first.to_str()).is_some_and(|first| !first.starts_with('-'));
    let mut rest = arguments.into_iter();
    out.arguments.extend(rest.next());
    // `template` has flags of Helm, which mean what they mean there.
    let mut plain = false;
    while let Some(argument) = rest.next() {
        let Some(text) = argument.to_str().map(str::to_owned).filter(|_| !plain) else {
            out.arguments.push(argument);
            continue;
        };
        plain = text == "--" || (text == "template" && out.arguments.len() == 1);
        let Some(name) = text.strip_prefix("--").or_else(|| text.strip_prefix('-')) else {
            out.arguments.push(argument);
            continue;
        };
        let (name, inline) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        if !is_verb && matches!(name, "apply" | "dry-run" | "destroy") {
            let verb = if name == "dry-run" { "plan" } else { name };
            let failure = Failure::new(FailureClass::Usage, format!("`{text}` is a verb here"));
            return Err(failure.hint(format!("write `statectl {verb} FILE…`")));
        }
        match FLAGS.iter().find(|(known, _)| *known == name).map(|(_, fate)| *fate) {
            Some(Refused(_)) if inline == Some("false") => {}
            Some(Refused(why)) => {
                let failure =
                    Failure::new(FailureClass::Usage, format!("`--{name}` of Helmsman is not taken over"));
                return Err(failure.hint(why));
            }
            Some(Becomes(flag)) => out.arguments.push(flag.into()),
            Some(Note(why)) => out.notes.push(format!("`--{name}` changes nothing here: {why}")),
            Some(NoteOfValue(why)) => {
                out.notes.push(format!("`--{name}` changes nothing here: {why}"));
                if inline.is_none() {
                    rest.next();
                }
            }
            None if SHARED.contains(&name) && !text.starts_with("--") => {
                out.arguments.push(format!("-{text}").into());
            }
            None => out.arguments.push(argument),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str, expected: Result<(&str, usize), &str>) {
        let given = std::iter::once("statectl").chain(arguments.split(' ')).map(OsString::from).collect();
        let found = translate(given).map(|found| {
            let words: Vec<String> =
                found.arguments[1..].iter().map(|word| word.to_str().unwrap().to_owned()).collect();
            (words.join(" "), found.notes.len())
        });
        let found = found.map_err(|failure| failure.hints.join(" "));
        match expected {
            Ok((words, notes)) => assert_eq!(found, Ok((words.to_owned(), notes)), "{arguments}"),
            Err(hint) => {
                assert!(found.as_ref().is_err_and(|found| found.contains(hint)), "{arguments}: {found:?}")
            }
        }
    }

    #[test]
    fn flags_of_helmsman_are_noted_turned_or_refused() {
        check("plan a.toml --detailed-exit-code", Ok(("plan a.toml --detailed-exit-code", 0)));
        check(
            "plan -f a.toml -target web --no-banner --no-color",
            Ok(("plan -f a.toml --target web --color=never", 1)),
        );
        check("plan a.toml --diff-context 3 --pending-max-retries=2 -p 4", Ok(("plan a.toml -p 4", 2)));
        check("apply a.toml -debug --show-diff", Ok(("apply a.toml", 2)));
        check("apply a.toml --always-upgrade=false", Ok(("apply a.toml", 0)));
        check("template web ./c --debug", Ok(("template web ./c --debug", 0)));
        check("plan -- --debug", Ok(("plan -- --debug", 0)));
        check("--apply -f a.toml", Err("statectl apply"));
        check("-f a.toml -dry-run", Err("statectl plan"));
        for (name, fate) in FLAGS {
            let (flag, words) = (format!("plan a.toml --{name}"), "plan a.toml");
            match fate {
                Note(_) => check(&flag, Ok((words, 1))),
                NoteOfValue(_) => check(&format!("{flag} 3"), Ok((words, 1))),
                Becomes(other) => check(&flag, Ok((&format!("{words} {other}"), 0))),
                Refused(why) => check(&flag, Err(why)),
            }
        }
    }
}
