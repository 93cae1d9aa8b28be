//! What a supervisor had in hand when it died: a request that makes it die is set aside, so that the rest goes on.
//!
//! A supervisor that is killed from outside is no reason to give anything up, and which request was to blame is seen only if it happens
//! again: each one that a step of it survives is cleared.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How often a request may be in hand when a supervisor crashes.
const CRASHES: u32 = 2;
/// The same for deaths of which nothing is known. Whoever kills supervisors again and again hits a step at times; never this often in a row.
const DEATHS: u32 = 10;
/// How many are remembered.
const MOST: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Message,
    Keys,
    Limit,
    Loop,
    Callbacks,
}

/// Something that is done for a session: a stored request by its own id, all else by that of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub kind: Kind,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Suspect {
    request: Request,
    crashes: u32,
    deaths: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    pub request: Request,
    pub at: Timestamp,
}

/// What is in hand, which requests were when supervisors died, and which are set aside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    #[serde(default)]
    in_hand: Vec<Request>,
    #[serde(default)]
    suspects: Vec<Suspect>,
    #[serde(default)]
    pub aside: Vec<Aside>,
}

impl Work {
    pub fn begin(&mut self, request: Request) {
        self.in_hand.push(request);
    }

    /// A step of it was survived.
    pub fn end(&mut self, request: &Request) {
        if let Some(at) = self.in_hand.iter().position(|one| one == request) {
            self.in_hand.swap_remove(at);
        }
        self.suspects.retain(|one| one.request != *request);
    }

    /// Whoever had this in hand left in good order: a person asked it to, or the next one is of another version. What was set aside has
    /// another chance.
    pub fn put_down(&mut self) {
        *self = Self::default();
    }

    /// The supervisor that had this in hand has died, by its own fault as far as that is known. Returns what is set aside from now on.
    pub fn after_death(&mut self, crashed: bool, now: Timestamp) -> Vec<Request> {
        let mut new = Vec::new();
        for request in std::mem::take(&mut self.in_hand) {
            let known = self.suspects.iter().position(|one| one.request == request);
            let mut one = match known {
                Some(at) => self.suspects.swap_remove(at),
                None => Suspect { request, crashes: 0, deaths: 0 },
            };
            one.deaths += 1;
            one.crashes += u32::from(crashed);
            if one.crashes < CRASHES && one.deaths < DEATHS {
                self.suspects.push(one);
                continue;
            }
            if !self.is_aside(&one.request) {
                new.push(one.request.clone());
                self.aside.push(Aside { request: one.request, at: now });
            }
        }
        let too_many = self.aside.len().saturating_sub(MOST);
        self.aside.drain(..too_many);
        let too_many = self.suspects.len().saturating_sub(MOST);
        self.suspects.drain(..too_many);
        new
    }

    pub fn is_aside(&self, request: &Request) -> bool {
        self.aside.iter().any(|one| one.request == *request)
    }
}

impl Request {
    pub fn new(kind: Kind, id: &str) -> Self {
        Self { kind, id: id.to_owned() }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        match self.kind {
            Kind::Message => write!(f, "message {id}"),
            Kind::Keys => write!(f, "the request {id} for keys"),
            Kind::Limit => write!(f, "the usage limit of {id}"),
            Kind::Loop => write!(f, "the loop of {id}"),
            Kind::Callbacks => write!(f, "callbacks to {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn message(id: &str) -> Request {
        Request::new(Kind::Message, id)
    }

    /// A supervisor takes these in hand and dies.
    fn die(work: &mut Work, requests: &[Request], crashed: bool) -> Vec<Request> {
        for one in requests {
            work.begin(one.clone());
        }
        work.after_death(crashed, NOW)
    }

    #[test]
    fn the_second_crash_is_the_last() {
        let (mut work, bad) = (Work::default(), message("bad"));
        assert_eq!(die(&mut work, std::slice::from_ref(&bad), true), []);
        assert!(!work.is_aside(&bad));
        assert_eq!(die(&mut work, std::slice::from_ref(&bad), true), std::slice::from_ref(&bad));
        assert!(work.is_aside(&bad) && !work.is_aside(&message("good")));
        // By whatever it may die later, this one is named once.
        assert_eq!(die(&mut work, std::slice::from_ref(&bad), true), []);
        assert_eq!(work.aside.len(), 1);
    }

    #[test]
    fn who_only_stood_beside_it_goes_on() {
        let (mut work, bad, good) = (Work::default(), message("bad"), message("good"));
        assert_eq!(die(&mut work, &[good.clone(), bad.clone()], true), []);
        work.begin(good.clone());
        work.end(&good);
        assert_eq!(die(&mut work, &[good.clone(), bad.clone()], true), [bad]);
        assert!(!work.is_aside(&good));
    }

    #[test]
    fn supervisors_that_are_killed_give_nothing_up() {
        let (mut work, one) = (Work::default(), message("one"));
        for _ in 1..DEATHS {
            assert_eq!(die(&mut work, std::slice::from_ref(&one), false), []);
        }
        let mut survived = work.clone();
        survived.begin(one.clone());
        survived.end(&one);
        assert_eq!(die(&mut survived, std::slice::from_ref(&one), false), []);
        assert_eq!(die(&mut work, std::slice::from_ref(&one), false), [one]);
    }

    #[test]
    fn an_end_in_good_order_blames_nothing() {
        let (mut work, one) = (Work::default(), message("one"));
        die(&mut work, std::slice::from_ref(&one), true);
        die(&mut work, std::slice::from_ref(&one), true);
        work.begin(one);
        work.put_down();
        assert_eq!(work.after_death(true, NOW), []);
        assert_eq!(work, Work::default());
    }

    #[test]
    fn memory_is_bounded() {
        let mut work = Work::default();
        for number in 0..3 * MOST {
            let one = message(&number.to_string());
            die(&mut work, std::slice::from_ref(&one), true);
            die(&mut work, std::slice::from_ref(&one), true);
            die(&mut work, &[message(&format!("s{number}"))], false);
        }
        assert_eq!((work.aside.len(), work.suspects.len()), (MOST, MOST));
    }
}
