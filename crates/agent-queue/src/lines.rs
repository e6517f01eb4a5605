//! Every line of waiting calls, the longest waiting call first: for the sweep, and for many
//! agents who were queued at once.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};

use crate::call::Call;
use crate::criteria::Criteria;
use crate::matcher::{PARALLEL_READS, Served};
use crate::queue::{AgentQueue, QueueError};

impl AgentQueue {
    /// Serves every line, always the longest waiting call of those that may still meet an agent.
    /// A line that fails is left, and the others go on.
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
                    true => self.store.waiting_calls(&call.criteria, 1).await,
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

    /// The first call of each line.
    pub(crate) async fn first_of_lines(&self) -> Result<Vec<Call>, QueueError> {
        let lines = self.store.waiting().await?;
        self.first_of(lines.iter().map(|line| &line.criteria)).await
    }

    /// The first call of each of these lines.
    pub(crate) async fn first_of(
        &self,
        lines: impl Iterator<Item = &Criteria>,
    ) -> Result<Vec<Call>, QueueError> {
        let firsts: Vec<_> = lines
            .map(|criteria| self.store.waiting_calls(criteria, 1))
            .collect();
        let firsts = stream::iter(firsts).buffered(PARALLEL_READS);
        Ok(firsts.try_concat().await?)
    }
}
