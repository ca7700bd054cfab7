//! Text for people: where something stands in a file, and how to show it.
//!
//! Knows no file format, no Helm and no Kubernetes. Colour belongs to `ui`; this module only names the parts
//! that may be coloured.

mod excerpt;
mod source;
mod suggest;
mod table;
mod words;

pub use excerpt::{Excerpt, Piece, Role, printable};
pub use source::{FileId, Location, Sources, Span};
pub use suggest::closest;
pub use table::table;
pub use words::{list_of, plural};
