//! Schedules with task groups, some of which have limits and one of which is paused.

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use lifo_queue::control::{Author, GroupChange, GroupPause};
use lifo_queue::process::{GroupSettings, RateLimit};
use lifo_queue::task::{GroupName, Task};
use serde_json::json;
use simulator::cloud::{Cloud, CloudSettings};
use simulator::sync::lock;
use tokio::time::Instant;

use super::{Schedule, pick};

const SECOND: Duration = Duration::from_secs(1);

/// The group that an operator pauses.
const PAUSED: &str = "b";

/// The starts of runs by group, and the duration of the pause from the start of the schedule.
#[derive(Clone, Default)]
pub(super) struct Grouped {
    paused_for: Option<Duration>,
    starts: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
}

impl Schedule {
    /// Adds groups to a quarter of the schedules. Of these, half limit each group's concurrency, a
    /// third limit the rate, and a third pause one group.
    pub(super) fn with_groups(mut self, rng: &mut Rng) -> Self {
        if self.pages.is_some() || rng.u32(0..4) != 0 {
            return self;
        }
        for burst in &mut self.load {
            for spec in &mut burst.specs {
                match *pick(rng, &["a", "a", "a", "b", "c", ""]) {
                    "" => {}
                    group => spec["group"] = json!(group),
                }
            }
        }
        let rate = (rng.u32(0..3) == 0).then(|| RateLimit {
            interval: SECOND * rng.u32(1..40),
            burst: *pick(
                rng,
                &[1, 1, 3].map(|burst| std::num::NonZeroU32::MIN.saturating_add(burst - 1)),
            ),
        });
        self.settings.process.groups = Some(GroupSettings {
            max_concurrency: NonZeroU16::new(*pick(rng, &[0, 0, 1, 2])),
            rate,
            breaker: rng.bool(),
        });
        let paused_for = (rng.u32(0..3) == 0).then(|| Duration::from_secs(rng.u64(10..600)));
        self.grouped = Some(Grouped {
            paused_for,
            ..Grouped::default()
        });
        self
    }
}

impl Grouped {
    /// Records that a run starts.
    pub(super) fn start(&self, task: &Task) {
        let mut starts = lock(&self.starts);
        let group = task.task_id.group().to_owned();
        starts.entry(group).or_default().push(Instant::now());
    }

    /// Pauses a group.
    pub(super) async fn pause(&self, cloud: &Cloud) {
        let Some(paused_for) = self.paused_for else {
            return;
        };
        let now = cloud.now();
        let pause = GroupPause {
            until: now.plus(paused_for),
            reason: "a schedule".to_owned(),
            by: Author {
                name: "an operator".to_owned(),
                at: now,
            },
        };
        let Ok(group) = GroupName::new(PAUSED) else {
            return;
        };
        // The operator's store has no faults.
        let change = GroupChange::Pause(Some(pause));
        let paused = cloud.operator().change_group(&group, &change, now).await;
        debug_assert!(paused.is_ok(), "{paused:?}");
    }

    /// Returns a violation if, after `began`, a run of the paused group started, or more runs of a
    /// group started than its rate allows. The processes' clocks differ by at most the skew.
    pub(super) fn broken(&self, began: Instant, settings: &CloudSettings) -> Option<String> {
        let starts = lock(&self.starts);
        let paused_for = self.paused_for.unwrap_or_default();
        let paused = starts.get(PAUSED).into_iter().flatten();
        let mut early = paused.map(|start| start.duration_since(began) + settings.skew);
        if let Some(at) = early.find(|at| *at < paused_for) {
            return Some(format!(
                "S5.15: a start after {at:?} of a pause of {paused_for:?}"
            ));
        }
        let rate = settings.process.groups?.rate?;
        starts.iter().find_map(|(group, starts)| {
            let mut count = 0.0;
            let mut passed = starts.iter().map(|start| start.duration_since(began));
            passed.find_map(|passed| {
                count += 1.0;
                let refilled =
                    (passed + 2 * settings.skew).as_secs_f64() / rate.interval.as_secs_f64();
                let allowed = f64::from(rate.burst.get()) + refilled;
                (count > allowed).then(|| {
                    format!(
                        "S5.15: {count} starts of {group:?} in {passed:?} of a limit of {rate:?}"
                    )
                })
            })
        })
    }
}
