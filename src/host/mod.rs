//! The machine: files, environment, clock, random numbers and signals. The only module that reads them.

pub mod clock;
pub mod commands;
pub mod env;
pub mod files;
pub mod git;
pub mod programs;
pub mod random;
pub mod secrets;
pub mod signals;
