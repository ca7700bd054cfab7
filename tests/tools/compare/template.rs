//! `statectl template` against `helm template`, byte for byte.

use std::path::Path;
use std::process::Command;

use crate::cases::Case;
use crate::{Options, Outcome, first_difference};

/// How often Helm is asked again before a difference counts.
const TRIES: usize = 12;

/// What a program printed, and its exit code.
struct Printed {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Renders a case with both programs.
///
/// What comes out differently each time Helm runs is compared as far as it does not: document by document.
pub(crate) fn compare(options: &Options, case: &Case) -> Outcome {
    let helm = match template(&options.helm, options, case) {
        Ok(printed) => printed,
        Err(message) => return Outcome::Skipped(message),
    };
    let ours = match template(&options.statectl, options, case) {
        Ok(printed) => printed,
        Err(message) => return Outcome::Skipped(message),
    };
    match (helm.code, ours.code) {
        (Some(0), Some(0)) if helm.stdout == ours.stdout => Outcome::Same("byte for byte"),
        (Some(0), Some(0)) => with_random_parts(options, case, &helm.stdout, &ours.stdout),
        (Some(a), Some(b)) if a == b => Outcome::Same("both fail, with the same exit code"),
        (Some(0), _) => Outcome::Different {
            cause: "only statectl fails".to_owned(),
            example: ours.stderr.trim().to_owned(),
        },
        (_, Some(0)) => {
            Outcome::Different { cause: "only helm fails".to_owned(), example: helm.stderr.trim().to_owned() }
        }
        (a, b) => Outcome::Different {
            cause: format!("exit codes {a:?} and {b:?}"),
            example: format!("helm: {}\nstatectl: {}", helm.stderr.trim(), ours.stderr.trim()),
        },
    }
}

fn template(program: &Path, options: &Options, case: &Case) -> Result<Printed, String> {
    let mut command = Command::new(program);
    command.arg("template").arg(&case.release).arg(&case.chart).args(["-n", &case.namespace]);
    if let Some(values) = &case.values {
        command.arg("-f").arg(values);
    }
    if case.is_upgrade {
        command.arg("--is-upgrade");
    }
    if let Some(version) = &case.kube_version {
        command.args(["--kube-version", version]);
    }
    for version in &case.api_versions {
        command.args(["--api-versions", version]);
    }
    let output = command.args(&options.flags).output();
    let output = output.map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
    Ok(Printed {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn with_random_parts(options: &Options, case: &Case, helm: &str, ours: &str) -> Outcome {
    let different = |cause: &str, helm: &str, ours: &str| Outcome::Different {
        cause: cause.to_owned(),
        example: first_difference(helm, ours),
    };
    let again = match template(&options.helm, options, case) {
        Ok(printed) => printed.stdout,
        Err(message) => return Outcome::Skipped(message),
    };
    let (mut helm_documents, again, mut our_documents) =
        (documents(helm), documents(&again), documents(ours));
    if helm_documents == again {
        // Helm ranges over some maps in no order, and seldom takes the other one.
        for _ in 0..TRIES {
            if template(&options.helm, options, case).is_ok_and(|printed| printed.stdout == ours) {
                return Outcome::Same("one of several answers that Helm gives");
            }
        }
        helm_documents.sort_unstable();
        our_documents.sort_unstable();
        let cause = if helm_documents == our_documents {
            "the order"
        } else if squeezed(helm) == squeezed(ours) {
            "white space"
        } else {
            "the text"
        };
        return different(cause, helm, ours);
    }
    let mut why = "byte for byte, but for what Helm makes anew each time";
    let (mut helm_heads, mut our_heads) = (heads(&helm_documents), heads(&our_documents));
    if helm_heads != heads(&again) {
        why = "as Helm, which puts them in another order each time";
        helm_heads.sort_unstable();
        our_heads.sort_unstable();
    }
    if helm_heads != our_heads {
        return different("the objects", &helm_heads.join("\n"), &our_heads.join("\n"));
    }
    for document in helm_documents {
        if again.contains(&document) && !our_documents.contains(&document) {
            let ours = our_documents.iter().find(|ours| heads(&[ours]) == heads(&[document]));
            return different("the text", document, ours.copied().unwrap_or_default());
        }
    }
    Outcome::Same(why)
}

fn documents(text: &str) -> Vec<&str> {
    text.split("\n---\n").collect()
}

/// Returns the source and the kind of each document. A name may be random too.
fn heads(documents: &[&str]) -> Vec<String> {
    let head = |document: &&str| {
        let wanted = |line: &&str| line.starts_with("# Source: ") || line.starts_with("kind:");
        document.lines().filter(wanted).take(2).collect::<Vec<_>>().join(" ")
    };
    documents.iter().map(head).collect()
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
