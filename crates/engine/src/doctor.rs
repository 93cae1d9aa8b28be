use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::notify::Rule;
use dogwatch_protocol::verification::{Totals, Verification};
use dogwatch_store::{ChannelHealth, StateDir, Store, StoreError};
use dogwatch_tmux::{Fault, Server, Version};
use jiff::{SignedDuration, Timestamp};

use crate::observe::{agents, verifications};
use crate::{Context, Error, config, supervisor};

/// How long it is said that the database was made anew.
const NEWS: SignedDuration = SignedDuration::from_hours(7 * 24);

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Check {
    pub subject: String,
    pub health: Health,
    /// What was found.
    pub found: String,
    pub remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Good,
    /// Works, but something is missing that one may want.
    Missing,
    /// Works, with a known fault around which dogwatch works.
    Warning,
    Bad,
}

impl Health {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Missing => "missing",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

pub fn check(
    subject: &str,
    health: Health,
    found: impl Into<String>,
    remedy: Option<String>,
) -> Check {
    Check { subject: subject.to_owned(), health, found: found.into(), remedy }
}

/// The tmux program: installed, and new enough.
pub fn tmux_program(server: &Server) -> Check {
    match server.version() {
        Ok(version) if version.is_supported() => {
            check("tmux", Health::Good, version.to_string(), None)
        }
        Ok(version) => failed("tmux", &dogwatch_tmux::Error::TooOld { found: version }.into()),
        Err(error) => failed("tmux", &error.into()),
    }
}

/// tmux, and the server that is meant.
pub fn tmux(context: &Context) -> Vec<Check> {
    let program = tmux_program(&context.tmux);
    if program.health == Health::Bad {
        return vec![program];
    }
    let shown = context.socket.display();
    let mut running = None;
    let server = match context.tmux.panes() {
        Ok(panes) => {
            running = panes.first().and_then(|row| row.version.clone());
            let s = if panes.len() == 1 { "" } else { "s" };
            server_check(running.as_ref(), format!("{shown}, {} pane{s}", panes.len()))
        }
        Err(error) if error.is_no_server() => {
            check("tmux server", Health::Good, format!("{shown}, not running yet"), None)
        }
        Err(error) => failed("tmux server", &error.into()),
    };
    // A server keeps the faults of the version that it was started with.
    let version = running.or_else(|| context.tmux.version().logged("ask for the version of tmux"));
    let faults = version.iter().flat_map(|version| faults(&context.tmux, version));
    [program, server].into_iter().chain(faults.collect::<Vec<_>>()).collect()
}

fn faults(server: &Server, version: &Version) -> Vec<Check> {
    let explain = |fault: Fault| {
        let Fault { what, handled, fixed_in, .. } = fault;
        let is_open = fault.needs_lock && server.usable_connect_lock().is_none();
        let handled = if is_open {
            "cannot create a lock file next to the socket or in the state directory; do not use `watch` here"
        } else {
            handled
        };
        let remedy = format!("{handled}; fixed in tmux {fixed_in}");
        check("tmux fault", Health::Warning, format!("{version}: {what}"), Some(remedy))
    };
    version.faults().into_iter().map(explain).collect()
}

/// A server keeps the version it was started with, however new the program is by now.
fn server_check(running: Option<&Version>, found: String) -> Check {
    match running {
        Some(version) if !version.is_supported() => {
            failed("tmux server", &dogwatch_tmux::Error::TooOld { found: version.clone() }.into())
        }
        _ => check("tmux server", Health::Good, found, None),
    }
}

/// Who serves, and whether somebody should.
pub fn supervisor(context: &Context) -> Check {
    let subject = "supervisor";
    let report = match supervisor::report(context) {
        Ok(report) => report,
        Err(error) => return failed(subject, &error),
    };
    let restart = || Some("dogwatch supervisor restart".to_owned());
    if let Some(last) = report.aside.last() {
        let more = match report.aside.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let found = format!("supervisors died of {}{more}, which is set aside since", last.what);
        return check(subject, Health::Warning, found, restart());
    }
    match report.serving {
        Some(serving) if serving.version != env!("CARGO_PKG_VERSION") => {
            let found = format!("pid {}, of version {}", serving.pid, serving.version);
            check(subject, Health::Warning, found, restart())
        }
        Some(serving) => match report.health {
            None => {
                let found = format!("pid {}, which does not answer", serving.pid);
                check(subject, Health::Warning, found, restart())
            }
            Some(health) => match health.errors.last() {
                Some(last) => {
                    let found = format!("pid {}, lately: {}", serving.pid, last.message);
                    check(subject, Health::Warning, found, None)
                }
                None => check(subject, Health::Good, format!("pid {}", serving.pid), None),
            },
        },
        None if report.serves => check(subject, Health::Good, "starting", None),
        None if report.sessions > 0 => {
            let found = format!("none, though {} sessions run", report.sessions);
            check(subject, Health::Warning, found, restart())
        }
        None => check(subject, Health::Good, "none; it starts when it is needed", None),
    }
}

/// The state directory and the database in it.
pub fn state(dir: &StateDir) -> Vec<Check> {
    let root = dir.root();
    let folder =
        check("state directory", Health::Good, format!("{}, private", root.display()), None);
    let writable = tempfile_in(root);
    let store =
        match Store::open(dir).and_then(|store| store.check().and_then(|()| store.recovery())) {
            Ok(recovery) => store_check(dir, recovery),
            Err(error) => failed("store", &error.into()),
        };
    [Some(folder), writable.err().map(|e| failed("state directory", &e.into())), Some(store)]
        .into_iter()
        .flatten()
        .collect()
}

fn store_check(dir: &StateDir, recovery: Option<(Timestamp, u32)>) -> Check {
    let path = dir.database();
    let is_news = |(at, _): &(Timestamp, u32)| Timestamp::now().duration_since(*at) < NEWS;
    let Some((at, found)) = recovery.filter(is_news) else {
        return check("store", Health::Good, path.display().to_string(), None);
    };
    let s = if found == 1 { "" } else { "s" };
    let found = format!(
        "{}, new since {at:.0}: the one before was gone; {found} running session{s} found again from their folders",
        path.display()
    );
    let lost = "messages, jobs, limits, titles and the history of before are lost; put the old file back to have them";
    check("store", Health::Warning, found, Some(lost.to_owned()))
}

/// Whether a file can be made there: permissions alone do not tell (full disk, read-only mount).
fn tempfile_in(root: &std::path::Path) -> Result<(), StoreError> {
    let probe = root.join(format!(".probe-{}", std::process::id()));
    dogwatch_store::replace(&probe, b"probe")?;
    std::fs::remove_file(&probe).logged_unless_missing("remove a file");
    Ok(())
}

/// What the user has set up.
pub fn configuration(context: &Context) -> Vec<Check> {
    let Some(path) = context.config.as_ref().filter(|path| path.exists()) else {
        return Vec::new();
    };
    let found = format!("{}, writable", path.display());
    vec![match config::read(context) {
        Ok(_) => check("configuration", Health::Good, found, None),
        Err(error) => failed("configuration", &error),
    }]
}

/// Whether the configured channels took what was sent lately.
pub fn notifications(context: &Context) -> Vec<Check> {
    let rules =
        config::read(context).logged("read the configuration").unwrap_or_default().notify_rules();
    let Some(store) = context.store().logged("open the database") else { return Vec::new() };
    let health = store.channel_health().logged("read notifications").unwrap_or_default();
    let mut labels: Vec<String> = rules.iter().map(Rule::label).collect();
    labels.sort();
    labels.dedup();
    let failing: Vec<Check> = health.iter().filter_map(failing).collect();
    if !failing.is_empty() || labels.is_empty() {
        return failing;
    }
    vec![check("notifications", Health::Good, labels.join(", "), None)]
}

/// A channel whose last try failed.
fn failing(channel: &ChannelHealth) -> Option<Check> {
    let ChannelHealth { label, tried, because, waiting, next, failed } = channel;
    let because = because.as_deref()?;
    let again = next.map(|next| format!("; {waiting} to be tried again, next at {next:.0}"));
    let given_up = if *failed > 0 { format!("; {failed} given up") } else { String::new() };
    let again = again.unwrap_or_default();
    let found = format!("{label}: {because} (at {tried:.0}){again}{given_up}");
    let remedy = "`dogwatch notify test` tries all channels; `dogwatch notify log --failed` lists what was not sent";
    Some(check("notifications", Health::Warning, found, Some(remedy.to_owned())))
}

/// The agents on this machine.
pub fn agents(context: &Context) -> Vec<Check> {
    agents::survey(context)
        .into_iter()
        .map(|(name, found)| match found {
            Ok(agents::Found { path: Some(path), version, profile }) => {
                let caution = profile.caution(version.as_deref());
                let version = version.unwrap_or_else(|| "version unknown".into());
                let found = format!("{version}, {}", path.display());
                let all = verifications::of_agent(context, &name);
                let remedy = caution.map(|caution| {
                    format!("{caution}; `dogwatch agents verify {name}` checks this version")
                });
                match verifications::of_program(&all, &path) {
                    Some(verification) => verified(&name, &found, verification),
                    None => check(&name, Health::Good, found, remedy),
                }
            }
            Ok(found) => check(&name, Health::Missing, "not found", Some(found.profile.install)),
            Err(error) => failed(&name, &error),
        })
        .collect()
}

/// What is known of this very version of an agent.
fn verified(name: &str, found: &str, verification: &Verification) -> Check {
    let Totals { right, played, lies, wrong, not_known, not_played, .. } = verification.totals;
    let date = verification.at.strftime("%Y-%m-%d");
    let found = format!("{found}, verified on {date}: {right} of {played} situations recognised");
    let distrusted: Vec<&str> = verification.distrusted().collect();
    let report = verification.report.as_deref().unwrap_or("`dogwatch agents verify`");
    if lies > 0 {
        let sources = distrusted.join(", ");
        let remedy = format!("`status` asserts nothing on {sources}; please send {report}");
        return check(name, Health::Warning, found, Some(remedy));
    }
    if wrong + not_known + not_played > 0 {
        return check(name, Health::Warning, found, Some(format!("please send {report}")));
    }
    check(name, Health::Good, found, None)
}

/// A fault, with the remedy that its error knows.
pub fn failed(subject: &str, error: &Error) -> Check {
    check(subject, Health::Bad, error.to_string(), error.hint())
}
