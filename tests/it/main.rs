//! The integration tests, in one binary.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests fail the test, and tests read files and start processes"
)]

mod adoption;
mod as_helm;
mod bad_input;
mod chart_tests;
mod compatibility;
mod corpus;
mod credentials;
mod custom_resources;
mod data_loss;
mod decrypted;
mod definitions;
mod drift;
mod dsf;
mod examples;
mod explain;
mod failures;
mod faults;
mod helm_template;
mod helmsman_files;
mod hooks;
mod immutable;
mod incomplete;
mod leftovers;
mod locks;
mod moves;
mod order;
mod ownership;
mod proof;
mod quotas;
mod readiness;
mod records;
mod recovery;
mod releases;
mod render;
mod requests;
mod saved_plans;
mod schema;
mod secrets;
mod server;
mod simulation;
mod sources;
mod spaces;
mod support;
mod template;
mod tidy;
mod traps;
mod validate;
mod watches;
mod webhooks;
mod yaml_cases;
mod yaml_tables;
