//! BMAD's texts, read and written without touching a file.
//!
//! | module | reads or decides |
//! | --- | --- |
//! | [`agent_config`] | which agent does which task |
//! | [`agent_block`] | how a configuration of agents is written into a state document |
//! | [`artifact_glob`] | which file a new story has to be |
//! | [`bmm_config`] | where the story files are, from BMAD's configuration |
//! | [`complexity`] | how much work a story looks like |
//! | [`epic_file`] | a Markdown file of epics and their stories |
//! | [`fields`] | the fields of front matter, read and changed |
//! | [`front_matter`] | the part of a Markdown file between its first two `---` |
//! | [`junit`] | the numbers of a test run |
//! | [`keys`] | which story a text means: id, prefix or key |
//! | [`left_out`] | what a commit must not take along |
//! | [`marker`] | whether a run is active, and an agent has to go on |
//! | [`prompt`] | the prompt of a step, and the command that starts its session |
//! | [`review`] | whether a review is complete |
//! | [`schema`] | what a reading of a transcript must look like |
//! | [`sections`] | one section of a story's file |
//! | [`slug`] | the short name and the number of a project |
//! | [`sprint`] | the state of each story, from `sprint-status.yaml` |
//! | [`state_document`], [`state_template`] | the state of a run; how its document begins |
//! | [`story_file`] | what a story's own file says of itself |

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
