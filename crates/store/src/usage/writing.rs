use std::collections::HashMap;
use std::collections::hash_map::Entry;

use dogwatch_core::usage::{Record, Tokens};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::{ReadFile, UsageCache, tokens_from};
use crate::StoreError;

impl UsageCache {
    /// Adds what was read. Of answers in several files the first one has it.
    pub fn add(&mut self, files: &[ReadFile]) -> Result<(), StoreError> {
        if files.is_empty() {
            return Ok(());
        }
        self.transaction(|tx| {
            let is_new = tx
                .query_row("SELECT 1 FROM messages LIMIT 1", [], |_| Ok(()))
                .optional()?
                .is_none();
            let mut writer = Writer { tx, is_new, buckets: HashMap::new(), added: HashMap::new() };
            writer.messages(files)?;
            writer.sums()?;
            let sql = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)";
            let mut statement = tx.prepare_cached(sql)?;
            for one in files {
                let file = &one.file;
                statement.execute(params![
                    one.path,
                    file.size.cast_signed(),
                    file.modified,
                    file.inode.cast_signed(),
                    file.offset.cast_signed(),
                    file.tail,
                    file.state
                ])?;
            }
            Ok(())
        })
    }

    /// Runs `work` in one transaction that holds the write lock from its start.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let run = || {
            let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&tx)?;
            tx.commit()?;
            Ok(result)
        };
        run().map_err(|e| StoreError::sql(&self.path, &e))
    }
}

/// A conversation in a quarter of an hour, with one model and one kind of prompt.
type BucketKey = (i64, i64, i64, u8);

struct Writer<'t> {
    tx: &'t Transaction<'t>,
    /// Nothing was counted before.
    is_new: bool,
    buckets: HashMap<BucketKey, i64>,
    /// What is to be added to a bucket.
    added: HashMap<i64, (u64, Tokens)>,
}

impl Writer<'_> {
    fn messages(&mut self, files: &[ReadFile]) -> rusqlite::Result<()> {
        let count = files.iter().map(|file| file.batch.records.len()).sum();
        // By key, the first one of each: rows are inserted much faster in order.
        let mut all: Vec<(Record, u32, u32)> = Vec::with_capacity(count);
        for (number, file) in (0_u32..).zip(files) {
            let places = (0_u32..).zip(&file.batch.records);
            all.extend(places.map(|(place, record)| (*record, number, place)));
        }
        all.sort_unstable_by_key(|(record, file, place)| (record.key, *file, *place));
        let owners = all.chunk_by(|a, b| a.0.key == b.0.key);
        let mut threads: HashMap<(u32, u32), i64> = HashMap::new();
        let mut models: HashMap<(u32, u32), i64> = HashMap::new();
        for copies in owners {
            let Some((mut record, number, _)) = copies.first().copied() else { continue };
            for (copy, ..) in &copies[1..] {
                record.tokens.raise(copy.tokens);
            }
            if !self.is_new && self.is_counted(&record)? {
                continue;
            }
            let Some(file) = files.get(usize::try_from(number).unwrap_or(usize::MAX)) else {
                continue;
            };
            let model = match models.entry((number, record.model)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    *new.insert(self.model(name(&file.batch.models, record.model))?)
                }
            };
            let thread = match threads.entry((number, record.thread)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(self.thread(file, record.thread)?),
            };
            let kind = u8::from(record.is_subagent) | record.length << 1;
            let bucket = self.bucket((thread, record.slot, model, kind))?;
            self.count(bucket, 1, record.tokens);
            let [input, output, read, written, for_an_hour] =
                record.tokens.numbers().map(u64::cast_signed);
            let sql = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)";
            self.tx.prepare_cached(sql)?.execute(params![
                record.key,
                bucket,
                input,
                output,
                read,
                written,
                for_an_hour
            ])?;
        }
        Ok(())
    }

    /// Adds what an answer that was counted before has more by now.
    fn is_counted(&mut self, record: &Record) -> rusqlite::Result<bool> {
        let sql = "SELECT bucket, input, output, cache_read, cache_write, cache_write_1h \
                   FROM messages WHERE key = ?";
        let from = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, tokens_from(row, 1)?));
        let found = self.tx.prepare_cached(sql)?.query_row([record.key], from).optional()?;
        let Some((bucket, before)) = found else { return Ok(false) };
        let mut now = before;
        now.raise(record.tokens);
        if let Some(more) = now.without(before).filter(|more| *more != Tokens::default()) {
            self.count(bucket, 0, more);
            let [input, output, read, written, for_an_hour] = now.numbers().map(u64::cast_signed);
            let sql = "UPDATE messages SET input = ?, output = ?, cache_read = ?, cache_write = ?, \
                       cache_write_1h = ? WHERE key = ?";
            self.tx.prepare_cached(sql)?.execute(params![
                input,
                output,
                read,
                written,
                for_an_hour,
                record.key
            ])?;
        }
        Ok(true)
    }

    fn count(&mut self, bucket: i64, messages: u64, tokens: Tokens) {
        let (count, sum) = self.added.entry(bucket).or_default();
        *count += messages;
        *sum = sum.and(tokens);
    }

    fn model(&self, name: &str) -> rusqlite::Result<i64> {
        let find = "SELECT id FROM models WHERE name = ?";
        let found = self.tx.prepare_cached(find)?.query_row([name], |row| row.get(0)).optional()?;
        if let Some(id) = found {
            return Ok(id);
        }
        self.tx.prepare_cached("INSERT INTO models (name) VALUES (?)")?.insert([name])
    }

    fn thread(&self, file: &ReadFile, thread: u32) -> rusqlite::Result<i64> {
        let thread = usize::try_from(thread).ok().and_then(|at| file.batch.threads.get(at));
        let thread = thread.cloned().unwrap_or_default();
        let find = "SELECT id FROM threads WHERE agent = ? AND conversation = ?";
        let mut statement = self.tx.prepare_cached(find)?;
        let found = statement
            .query_row(params![file.agent, thread.conversation], |row| row.get(0))
            .optional()?;
        if let Some(id) = found {
            return Ok(id);
        }
        let sql = "INSERT INTO threads (agent, conversation, cwd) VALUES (?, ?, ?)";
        self.tx.prepare_cached(sql)?.insert(params![file.agent, thread.conversation, thread.cwd])
    }

    fn bucket(&mut self, key: BucketKey) -> rusqlite::Result<i64> {
        if let Some(id) = self.buckets.get(&key) {
            return Ok(*id);
        }
        let (thread, slot, model, kind) = key;
        let find =
            "SELECT id FROM buckets WHERE thread = ? AND slot = ? AND model = ? AND kind = ?";
        let mut found: Option<i64> = None;
        if !self.is_new {
            found = self
                .tx
                .prepare_cached(find)?
                .query_row(params![thread, slot, model, kind], |row| row.get(0))
                .optional()?;
        }
        let id = match found {
            Some(id) => id,
            None => self
                .tx
                .prepare_cached(
                    "INSERT INTO buckets (thread, slot, model, kind, messages, input, output, \
                     cache_read, cache_write, cache_write_1h) VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0)",
                )?
                .insert(params![thread, slot, model, kind])?,
        };
        self.buckets.insert(key, id);
        Ok(id)
    }

    fn sums(&self) -> rusqlite::Result<()> {
        let sql = "UPDATE buckets SET messages = messages + ?, input = input + ?, \
                   output = output + ?, cache_read = cache_read + ?, \
                   cache_write = cache_write + ?, cache_write_1h = cache_write_1h + ? WHERE id = ?";
        let mut statement = self.tx.prepare_cached(sql)?;
        for (bucket, (messages, tokens)) in &self.added {
            let [input, output, read, written, for_an_hour] =
                tokens.numbers().map(u64::cast_signed);
            statement.execute(params![
                messages.cast_signed(),
                input,
                output,
                read,
                written,
                for_an_hour,
                bucket
            ])?;
        }
        Ok(())
    }
}

fn name(names: &[String], at: u32) -> &str {
    usize::try_from(at).ok().and_then(|at| names.get(at)).map_or("unknown", String::as_str)
}
