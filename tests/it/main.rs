//! The integration tests, in one binary.

mod dsf;
mod template;
mod yaml_cases;
mod yaml_tables;
