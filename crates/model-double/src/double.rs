//! The double as a value: starts with it, stops with it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use tokio::sync::oneshot;

use crate::gates::GateReport;
use crate::log::{Journal, Request};
use crate::scenario::Scenario;
use crate::server::{self, Stage};

/// How a double runs; the default is what tests want.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// 0 takes any free port.
    pub port: u16,
    /// Requests are appended to this file, one JSON line each.
    pub log: Option<PathBuf>,
    /// Bodies of requests are recorded too.
    pub log_bodies: bool,
}

/// A running double, in a thread of its own. Dropping it stops it.
#[derive(Debug)]
pub struct ModelDouble {
    address: SocketAddr,
    stage: Arc<Stage>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelDouble {
    /// Starts on any free loopback port.
    pub fn start(scenario: Scenario) -> io::Result<Self> {
        Self::start_with(scenario, &Options::default())
    }

    pub fn start_with(scenario: Scenario, options: &Options) -> io::Result<Self> {
        let journal = Journal::new(options.log.as_deref(), options.log_bodies)?;
        let stage = Arc::new(Stage::new(scenario, journal));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let router = server::router(Arc::clone(&stage));
        let thread =
            std::thread::Builder::new().name("model-double".to_owned()).spawn(move || {
                runtime.block_on(async {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    // Small events must not wait for each other.
                    let listener = listener.tap_io(|stream| {
                        let _ = stream.set_nodelay(true);
                    });
                    tokio::select! {
                        _ = axum::serve(listener, router) => {}
                        _ = stopped => {}
                    }
                });
                // Dropping the runtime here closes all connections.
            })?;
        Ok(Self { address, stage, stop: Some(stop), thread: Some(thread) })
    }

    /// The base address, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens a gate; it stays open until held again.
    pub fn release(&self, gate: &str) {
        self.stage.gates.release(gate);
    }

    /// Closes a gate again.
    pub fn hold(&self, gate: &str) {
        self.stage.gates.hold(gate);
    }

    pub fn gates(&self) -> GateReport {
        self.stage.gates.report()
    }

    /// Replaces the scenario; replies already begun go on as they were.
    pub fn replace_scenario(&self, scenario: Scenario) {
        self.stage.replace_scenario(scenario);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.stage.journal.requests()
    }

    /// Waits until the requests satisfy a condition; nothing when they do not in time.
    pub fn wait_until(
        &self,
        limit: Duration,
        condition: impl Fn(&[Request]) -> bool,
    ) -> Option<Vec<Request>> {
        self.stage.journal.wait_until(limit, condition)
    }
}

impl Drop for ModelDouble {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Refused only when the thread has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
