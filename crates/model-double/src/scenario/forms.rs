//! The short ways to write things in a scenario, and errors that say what was expected.
//!
//! Untagged enums would do, but their errors say neither where nor what.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use regex_lite::{Regex, RegexBuilder};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Step;
use super::action::{Action, Gate, Shell, Speech, Subagent, Todo, TodoList};
use super::failure::{ErrorKind, Failure};

/// A value with a short form: one string.
pub(super) trait Brief: Sized {
    fn from_brief<E: Error>(text: &str) -> Result<Self, E>;
}

macro_rules! brief_from_string {
    ($($kind:ty),*) => {$(
        impl Brief for $kind {
            fn from_brief<E: Error>(text: &str) -> Result<Self, E> {
                Ok(text.to_owned().into())
            }
        }
    )*};
}
brief_from_string!(Speech, Shell, Subagent, Gate);

impl Brief for Failure {
    fn from_brief<E: Error>(text: &str) -> Result<Self, E> {
        ErrorKind::deserialize(StrDeserializer::new(text)).map(Self::from)
    }
}

pub(super) fn brief_or_full<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Brief + Deserialize<'de>,
{
    struct Form<T>(PhantomData<T>);

    impl<'de, T: Brief + Deserialize<'de>> Visitor<'de> for Form<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a string, or a table with all options")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            T::from_brief(text)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    input.deserialize_any(Form(PhantomData))
}

pub(super) fn list_or_full<'de, D: Deserializer<'de>>(input: D) -> Result<TodoList, D::Error> {
    struct Form;

    impl<'de> Visitor<'de> for Form {
        type Value = TodoList;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a list of { text, status }, or a table with `items` and `update`")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<TodoList, A::Error> {
            Vec::<Todo>::deserialize(SeqAccessDeserializer::new(list)).map(TodoList::from)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TodoList, A::Error> {
            TodoList::deserialize(MapAccessDeserializer::new(map))
        }
    }

    input.deserialize_any(Form)
}

pub(super) fn seconds<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(input)?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Error::custom(format!("{seconds} is not a number of seconds from 0 up")))
}

/// A pattern whose `.` matches line ends too: a human message is often several lines.
pub(super) fn regex<'de, D: Deserializer<'de>>(input: D) -> Result<Regex, D::Error> {
    let pattern = String::deserialize(input)?;
    RegexBuilder::new(&pattern).dot_matches_new_line(true).build().map_err(Error::custom)
}

/// Serde alone would take the first key of a table and drop the others without a word.
fn one_action<'de, A: MapAccess<'de>>(mut map: A) -> Result<Action, A::Error> {
    let action = Action::deserialize(MapAccessDeserializer::new(&mut map))?;
    match map.next_key::<String>()? {
        None => Ok(action),
        Some(extra) => Err(Error::custom(format!(
            "expected an action with one key, found also `{extra}` (options go into a table: \
             {{ text = {{ text = \"hi\", delay_ms = 5 }} }})"
        ))),
    }
}

/// An action, or a string that stands for a text.
struct ActionOrText(Action);

impl<'de> Deserialize<'de> for ActionOrText {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = ActionOrText;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string, or an action like { shell = \"ls\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ActionOrText, E> {
                Ok(ActionOrText(Action::Text(text.to_owned().into())))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ActionOrText, A::Error> {
                one_action(map).map(ActionOrText)
            }
        }

        input.deserialize_any(Form)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = Step;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(
                    "a step: a string, an action like { shell = \"ls\" }, or a list of them",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Step, E> {
                Ok(Step::say(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Step, A::Error> {
                Ok(Step(vec![one_action(map)?]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Step, A::Error> {
                let mut actions = Vec::new();
                while let Some(ActionOrText(action)) = list.next_element()? {
                    actions.push(action);
                }
                Ok(Step(actions))
            }
        }

        input.deserialize_any(Form)
    }
}
