//! `statectl`: a declarative desired-state runner for Helm releases.

pub mod value;
