//! Stories: how they are named, where they stand, and what is to be done for them.
//!
//! | module | decides |
//! | --- | --- |
//! | [`agent_config`] | which agent does which task |
//! | [`agents_plan`] | the same for every story of a run, as a file |
//! | [`agent_block`] | how a configuration of agents is written into a state document |
//! | [`artifact_glob`] | which file a new story has to be |
//! | [`bmm_config`] | where the story files are, from BMAD's configuration |
//! | [`complexity`] | how much work a story looks like |
//! | [`epic_file`] | a Markdown file of epics and their stories |
//! | [`front_matter`] | the part of a Markdown file between its first two `---` |
//! | [`git_status`] | what git says of a work tree |
//! | [`junit`] | the numbers of a test run |
//! | [`keys`] | which story a text means: id, prefix or key |
//! | [`left_out`] | what a commit must not take along |
//! | [`presets`] | agent configurations that are kept by name |
//! | [`sections`] | one section of a story's file |
//! | [`selection`] | which of a list a person means |
//! | [`sprint`] | where each story stands, from `sprint-status.yaml` |
//! | [`story_file`] | what a story's own file says of itself |
//! | [`session`] | what callers are told of a session |
//! | [`policy`] | how each step of a run is prompted, read, verified and repeated |
//! | [`snapshot`] | the policy of one run, pinned |
//! | [`prompt`] | what a step's session is told, and by which command |
//! | [`schema`] | what a reading of a transcript must look like |
//! | [`reading`] | what a transcript says by itself, and what a model is asked |
//! | [`review`] | whether a review has come to its end |
//! | [`escalation`] | when a person has to be asked |
//! | [`fields`] | the fields of that part, read and changed |
//! | [`state_document`], [`state_template`] | where a run stands; how its document begins |
//! | [`marker`] | whether a run is active, and an agent has to go on |
//! | [`hook_settings`], [`codex_config`] | the stop hook in an agent's own settings |
//! | [`slug`] | the short name and the number of a project |

pub mod agent_block;
pub mod agent_config;
pub mod agents_plan;
pub mod artifact_glob;
pub mod bmm_config;
pub mod codex_config;
pub mod complexity;
pub mod epic_file;
pub mod escalation;
pub mod fields;
pub mod front_matter;
pub mod git_status;
pub mod hook_settings;
pub mod junit;
pub mod keys;
pub mod left_out;
pub mod marker;
#[cfg(test)]
mod odd_texts;
pub mod policy;
mod policy_check;
pub mod policy_fault;
pub mod presets;
pub mod prompt;
pub mod reading;
pub mod review;
pub mod schema;
pub mod sections;
pub mod selection;
pub mod session;
pub mod slug;
pub mod snapshot;
pub mod sprint;
pub mod state_document;
pub mod state_template;
pub mod story_file;
mod yaml;

pub(crate) use yaml::to_json as yaml_to_json;

#[cfg(test)]
mod any_text_tests;
