//! The integration tests, in one binary.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests fail the test, and tests read files and start processes"
)]

mod adoption;
mod affected;
mod app_hooks;
mod as_helm;
mod bad_input;
mod chart_tests;
mod ci_examples;
mod clocks;
mod clusters;
mod compatibility;
mod convert;
mod corpus;
mod credentials;
mod custom_resources;
mod data_loss;
mod decrypted;
mod definitions;
mod described;
mod doctor;
mod drift;
mod dsf;
mod encrypted;
mod examples;
mod explain;
mod eyaml;
mod failures;
mod faults;
mod fmt;
mod frozen;
mod graph;
mod guides;
mod helm_races;
mod helm_template;
mod helmsman_files;
mod helmsman_turns;
mod hooks;
mod immutable;
mod import;
mod incomplete;
mod kill;
mod leftovers;
mod lock_cost;
mod lock_kinds;
mod locks;
mod moves;
mod notify;
mod order;
mod outputs;
mod ownership;
mod packaging;
mod pages;
mod post_renderer;
mod proof;
mod provenance;
mod quotas;
mod rbac;
mod readiness;
mod reconcile;
mod records;
mod recovery;
mod reference;
mod releases;
mod render;
mod report_page;
mod requests;
mod rollback;
mod rows;
mod saved_plans;
mod scheduled;
mod schema;
mod secrets;
mod server;
mod simulation;
mod soak;
mod sources;
mod sources_beyond;
mod spaces;
mod support;
mod template;
mod tidy;
mod timings;
mod traps;
mod validate;
mod vaults;
mod versions;
mod watches;
mod webhooks;
mod yaml_cases;
mod yaml_tables;
