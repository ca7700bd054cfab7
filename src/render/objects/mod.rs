//! The objects that Helm hands to every template: `.Values`, `.Chart`, `.Files`, `.Capabilities`.
//!
//! They behave as the Go values do, down to type names and what they print. Source: Helm
//! `pkg/engine/engine.go` (`recAllTpls`), `pkg/engine/files.go`, `pkg/chart/common`.

mod capabilities;
mod files;
mod metadata;
mod values;

pub(super) use capabilities::capabilities;
pub(super) use files::Files;
pub(super) use metadata::metadata;
pub(super) use values::Values;
