//! The integration tests, in one binary.

mod dsf;
mod template;
mod yaml_tables;
