//! `statectl diff`: the differences that `apply` would make. Writes nothing.

use super::output::Outputs;
use super::{Console, Ending, Session, errors};
use crate::failure::Failure;
use crate::plan::Operation;
use crate::report;
use crate::ui::{self, Style};

/// Plans, and shows the differences.
pub async fn run(session: &Session, console: Console, outputs: &Outputs) -> Result<Ending, Failure> {
    let (_, _, plan) = session.planned(Operation::Reconcile).await?;
    errors::checked(&plan)?;
    let text = |terminal: bool| {
        let style = if terminal { console.out } else { Style::plain(console.out.width) };
        ui::diff_view::parts(&plan, style)
    };
    outputs.write_parts(text, || report::diff_json(&plan))?;
    let failed = errors::show(&plan);
    Ok(Ending { changes: plan.has_changes(), blocked: plan.has_blocked(), failed, ..Ending::default() })
}
