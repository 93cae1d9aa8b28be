//! BMAD's texts, read and written without touching files.
//!
//! | module | reads or decides |
//! | --- | --- |
//! | [`agent_config`] | the agents of tasks |
//! | [`agent_block`] | the agent configuration in a state document |
//! | [`artifact_glob`] | the expected file of a new story |
//! | [`bmm_config`] | where the story files are, from BMAD's configuration |
//! | [`complexity`] | the estimated work on a story |
//! | [`epic_file`] | a Markdown file of epics and their stories |
//! | [`fields`] | the fields of front matter, read and changed |
//! | [`front_matter`] | the part of a Markdown file between its first two `---` |
//! | [`junit`] | the counts of a test run |
//! | [`keys`] | the story that a text names: id, prefix or key |
//! | [`left_out`] | what a commit must not contain |
//! | [`marker`] | whether a run is active, and an agent must continue |
//! | [`prompt`] | the prompt of a step, and the command that starts its session |
//! | [`review`] | whether a review is complete |
//! | [`schema`] | the required form of a transcript's reading |
//! | [`sections`] | one section of a story's file |
//! | [`slug`] | the short name and the hash of a project |
//! | [`sprint`] | the state of each story, from `sprint-status.yaml` |
//! | [`state_document`], [`state_template`] | the state document of a run; its initial content |
//! | [`story_file`] | the status and title in a story's file |

pub mod agent_block;
pub mod agent_config;
pub mod artifact_glob;
pub mod bmm_config;
pub mod complexity;
pub mod epic_file;
pub mod fields;
pub mod front_matter;
pub mod junit;
pub mod keys;
pub mod left_out;
pub mod marker;
#[cfg(test)]
mod odd_texts;
pub mod prompt;
pub mod review;
pub mod schema;
pub mod sections;
pub mod slug;
pub mod sprint;
pub mod state_document;
pub mod state_template;
pub mod story_file;
mod yaml;

pub(crate) use yaml::to_json as yaml_to_json;

#[cfg(test)]
mod any_text_tests;
