//! Notifications for people and boards: bell, desktop, command, webhook, Kanban. What leaves the host is masked by [`outward`].

pub mod channels;
pub mod kanban;
pub mod outward;
mod process;
pub mod report_target;
pub mod tls;
