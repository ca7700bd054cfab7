//! The desired-state file: what a person wrote, checked and made complete.
//!
//! Reads no file and no environment itself: the caller passes texts, variables and a view of the file tree.

pub mod state;
