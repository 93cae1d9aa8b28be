//! Facts, gathered and not judged.

pub mod agents;
pub mod arrival;
pub mod capture;
pub mod census;
pub mod changes;
pub mod conversations;
pub mod doctor;
pub mod evidence;
pub mod exists;
pub mod files;
pub mod foreign;
pub mod interests;
pub mod listeners;
pub mod loopback;
pub mod materials;
pub mod opencode;
pub mod own_word;
pub mod proc_files;
pub mod processes;
pub mod project;
pub mod roll;
pub mod screens;
pub mod sights;
pub mod transcripts;
