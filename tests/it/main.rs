//! The integration tests, in one binary.

mod dsf;
mod yaml_tables;
