//! Rendered YAML as Helm and kubectl see it: documents, their heads, hooks, and the order of kinds.
//!
//! A document keeps its exact text beside the parsed object: the text is what Helm stores. Knows no charts, no
//! cluster and no release.

mod document;
mod hook;
mod object;
mod order;
mod split;

pub use document::{Document, Head, ManifestError};
pub use hook::{DeletePolicy, Hook, HookEvent, OutputLogPolicy, Role};
pub use object::{flatten, to_object};
pub use order::{KindOrder, sort_by_kind};
pub use split::{SplitRule, split};

#[cfg(test)]
mod tests;
