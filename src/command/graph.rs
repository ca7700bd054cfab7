//! `statectl graph`: the order that the files ask for, and why. Needs no cluster.

use std::collections::BTreeMap;

use super::load::{self, Files, Look};
use super::{Ending, Selection};
use crate::failure::{Failure, FailureClass};
use crate::plan;
use crate::report;
use crate::ui;

/// A form of the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphForm {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
    /// For Markdown on code hosts.
    Mermaid,
    /// For Graphviz.
    Dot,
}

/// Reads the files and shows the graph.
///
/// # Errors
/// The files have problems, no order is possible, or the selection matches nothing.
pub fn run(
    files: &Files,
    environment: &BTreeMap<String, String>,
    selection: &Selection,
    form: GraphForm,
) -> Result<Ending, Failure> {
    let read = files.read(environment, Look { check_only: true, skip_charts: true })?;
    let loaded = read.loaded.map_err(|problems| load::refused(&problems))?;
    let state = &loaded.state;
    let chosen = selection.choose(&state.releases)?;
    let graph = plan::release_graph(state, &chosen).map_err(|cycle| {
        let failure = Failure::new(FailureClass::Usage, cycle.to_string());
        failure.hint("give what is needed a priority that is not later, or drop one of the needs")
    })?;
    let text = match form {
        GraphForm::Text => ui::graph_view::render(&graph),
        GraphForm::Json => report::graph_json(&state.context, &graph),
        GraphForm::Mermaid => report::graph_mermaid(&graph),
        GraphForm::Dot => report::graph_dot(&graph),
    };
    ui::result(&text);
    Ok(Ending::default())
}
