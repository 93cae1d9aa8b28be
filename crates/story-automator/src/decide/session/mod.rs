//! A story's session, as the published helper's callers are told of it.
//!
//! | module | decides |
//! | --- | --- |
//! | [`name`] | what the session of a step is called |
//! | [`row`] | the six columns of a status, and how each of our states is told in them |
//! | [`cues`] | what a screen says where nobody else speaks: labels, todos, ends, clocks |
//! | [`wait_estimate`] | how long a caller may sleep before it asks again |
//! | [`legacy`] | the tables for sessions of which nothing is known but their screen |
//! | [`outcome`] | how waiting for a session ended |
//! | [`output`] | what is kept of a session's screen |

pub mod cues;
pub mod legacy;
pub mod name;
pub mod outcome;
pub mod output;
pub mod row;
pub mod wait_estimate;
