//! The Kubernetes API server: the only module that names `kube`.
//!
//! What may be done is a matter of types: a [`Reader`] reads and sends dry runs, and has no method that
//! changes anything; a [`Writer`] is made from it by the verbs that apply. Requests and answers stay JSON:
//! objects of every kind, known or not, take the same path.

mod api;
mod connect;
mod discovery;
mod follow;
mod gate;
mod read;
mod watch;
mod write;

pub use api::{Answer, ApiError, Cause, Refusal};
pub use connect::{ConnectError, ConnectOptions, Connection, Described, Token, connect};
pub use discovery::{Discovery, Resource};
pub use follow::{Follow, Pace, Sight, Watches};
pub use gate::{Closed, Deadline, Gate};
pub use read::{ApplyOptions, ListOptions, Reader};
pub use write::{Propagation, Writer};
