//! The results of the checks, and the AWS behavior that they show.

use serde_json::json;

use super::checks::{Check, Outcome};
use super::unknowns::{NOT_SHOWN, SHOWN};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{Report, columns};

pub(super) struct Results {
    pub(super) is_local: bool,
    pub(super) results: Vec<(Check, Outcome)>,
    pub(super) exit: Exit,
}

impl Results {
    pub(super) fn note(&mut self, check: Check, result: Result<Outcome, Failure>) {
        let (outcome, exit) = match result {
            Ok(outcome @ Outcome::Failed(_)) => (outcome, Exit::NotAll),
            Ok(outcome) => (outcome, Exit::Done),
            Err(failure) => (Outcome::Failed(failure.line()), Exit::Failed),
        };
        self.exit = self.exit.max(exit);
        self.results.push((check, outcome));
    }

    /// Returns whether a check shows a behavior of AWS, and the result of the check.
    fn settled(&self, (behavior, check): (&str, Check)) -> [String; 2] {
        let result = self.results.iter().find(|(there, _)| *there == check);
        let (state, note) = match result.map(|(_, outcome)| outcome) {
            Some(Outcome::Ok(note)) if self.is_local => ("local only", note.as_str()),
            Some(Outcome::Ok(note)) => ("settled", note.as_str()),
            Some(Outcome::NotShown(note)) => ("not settled", note.as_str()),
            Some(Outcome::Failed(_)) => ("not settled", "failed"),
            None => ("not settled", "not checked"),
        };
        [
            state.to_owned(),
            format!("{behavior} ({}: {note})", check.name()),
        ]
    }

    pub(super) fn report(&self) -> Report {
        let results = self.results.iter().map(|(check, outcome)| {
            let (state, note) = match outcome {
                Outcome::Ok(note) => ("ok", note),
                Outcome::NotShown(note) => ("not shown", note),
                Outcome::Failed(note) => ("FAILED", note),
            };
            [state, check.name(), note].map(str::to_owned)
        });
        let shown = SHOWN.iter().map(|shown| self.settled(*shown));
        let others = NOT_SHOWN.map(|text| ["not settled", text].map(str::to_owned));
        let (results, aws): (Vec<_>, Vec<_>) = (results.collect(), shown.chain(others).collect());
        let failed = results.iter().filter(|[state, ..]| state == "FAILED");
        let settled = aws.iter().filter(|[state, _]| state == "settled");
        let (failed, settled) = (failed.count(), settled.count());
        let checks = results
            .iter()
            .map(|[state, name, note]| json!({ "state": state, "name": name, "note": note }));
        let checks: Vec<_> = checks.collect();
        let text = format!(
            "{}\n\nbehavior that only AWS can show\n{}\n\nchecks: {}, failed: {failed}; settled: {settled} of {}",
            columns(results.iter().cloned()),
            columns(aws.iter().cloned()),
            results.len(),
            aws.len(),
        );
        Report::new(self.exit, text, json!({ "checks": checks, "aws": aws }))
    }
}
