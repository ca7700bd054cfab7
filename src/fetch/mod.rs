//! Charts from where they are kept.
//!
//! The only module that reads chart files. What the bytes mean is decided in [`crate::chart`].

pub mod dir;
