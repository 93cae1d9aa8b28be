//! Stories: how they are named, where they stand, and what is to be done for them.
//!
//! | module | decides |
//! | --- | --- |
//! | [`bmm_config`] | where the story files are, from BMAD's configuration |
//! | [`front_matter`] | the part of a Markdown file between its first two `---` |
//! | [`keys`] | which story a text means: id, prefix or key |
//! | [`sprint`] | where each story stands, from `sprint-status.yaml` |
//! | [`story_file`] | what a story's own file says of itself |
//! | [`slug`] | the short name and the number of a project |

pub mod bmm_config;
pub mod front_matter;
pub mod keys;
pub mod slug;
pub mod sprint;
pub mod story_file;
mod yaml;
