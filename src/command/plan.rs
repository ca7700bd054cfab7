//! `statectl plan`: shows what `apply` would do, and why.

use super::output::Outputs;
use super::{Console, Ending, Session, errors, saved};
use crate::failure::Failure;
use crate::plan::Operation;
use crate::report;
use crate::ui::{self, Style};
use std::path::Path;

/// What the flags say.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Plan the removal of everything in the file.
    pub destroy: bool,
    /// The server's warnings count as refusals.
    pub warnings_as_errors: bool,
    /// Where the plan is saved.
    pub out: Option<&'a Path>,
}

/// Makes the plan and shows it.
pub async fn run(
    session: &Session,
    console: Console,
    outputs: &Outputs,
    options: Options<'_>,
) -> Result<Ending, Failure> {
    let Options { destroy, warnings_as_errors, out } = options;
    let operation = if destroy { Operation::Destroy } else { Operation::Reconcile };
    let (_, _, plan) = session.planned(operation).await?;
    errors::checked(&plan)?;
    let next = match out {
        Some(path) => {
            saved::save(session, &plan, operation, path)?;
            format!("statectl apply {}", path.display())
        }
        None => next_command(session, operation),
    };
    let text = |terminal: bool| {
        let style = if terminal { console.out } else { Style::plain(console.out.width) };
        ui::plan_view::render(&plan, style, Some(&next))
    };
    outputs.write(text, || report::plan_json(&plan))?;
    let failed = errors::show(&plan);
    let warned = warnings_as_errors && errors::warned(&plan);
    let blocked = plan.has_blocked() || warned;
    Ok(Ending { changes: plan.has_changes(), blocked, failed, ..Ending::default() })
}

/// Returns the command that carries the plan out.
fn next_command(session: &Session, operation: Operation) -> String {
    let verb = match operation {
        Operation::Reconcile => "apply",
        Operation::Destroy => "destroy",
        Operation::Adopt => "adopt",
    };
    let files: Vec<String> = session.files.states.iter().map(|path| path.display().to_string()).collect();
    let mut command = format!("statectl {verb} {}", files.join(" "));
    if let Some(context) = &session.connect.context {
        command = format!("{command} --kube-context {context}");
    }
    for (flag, values) in [("--target", &session.selection.targets), ("--group", &session.selection.groups)] {
        for value in values {
            command = format!("{command} {flag} {value}");
        }
    }
    command
}
