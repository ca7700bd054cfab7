//! Go's `text/template` language with the functions that Helm charts use.
//!
//! A render is a function of the sources, the data, the function table, the limits and the [`call::Host`]
//! that are handed in. Knows no charts, no releases and no Kubernetes.

pub mod call;
pub mod convert;
pub mod equal;
pub mod error;
pub mod exec;
pub mod fmt;
pub mod funcs;
pub mod parse;
pub mod report;
pub mod set;
pub mod stack;
pub mod text;
pub mod types;
pub mod value;
