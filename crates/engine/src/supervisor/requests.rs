//! What programs at the socket ask the supervisor to do. It is stored as what commands post is; the answer waits for the outcome.

use std::time::{Duration, Instant};

use dogwatch_core::delivery::{Outcome, When};
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::keys::{KeyOutcome, KeyRequest};
use dogwatch_protocol::stream::{Ask, InterruptAnswer};
use dogwatch_store::{Session, Store};
use jiff::Timestamp;

use super::clients::{answer, refused};
use crate::actions::send::{self, Receipt, Request, queue};
use crate::error::MessageError;
use crate::socket::server::GuestId;
use crate::{Context, Error};

/// Requests whose outcome is not known yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    guest: GuestId,
    request: u64,
    session: Session,
    posted: Posted,
    until: Option<Instant>,
}

#[derive(Debug)]
enum Posted {
    Keys(String),
    Message(String),
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Stores a request; its answer comes later.
    pub(super) fn post(
        &mut self,
        context: &Context,
        store: &mut Store,
        (guest, request): (GuestId, u64),
        session: Session,
        ask: &Ask,
        by_agent: bool,
    ) -> Result<(), Error> {
        let mut until = None;
        let posted = match ask {
            Ask::Send { text, slash, when, timeout, key, .. } => {
                let id = id(key.as_deref())?;
                let (slash, when, timeout) = (*slash, *when, timeout.map(u64::from));
                until = timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
                send(context, store, &session, (text, slash, when), &id)?;
                Posted::Message(id)
            }
            Ask::Answer { choice, dialog, key, .. } => {
                let (choice, dialog) = (choice.clone(), Some(dialog.clone()));
                let request = KeyRequest::Answer { choice, dialog, by_agent };
                Posted::Keys(keys(store, &session, key.as_deref(), &request)?)
            }
            Ask::Interrupt { key, .. } => {
                Posted::Keys(keys(store, &session, key.as_deref(), &KeyRequest::Interrupt)?)
            }
            _ => return Err(MessageError::DamagedRequest.into()),
        };
        context.state.tell_news(&session.id);
        self.waiting.push(Waiting { guest, request, session, posted, until });
        Ok(())
    }

    pub(super) fn forget(&mut self, guest: GuestId) {
        self.waiting.retain(|one| one.guest != guest);
    }

    /// The answers to those whose outcome is known now, or whose time is over.
    pub(super) fn answers(
        &mut self,
        store: &Store,
    ) -> Vec<(GuestId, u64, Result<String, ErrorDetail>)> {
        let mut answers = Vec::new();
        self.waiting.retain(|one| {
            let answer = match one.answer(store) {
                Ok(None) => return true,
                Ok(Some(answer)) => Ok(answer),
                Err(error) => Err(refused(&error)),
            };
            answers.push((one.guest, one.request, answer));
            false
        });
        answers
    }
}

impl Waiting {
    fn answer(&self, store: &Store) -> Result<Option<String>, Error> {
        match &self.posted {
            Posted::Keys(id) => {
                let posted = store.posted_keys(id)?.ok_or(MessageError::Cancelled)?;
                match posted.outcome {
                    None => Ok(None),
                    Some(KeyOutcome::Answered(done)) => Ok(Some(answer(self.request, &done))),
                    Some(KeyOutcome::Interrupted(interrupted)) => {
                        Ok(Some(answer(self.request, &InterruptAnswer { interrupted })))
                    }
                    Some(KeyOutcome::Failed(detail)) => Err(detail.into()),
                }
            }
            Posted::Message(id) => {
                let gone = || MessageError::NoSuchMessage { id: id.clone() };
                let message = store.message(id)?.ok_or_else(gone)?;
                let is_late = self.until.is_some_and(|until| until <= Instant::now());
                let outcome = match &message.outcome {
                    Some(outcome) => outcome.clone(),
                    None if is_late => {
                        let because = message.held.clone();
                        Outcome::Queued {
                            because: because.unwrap_or_else(|| "it waits".to_owned()),
                        }
                    }
                    None => return Ok(None),
                };
                let (name, terms) = (self.session.name.clone(), queue::terms(&message));
                let receipt = Receipt { name, message, outcome, terms };
                Ok(Some(answer(self.request, &receipt.report())))
            }
        }
    }
}

fn send(
    context: &Context,
    store: &mut Store,
    session: &Session,
    (text, slash, when): (&str, bool, When),
    id: &str,
) -> Result<(), Error> {
    let request = Request { target: &session.id, text, slash, when, timeout: None };
    send::post(context, store, session, &request, id)
}

fn keys(
    store: &mut Store,
    session: &Session,
    key: Option<&str>,
    request: &KeyRequest,
) -> Result<String, Error> {
    let id = id(key)?;
    store.post_keys(&id, &session.id, request, Timestamp::now())?;
    let posted = store.posted_keys(&id)?.ok_or(MessageError::Cancelled)?;
    if posted.session != session.id || posted.request.as_ref() != Some(request) {
        return Err(crate::error::JobError::KeyReused { id }.into());
    }
    Ok(id)
}

/// The id under which a request is stored.
fn id(key: Option<&str>) -> Result<String, Error> {
    let Some(key) = key else { return Ok(send::new_id()) };
    let uuid = uuid::Uuid::parse_str(key);
    uuid.map(|id| id.to_string()).map_err(|_| MessageError::BadKey.into())
}
