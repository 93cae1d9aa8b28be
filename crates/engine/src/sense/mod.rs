//! Facts, gathered and not judged.

pub mod agents;
pub mod arrival;
pub mod capture;
pub mod doctor;
pub mod exists;
pub mod processes;
pub mod project;
pub mod transcripts;
