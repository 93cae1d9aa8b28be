//! What the targets share: values out of arbitrary bytes, and texts out of values.

use serde_json::Value;

/// Takes values off the front of the input; when that is used up, everything is zero.
#[derive(Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Small numbers mostly, and now and then one from the far ends.
    pub fn i64(&mut self) -> i64 {
        let number = i64::from(self.u16()) - i64::from(u16::MAX / 2);
        number.saturating_mul(1_i64 << (self.byte() % 63))
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    /// Up to the next line end.
    pub fn line(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
        let line = self.bytes(end);
        self.bytes(1);
        line
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// Calls for every text in a value.
pub fn each_text(value: &Value, check: &impl Fn(&str)) {
    match value {
        Value::String(text) => check(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, check)),
        Value::Object(map) => map.values().for_each(|item| each_text(item, check)),
        _ => {}
    }
}
