//! Opens, closes and serves the lines of pending calls, one line per criteria. Among all lines, the
//! oldest call is served first.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use crate::call::Call;
use crate::criteria::Criteria;
use crate::matching::first_agent::PARALLEL_READS;
use crate::matching::line::Served;
use crate::open_lines::MAX_LINES;
use crate::queue::{AgentQueue, QueueError, Result};
use crate::store::Line;

/// Time after which an empty line is closed if no process opens it again. This is twice the time
/// for which a process assumes that a line is open.
const CLOSED_AFTER: Duration = Duration::from_secs(60 * 60);

impl AgentQueue {
    /// Opens a line so that new calls can join it. Does nothing if this process opened it recently.
    pub(crate) async fn open_line(&self, criteria: &Criteria) -> Result<()> {
        if self.opened.is_open(criteria, self.clock.now()) {
            return Ok(());
        }
        let lines = self.store.lines().await?;
        if lines.len() >= MAX_LINES && lines.iter().all(|line| line.criteria != *criteria) {
            return Err(QueueError::TooManyLines {
                criteria: criteria.clone(),
            });
        }
        self.reopen_line(criteria).await
    }

    /// Opens the line to which a call returns. The limit on the number of lines applies only to new
    /// calls, and this call was accepted.
    pub(crate) async fn reopen_line(&self, criteria: &Criteria) -> Result<()> {
        let now = self.clock.now();
        if self.opened.is_open(criteria, now) {
            return Ok(());
        }
        let mut pauses = self.slow_pauses();
        loop {
            let error = match self.store.open_line(criteria, now).await {
                Ok(()) => break,
                Err(error) => error,
            };
            match pauses.next() {
                Some(pause) if error.is_transient() && !self.is_over() => {
                    tokio::time::sleep(pause).await;
                }
                _ => return Err(error.into()),
            }
        }
        self.opened.insert(criteria, now);
        Ok(())
    }

    /// Closes the empty lines that no process has opened for an hour, so that the registry contains
    /// only recently used criteria.
    pub(crate) async fn close_lines(&self) -> Result<()> {
        let now = self.clock.now();
        for line in self.store.lines().await? {
            if line.seen.plus(CLOSED_AFTER) <= now && self.is_empty(&line).await? {
                self.store.close_line(&line).await?;
            }
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    async fn is_empty(&self, line: &Line) -> Result<bool> {
        let first = self.store.calls_in_line(&line.criteria, 1).await?;
        Ok(first.is_empty())
    }

    /// Serves all lines, always choosing the oldest of their first calls. Skips a line that fails
    /// or has no matching agent, and continues with the others.
    pub(crate) async fn serve_lines(&self) -> (Served, Vec<QueueError>) {
        let (mut served, mut errors) = (Served::default(), vec![]);
        let mut lines = match self.first_of_lines().await {
            Ok(calls) => calls,
            Err(error) => return (served, vec![error]),
        };
        let mut ended = BTreeMap::new();
        while let Some(call) = lines.iter().min_by_key(|call| call.sort_key()).cloned() {
            if self.is_over() {
                served.cut_short = true;
                break;
            }
            lines.retain(|other| other.criteria != call.criteria);
            let ended = ended.entry(call.criteria.clone()).or_default();
            let next = async {
                let more = self.serve_call(&call, &mut served, ended).await?;
                match more {
                    true => self.store.calls_in_line(&call.criteria, 1).await,
                    false => Ok(vec![]),
                }
                .map_err(QueueError::from)
            };
            match next.await {
                Ok(next) => lines.extend(next),
                Err(error) => errors.push(error),
            }
        }
        (served, errors)
    }

    pub(crate) async fn first_of_lines(&self) -> Result<Vec<Call>> {
        let lines = self.store.lines().await?;
        let criteria = lines.iter().map(|line| &line.criteria);
        self.first_of(criteria, 1).await
    }

    /// Returns the oldest pending calls of all lines, up to `limit`.
    pub(crate) async fn pending_calls(&self, limit: u16) -> Result<Vec<Call>> {
        let lines = self.store.lines().await?;
        let criteria = lines.iter().map(|line| &line.criteria);
        let mut calls = self.first_of(criteria, limit).await?;
        calls.sort_by_cached_key(Call::sort_key);
        calls.truncate(limit.into());
        Ok(calls)
    }

    /// Returns the first calls of each of these lines, up to `limit` per line.
    pub(crate) async fn first_of(
        &self,
        lines: impl Iterator<Item = &Criteria>,
        limit: u16,
    ) -> Result<Vec<Call>> {
        let firsts: Vec<_> = lines
            .map(|criteria| self.store.calls_in_line(criteria, limit))
            .collect();
        let firsts = stream::iter(firsts).buffered(PARALLEL_READS);
        Ok(firsts.try_concat().await?)
    }
}
