//! What a new session does about usage limits, and whether its account is limited now: then its prompt waits as a message.

use std::path::PathBuf;

use dogwatch_core::delivery::When;
use dogwatch_core::delivery::safe_text::{self, SafeText};
use dogwatch_core::limits::decide::held_until;
use dogwatch_core::limits::{Account, WhenLimited};
use dogwatch_core::profile;
use dogwatch_store::{LimitPolicy, NOBODY, NewMessage};
use jiff::{Timestamp, Zoned};
use serde_json::Value;

use super::{Request, What};
use crate::actions::send::Terms;
use crate::error::MessageError;
use crate::observe::agents;
use crate::observe::limits::account_until;
use crate::{Context, Error, config};

/// What is recorded about limits with a new session.
pub(super) struct Limits {
    pub(super) policy: Option<LimitPolicy>,
    pub(super) held_until: Option<Timestamp>,
    prompt: Option<Held>,
}

/// A prompt that waits.
struct Held {
    id: String,
    text: String,
    terms: Value,
}

impl Held {
    fn new(safe: SafeText) -> Self {
        let SafeText { text, changes } = safe;
        let terms = Terms { when: When::Idle, until: None, changes, guard: None }.to_json();
        Self { id: uuid::Uuid::now_v7().to_string(), text, terms }
    }
}

impl Limits {
    /// `id` is that of the session.
    pub(super) fn of(
        context: &Context,
        request: &Request,
        id: &str,
        now: &Zoned,
    ) -> Result<Self, Error> {
        let none = Self { policy: None, held_until: None, prompt: None };
        let What::Agent { name, .. } = &request.what else { return Ok(none) };
        if name == profile::COMMAND {
            return Ok(none);
        }
        let profile = agents::profile(context, name)?;
        let config = config::read(context)?;
        let table = config.limits;
        let set = request.env.iter().map(|(key, value)| (key.clone(), value.clone()));
        let inherited = request.caller_env.iter().map(|(key, value)| {
            (key.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
        });
        let variables: Vec<(String, String)> = set.rev().chain(inherited).collect();
        let variable = |wanted: &str| {
            variables.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone())
        };
        let home = variable("HOME").map(PathBuf::from);
        let rules = profile.account.as_ref();
        let account = Account::of(&profile.name, rules, home.as_deref(), variable).to_string();
        let policy = request.when_limited.clone().unwrap_or_else(|| table.when_limited.clone());
        let (now, mut held, mut prompt) = (now.timestamp(), None, None);
        if policy != WhenLimited::Notify
            && let Some(text) = &request.prompt
        {
            let store = context.store()?;
            let ends = account_until(&store, &account, now)?;
            held = held_until(&policy, ends, now);
            if held.is_some() {
                let safe = safe_text::message(text, &profile.input);
                prompt = Some(Held::new(safe.map_err(MessageError::from)?));
            }
        }
        let policy = LimitPolicy {
            session: id.into(),
            account,
            policy,
            message: table.message.get_ref().clone(),
            retry_after: *table.retry_after.get_ref(),
        };
        Ok(Self { policy: Some(policy), held_until: held, prompt })
    }

    /// The request without its prompt, if that waits.
    pub(super) fn without_held_prompt(&self, request: &Request) -> Request {
        let prompt = request.prompt.clone().filter(|_| self.prompt.is_none());
        Request { prompt, ..request.clone() }
    }

    /// The waiting prompt, as it is recorded with the session.
    pub(super) fn prompt<'a>(&'a self, session: &'a str) -> Option<NewMessage<'a>> {
        self.prompt.as_ref().map(|Held { id, text, terms }| NewMessage {
            id,
            session,
            text,
            slash: false,
            terms,
            sender: NOBODY,
            posted: Timestamp::now(),
        })
    }
}
