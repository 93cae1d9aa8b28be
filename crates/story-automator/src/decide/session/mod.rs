//! A story's session, as the helper's callers see it.
//!
//! | module | decides |
//! | --- | --- |
//! | [`name`] | the name of a step's session |
//! | [`row`] | the six columns of a status, and how dogwatch's states map to them |
//! | [`cues`] | what a screen shows where no better source exists: labels, todos, ends, clocks |
//! | [`wait_estimate`] | how long a caller may sleep before the next call |
//! | [`legacy`] | the tables for sessions that only have a screen |
//! | [`outcome`] | the result of waiting for a session |
//! | [`output`] | what is saved of a session's screen |

pub mod cues;
pub mod legacy;
pub mod name;
pub mod outcome;
pub mod output;
pub mod row;
pub mod wait_estimate;
