//! Files in our language made from what others have: live releases, helmfile's files, Helmsman's files.
//!
//! Pure: gets texts and records, and a view of the file tree. What it cannot say in our language it lists; nothing is left
//! out silently.

pub mod document;
mod helmfile;
pub mod live;

pub use document::{NoNull, Syntax, Table, Tree, write};
pub use helmfile::{Converted, helmfile};
pub use live::{Imported, Live, chart_files, env_file, file_of};
