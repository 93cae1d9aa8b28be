//! Stories: how they are named, where they stand, and what is to be done for them.
//!
//! | module | decides |
//! | --- | --- |
//! | [`agent_config`] | which agent does which task |
//! | [`agents_plan`] | the same for every story of a run, as a file |
//! | [`bmm_config`] | where the story files are, from BMAD's configuration |
//! | [`complexity`] | how much work a story looks like |
//! | [`epic_file`] | a Markdown file of epics and their stories |
//! | [`front_matter`] | the part of a Markdown file between its first two `---` |
//! | [`keys`] | which story a text means: id, prefix or key |
//! | [`presets`] | agent configurations that are kept by name |
//! | [`selection`] | which of a list a person means |
//! | [`sprint`] | where each story stands, from `sprint-status.yaml` |
//! | [`story_file`] | what a story's own file says of itself |
//! | [`session`] | what callers are told of a session |
//! | [`slug`] | the short name and the number of a project |

pub mod agent_config;
pub mod agents_plan;
pub mod bmm_config;
pub mod complexity;
pub mod epic_file;
pub mod front_matter;
pub mod keys;
pub mod presets;
pub mod selection;
pub mod session;
pub mod slug;
pub mod sprint;
pub mod story_file;
mod yaml;
