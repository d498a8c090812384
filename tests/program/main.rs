//! The program `hive` from outside, its pages and scripts, and the rules of its source.

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod cli;
mod docs;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod failing;
mod house;
mod info;
mod question;
mod report;
mod report_browser;
mod scripts;
mod sweep;
