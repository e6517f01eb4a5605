//! The scenes.

use std::num::NonZeroU32;
use std::time::Duration;

use lifo_queue::process::RateLimit;
use simulator::cloud::{CloudSettings, Deed};

use super::downstreams::{self, Downstream, Faults};
use crate::queue;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// One scene: a queue, arrivals and a downstream.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) name: String,
    pub(super) settings: CloudSettings,
    /// Time and kind of each arrival, in this order.
    pub(super) arrivals: Vec<(Duration, &'static str)>,
    pub(super) life: Duration,
    pub(super) lasting: Duration,
    /// Whether the scene ends once all tasks have ended.
    pub(super) ends_early: bool,
    pub(super) downstream: Downstream,
    /// Start and end of the outage.
    pub(super) outage: Option<(Duration, Duration)>,
    /// Time after the outage that does not count as a gap.
    pub(super) grace: Duration,
}

impl Scene {
    fn new(name: impl Into<String>, downstream: Downstream) -> Self {
        let settings = CloudSettings {
            process: queue::settings(),
            ..CloudSettings::default()
        };
        let mut scene = Self {
            name: name.into(),
            settings,
            arrivals: Vec::new(),
            life: 60 * MINUTE,
            lasting: 60 * MINUTE,
            ends_early: true,
            downstream,
            outage: None,
            grace: 6 * SECOND,
        };
        scene.settings.process.slots = 10;
        scene
    }

    fn slots(mut self, slots: u16) -> Self {
        self.settings.process.slots = slots;
        self
    }

    fn rate(mut self, per_1000_s: u32) -> Self {
        self.settings.process.rate = Some(RateLimit {
            interval: Duration::from_secs(1_000) / per_1000_s,
            burst: NonZeroU32::MIN,
        });
        self
    }

    fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.process.task_timeout = timeout;
        let process = &self.settings.process;
        let needed = process.turn + timeout + process.deadline_margin;
        self.settings.process_tasks.timeout = self.settings.process_tasks.timeout.max(needed);
        self
    }

    fn attempts(mut self, attempts: u32) -> Self {
        self.settings.process.max_attempts = attempts;
        self
    }

    /// Adds `count` tasks of a kind, one every `interval` from `from` on.
    fn tasks(mut self, kind: &'static str, from: Duration, count: u32, interval: Duration) -> Self {
        self.arrivals
            .extend((0..count).map(|n| (from + interval * n, kind)));
        self.arrivals.sort_by_key(|(at, _)| *at);
        self
    }

    fn outage(mut self, from: Duration, to: Duration) -> Self {
        self.outage = Some((from, to));
        self
    }

    fn lasting(mut self, lasting: Duration) -> Self {
        self.lasting = lasting;
        self
    }
}

fn only(faults: impl Fn(&mut Faults)) -> Faults {
    let mut only = Faults::default();
    faults(&mut only);
    only
}

const IMPERFECT: Faults = Faults {
    hang: 0.02,
    reset: 0.02,
    error: 0.04,
    busy: 0.02,
    silent: 0.0,
};

/// Every scene.
pub(super) fn all() -> Vec<Scene> {
    let mut all = imperfect();
    all.extend(outages());
    all.extend(busy());
    all.extend(poison());
    all
}

fn imperfect() -> Vec<Scene> {
    let arrive = |name: &str, timeout| {
        Scene::new(name, downstreams::imperfect(IMPERFECT))
            .rate(19_000)
            .timeout(timeout)
            .tasks("task", Duration::ZERO, 1_800, SECOND / 15)
            .lasting(150 * SECOND)
    };
    let one = |name: &str, faults: Faults| {
        Scene::new(format!("one_fault_{name}"), downstreams::imperfect(faults))
            .rate(19_000)
            .timeout(5 * SECOND)
            .tasks("task", Duration::ZERO, 1_200, Duration::ZERO)
            .lasting(40 * SECOND)
    };
    let hangs = Scene::new("one_run_hangs_each_minute", downstreams::one_hangs())
        .tasks("task", Duration::ZERO, 20 * 600, SECOND / 20)
        .tasks("slow", 58 * SECOND, 10, MINUTE)
        .lasting(10 * MINUTE);
    vec![
        arrive("imperfect_timeout_5", 5 * SECOND),
        arrive("imperfect_timeout_30", 30 * SECOND),
        one("none", Faults::default()),
        one("500", only(|faults| faults.error = 0.04)),
        one("reset", only(|faults| faults.reset = 0.02)),
        one("503", only(|faults| faults.silent = 0.02)),
        one("503_retry_after", only(|faults| faults.busy = 0.02)),
        one("hang", only(|faults| faults.hang = 0.02)),
        hangs,
    ]
}

fn outages() -> Vec<Scene> {
    let mut all = Vec::new();
    for attempts in [5, 1] {
        let from = 20 * SECOND;
        let named = |name: String| match attempts {
            1 => format!("{name}_one_attempt"),
            _ => name,
        };
        let down = |name: String, to: Duration, deed: Deed| {
            let served = Duration::from_millis(300);
            Scene::new(named(name), downstreams::outage((from, to), deed, served))
                .attempts(attempts)
                .outage(from, to)
                .lasting(to + 5 * MINUTE)
        };
        let (three, ten) = (from + 3 * MINUTE, from + 10 * MINUTE);
        all.push(
            down("quiet_refused".into(), three, Deed::Unavailable).tasks(
                "task",
                from + SECOND,
                12,
                15 * SECOND,
            ),
        );
        for tasks in [1, 2] {
            let name = format!("lone_refused_{tasks}");
            all.push(down(name, three, Deed::Unavailable).tasks(
                "task",
                from + SECOND,
                tasks,
                Duration::ZERO,
            ));
        }
        for (slots, timeout) in [(1, 30), (2, 30), (3, 30), (4, 30), (50, 60)] {
            let scene = down(format!("hang_{slots}_slots_{timeout}_s"), ten, Deed::Hang);
            let scene = scene.slots(slots).timeout(timeout * SECOND);
            let mut scene = scene.tasks("task", from + SECOND, 100, Duration::ZERO);
            scene.grace += timeout * SECOND;
            all.push(scene);
        }
        for rate in [50, 100, 200, 500] {
            let scene = down(
                format!("502_rate_{rate}_per_1000_s"),
                ten,
                Deed::Unavailable,
            );
            let mut scene = scene
                .rate(rate)
                .tasks("task", from + SECOND, 20, Duration::ZERO);
            scene.grace += Duration::from_secs(1_000) / rate;
            all.push(scene);
        }
        all.push(down("403_for_10_min".into(), ten, Deed::Reject).tasks(
            "task",
            from + SECOND,
            10,
            MINUTE,
        ));
        let half = from + 30 * MINUTE;
        all.push(down("403_for_30_min".into(), half, Deed::Reject).tasks(
            "task",
            from + SECOND,
            30,
            MINUTE,
        ));
        let busy = Deed::Busy(Some(6 * SECOND));
        all.push(
            down("quota_back_after_7_min".into(), from + 7 * MINUTE, busy).tasks(
                "task",
                from + SECOND,
                20,
                SECOND,
            ),
        );
        let busy = Deed::Busy(Some(6 * SECOND));
        all.push(
            down(
                "lone_quota_back_after_7_min".into(),
                from + 7 * MINUTE,
                busy,
            )
            .tasks("task", from + SECOND, 1, SECOND),
        );
        all.push(
            down("503_for_20_s".into(), from + 20 * SECOND, Deed::Busy(None))
                .slots(8)
                .tasks("task", Duration::ZERO, 600, SECOND / 10),
        );
    }
    all
}

fn busy() -> Vec<Scene> {
    let quota = |name: &str, says| {
        Scene::new(name, downstreams::quota(5, 10 * SECOND, says)).tasks(
            "task",
            Duration::ZERO,
            40,
            Duration::ZERO,
        )
    };
    let overload = |name: &str, asked| {
        Scene::new(name, downstreams::overloaded(5, asked)).tasks(
            "task",
            Duration::ZERO,
            800,
            Duration::ZERO,
        )
    };
    let tenants = Scene::new("tenants_over_quota", downstreams::tenants())
        .tasks("task", Duration::ZERO, 7 * 120, SECOND / 7)
        .tasks("over", Duration::ZERO, 3 * 120, SECOND / 3)
        .lasting(150 * SECOND);
    let mut all = vec![
        quota("5_per_10_s_with_header", true),
        quota("5_per_10_s_without", false),
        overload("overload_503", None),
        overload("overload_503_with_header", Some(SECOND)),
        tenants,
    ];
    for percent in [50_u32, 80, 95] {
        let share = f64::from(percent) / 100.0;
        let scene = Scene::new(
            format!("brownout_{percent}"),
            downstreams::brownout(share, 5 * MINUTE),
        )
        .timeout(5 * SECOND)
        .tasks("task", Duration::ZERO, 300, SECOND)
        .lasting(10 * MINUTE);
        all.push(scene);
    }
    all
}

fn poison() -> Vec<Scene> {
    let never = (Duration::ZERO, Duration::ZERO);
    let scene = |name: &str| {
        let served = Duration::from_millis(300);
        Scene::new(name, downstreams::outage(never, Deed::Unavailable, served)).lasting(20 * MINUTE)
    };
    vec![
        scene("poison_beside_one_per_second")
            .tasks("poison", 5 * SECOND, 3, SECOND)
            .tasks("task", Duration::ZERO, 180, SECOND)
            .lasting(4 * MINUTE),
        scene("poison_beside_one_per_minute")
            .tasks("poison", 5 * SECOND, 3, SECOND)
            .tasks("task", Duration::ZERO, 20, MINUTE),
        scene("poison_alone")
            .tasks("poison", 5 * SECOND, 1, SECOND)
            .lasting(61 * MINUTE),
    ]
}
