//! Files whose values are encrypted: sops with age keys, and hiera-eyaml.
//!
//! Keys and contents are passed in. Knows no environment, no files and no programs; what it cannot read itself it names,
//! so that the caller can ask a program that can.

pub mod age;
pub mod eyaml;
pub mod sops;
mod tree;

pub use tree::{Decrypted, Leaf};
