//! Notifications for people and boards: bell, desktop, tmux, command, webhook, ntfy, MQTT, Kanban. What leaves the host is masked by [`outward`].

pub mod channels;
pub mod heartbeat;
mod http;
pub mod kanban;
pub mod outbox;
pub mod outward;
mod process;
pub mod report_target;
mod rules;
mod secret;
pub mod tls;
