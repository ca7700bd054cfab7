//! An API server in this process: the same requests and answers as a cluster's, its state in one file or in memory.
//!
//! For trying, teaching, review and checks. It is no Kubernetes: what it does is proven by running the same scenarios on
//! the real one. Time and random numbers are passed in; nothing here knows the client.

pub mod merge;
pub mod rules;
pub mod schema;
mod status;

pub use status::{Cause, Failure};
