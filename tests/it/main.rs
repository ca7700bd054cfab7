//! The integration tests, in one binary.

mod yaml_tables;
