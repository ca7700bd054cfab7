//! Versions and version constraints as Helm understands them: Masterminds/semver 3.5.
//!
//! These rules differ from those of Cargo and npm: versions may lack parts or start with `v`, ranges may use
//! `||`, hyphens and `x`, and one pre-release in a group of comparators admits pre-releases for the group.

mod constraint;
mod version;

pub use constraint::{Constraint, ConstraintError};
pub use version::{Version, VersionError};

#[cfg(test)]
mod tests;
