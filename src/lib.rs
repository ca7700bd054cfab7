//! `statectl`: a declarative desired-state runner for Helm releases.

pub mod failure;
pub mod text;
pub mod value;

pub mod expression;
pub mod go;
pub mod model;
pub mod semver;
pub mod yaml;

pub mod lock;
pub mod manifest;
pub mod template;
pub mod values;

pub mod chart;
pub mod dsf;
pub mod encrypted;

pub mod health;
pub mod history;
pub mod render;

pub mod convert;
pub mod diff;

pub mod plan;

pub mod cluster;
pub mod fetch;
pub mod host;
pub mod sandbox;

pub mod execute;
pub mod observe;

pub mod report;
pub mod ui;

pub mod command;

pub mod cli;
