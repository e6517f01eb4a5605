//! Prints one line per task transition and counts the transitions.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use lifo_queue::time::Millis;

use crate::change::Transition;
use crate::freshness::{Ages, FRESH, Freshness};

pub struct Journal<W> {
    out: W,
    freshness: Freshness,
    tally: Tally,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub created: u64,
    /// Number of tasks that started, each counted once.
    pub started: u64,
    pub succeeded: u64,
    pub failed: u64,
    /// Number of tasks that expired before they finished.
    pub expired: u64,
    pub returned: u64,
}

impl Tally {
    pub fn ended(&self) -> u64 {
        self.succeeded + self.failed + self.expired
    }
}

impl<W: Write> Journal<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            freshness: Freshness::default(),
            tally: Tally::default(),
        }
    }

    /// Prints a transition of task `id` and counts it.
    pub fn record(&mut self, now: Millis, id: &str, transition: &Transition) -> io::Result<Tally> {
        self.count(transition);
        let (event, detail) = words(transition);
        let line = format!("{}  {event:<10} {id}  {detail}", time_of_day(now));
        writeln!(self.out, "{}", on_one_line(line.trim_end()))?;
        self.out.flush()?;
        Ok(self.tally)
    }

    /// Prints a line that is not a transition.
    pub fn note(&mut self, now: Millis, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}  {}", time_of_day(now), on_one_line(text))?;
        self.out.flush()
    }

    /// Prints the totals of all transitions, or nothing if no task was created or started.
    pub fn summarise(&mut self) -> io::Result<()> {
        let Some(text) = summary(&self.tally, &self.freshness) else {
            return Ok(());
        };
        writeln!(self.out, "\n{text}")?;
        self.out.flush()
    }

    fn count(&mut self, transition: &Transition) {
        let tally = &mut self.tally;
        match transition {
            Transition::Created(created, expires_at) => {
                tally.created += 1;
                if let Some(created) = created {
                    self.freshness.created(*created, *expires_at);
                }
            }
            Transition::Started { first, created, at } => {
                tally.started += u64::from(*first);
                if let (true, Some(created)) = (*first, created) {
                    self.freshness.started(*created, *at);
                }
            }
            Transition::Succeeded(_) => tally.succeeded += 1,
            Transition::Failed(..) => tally.failed += 1,
            Transition::Expired => tally.expired += 1,
            Transition::Returned(..) => tally.returned += 1,
            Transition::Superseded
            | Transition::Queued
            | Transition::Redriven
            | Transition::Cancelled => {}
        }
    }
}

/// Returns the name and the details of a transition, as text.
fn words(transition: &Transition) -> (&'static str, String) {
    match transition {
        Transition::Created(..) => ("created", String::new()),
        Transition::Superseded => ("superseded", "by a newer state of the key".to_owned()),
        Transition::Queued => (
            "queued",
            "a newer state follows the one that runs".to_owned(),
        ),
        Transition::Started { created, at, .. } => {
            let age = created.map(|created| format!("at age {}", short(at.since(created))));
            ("started", age.unwrap_or_default())
        }
        Transition::Succeeded(after) => ("succeeded", format!("after {}", short(*after))),
        Transition::Failed(attempts, error) => ("failed", format!("attempts: {attempts}; {error}")),
        Transition::Returned(error, wait) => {
            ("returned", format!("due in {}; {error}", short(*wait)))
        }
        Transition::Redriven => ("redriven", String::new()),
        Transition::Cancelled => ("cancelled", String::new()),
        Transition::Expired => ("expired", String::new()),
    }
}

fn summary(tally: &Tally, freshness: &Freshness) -> Option<String> {
    let Tally {
        created,
        started,
        succeeded,
        failed,
        expired,
        returned,
    } = tally;
    if created + started == 0 {
        return None;
    }
    let mut lines = vec![format!(
        "created {created}, started {started}, succeeded {succeeded}, failed {failed}, expired {expired}, \
         returned for retry {returned}"
    )];
    let ages = freshness.observed().zip(freshness.in_arrival_order());
    if let Some((observed, arrival)) = ages {
        let row = |name: &str, ages: Ages| {
            let (fresh, median) = (ages.percent_fresh(), short(ages.median));
            let within = format!("{fresh} % started within {}", short(FRESH));
            format!("  {name:<30} {within:>23}, median age at start {median:>6}")
        };
        lines.push(row("newest first (freshq)", observed));
        lines.push(row("the same starts, oldest first", arrival));
    }
    Some(lines.join("\n"))
}

/// Formats the time of day in UTC.
fn time_of_day(now: Millis) -> String {
    let since_epoch = Duration::from_millis(u64::try_from(now.0).unwrap_or(0));
    let text = humantime::format_rfc3339_millis(UNIX_EPOCH + since_epoch).to_string();
    text.get(11..23).unwrap_or_default().to_owned()
}

/// Formats a duration in readable form: "250ms", "1.2s" or "4m 2s".
fn short(duration: Duration) -> String {
    match duration.as_millis() {
        millis @ 0..1_000 => format!("{millis}ms"),
        millis @ 1_000..60_000 => match (millis / 1_000, millis % 1_000 / 100) {
            (seconds, 0) => format!("{seconds}s"),
            (seconds, tenths) => format!("{seconds}.{tenths}s"),
        },
        _ => humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string(),
    }
}

/// Replaces control characters with spaces, because ids and errors are untrusted input.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use lifo_queue::time::EpochSeconds;

    use super::*;

    fn lines(transitions: &[(&str, Transition)]) -> String {
        let mut out = Vec::new();
        let mut journal = Journal::new(&mut out);
        for (id, transition) in transitions {
            journal
                .record(Millis(1_800_000_000_007), id, transition)
                .unwrap();
        }
        journal.summarise().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn started(created: i64, at: i64) -> Transition {
        Transition::Started {
            first: true,
            created: Some(Millis(created)),
            at: Millis(at),
        }
    }

    #[test]
    fn transition_prints_one_line_and_summary_compares_arrival_order() {
        let new = |at| Transition::Created(Some(Millis(at)), Some(EpochSeconds(60)));
        let text = lines(&[
            ("a", new(0)),
            ("b", new(2_000)),
            ("b", started(2_000, 2_010)),
            (
                "b",
                Transition::Returned("HTTP\n500".to_owned(), Duration::from_millis(1_250)),
            ),
            ("b", Transition::Succeeded(Duration::from_millis(250))),
            ("a", Transition::Failed(5, "HTTP 422".to_owned())),
            ("c", Transition::Expired),
        ]);
        let expected = "\
08:00:00.007  created    a
08:00:00.007  created    b
08:00:00.007  started    b  at age 10ms
08:00:00.007  returned   b  due in 1.2s; HTTP 500
08:00:00.007  succeeded  b  after 250ms
08:00:00.007  failed     a  attempts: 5; HTTP 422
08:00:00.007  expired    c

created 2, started 1, succeeded 1, failed 1, expired 1, returned for retry 1
  newest first (freshq)          100 % started within 1s, median age at start   10ms
  the same starts, oldest first    0 % started within 1s, median age at start     2s
";
        assert_eq!(text, expected);
    }

    #[test]
    fn idle_queue_prints_no_summary() {
        assert_eq!(lines(&[]), "");
    }

    #[test]
    fn durations_are_printed_in_short_form() {
        assert_eq!(short(Duration::ZERO), "0ms");
        assert_eq!(short(Duration::from_millis(1_099)), "1s");
        assert_eq!(short(Duration::from_millis(59_999)), "59.9s");
        assert_eq!(short(Duration::from_millis(62_900)), "1m 2s");
    }
}
