//! Tests of the selection in a queue with groups.

use super::*;
use crate::process::groups::tests::{task, tasks};

/// A selector and the index that it reads.
struct World {
    selector: Selector,
    index: Vec<Candidate>,
    reads: Vec<Wanted>,
    closed: HashMap<String, Millis>,
}

impl World {
    fn of(index: Vec<Candidate>) -> Self {
        let mut world = Self {
            selector: Selector::new(1, Order::NewestFirst, true),
            index: Vec::new(),
            reads: Vec::new(),
            closed: HashMap::new(),
        };
        world.arrive(index);
        world
    }

    fn arrive(&mut self, tasks: Vec<Candidate>) {
        self.index.extend(tasks);
        self.index
            .sort_by_key(|task| std::cmp::Reverse(task.created));
    }

    fn page(&self, wanted: &Wanted) -> Page {
        let below = wanted.after.as_ref().map_or(Millis::MAX, Cursor::created);
        let mut rest = self.index.iter().filter(|task| task.created < below);
        let limit = usize::from(wanted.limit);
        let candidates: Vec<_> = rest.by_ref().take(limit).cloned().collect();
        let last = candidates.last().filter(|_| rest.next().is_some());
        let next = last.map(|last| Cursor::at(last.created, last.id.clone()));
        Page { candidates, next }
    }

    /// Performs the reads. Returns the next step that is not a read.
    fn step(&mut self, now: i64) -> Step {
        let now = Millis(now);
        loop {
            match self
                .selector
                .next(now, &|group: &str| self.closed.get(group).copied(), |_| {
                    true
                }) {
                Step::Read(wanted) => {
                    let page = self.page(&wanted);
                    self.reads.push(wanted.clone());
                    self.selector.accept(wanted, page, now, now);
                }
                step => return step,
            }
        }
    }

    /// Runs the next task for `ran` milliseconds and returns its id.
    fn run(&mut self, now: &mut i64, ran: u64) -> String {
        self.run_by(now, |_| ran)
    }

    /// Runs the next task for a time that depends on its group.
    fn run_by(&mut self, now: &mut i64, ran: impl Fn(&str) -> u64) -> String {
        let Step::Take(task) = self.step(*now) else {
            panic!("nothing to take at {now}");
        };
        self.index.retain(|other| other.id != task.id);
        self.selector.started(&task.id, Millis(*now));
        let ran = ran(task.id.group());
        *now += i64::try_from(ran).unwrap();
        let (end, ran) = (Millis(*now), Duration::from_millis(ran));
        self.selector.ended(task.id.clone(), Some(ran), end, end);
        task.id.to_string()
    }
}

#[test]
fn least_served_group_starts_its_newest_task_first() {
    let mut world = World::of([tasks("noisy", 100..200), tasks("quiet", 0..3)].concat());
    let mut now = 1_000;
    let order: Vec<_> = (0..7).map(|_| world.run(&mut now, 400)).collect();
    let expected = [
        // In a tie, the newest task is first.
        "noisy/199",
        "quiet/2",
        "noisy/198",
        "quiet/1",
        "noisy/197",
        "quiet/0",
        "noisy/196",
    ];
    assert_eq!(order, expected);
}

#[test]
fn noisy_groups_and_tasks_without_a_group_get_equal_shares() {
    let index = ["a", "b", "c"].map(|group| tasks(group, 100..300)).concat();
    let mut world = World::of(index);
    world.arrive(
        (0..50)
            .map(|at| Candidate {
                id: TaskId::from_stored(format!("plain-{at}")),
                ..task("", at)
            })
            .collect(),
    );
    let mut now = 1_000;
    let mut runs: HashMap<String, u32> = HashMap::new();
    for _ in 0..40 {
        let id = TaskId::from_stored(world.run(&mut now, 50));
        *runs.entry(id.group().to_owned()).or_default() += 1;
    }
    assert_eq!(runs.len(), 4, "{runs:?}");
    assert!(
        runs.values().all(|runs| (9..=11).contains(runs)),
        "{runs:?}"
    );
}

#[test]
fn service_of_a_group_includes_its_time_in_slots() {
    let mut world = World::of([tasks("long", 0..100), tasks("short", 100..200)].concat());
    let (mut now, mut in_slots) = (1_000, HashMap::<String, u64>::new());
    let ran = |group: &str| if group == "long" { 1_000 } else { 100 };
    for _ in 0..50 {
        let id = TaskId::from_stored(world.run_by(&mut now, ran));
        *in_slots.entry(id.group().to_owned()).or_default() += ran(id.group());
    }
    // If only starts counted, the group `long` would get ten times the time of the group `short`.
    assert!(in_slots["long"] < 5 * in_slots["short"], "{in_slots:?}");
}

#[test]
fn quiet_group_is_remembered_when_noisy_tasks_push_it_below_the_head() {
    let mut world = World::of([tasks("noisy", 1_000..1_050), vec![task("quiet", 999)]].concat());
    let mut now = 2_000;
    assert_eq!(world.run(&mut now, 50), "noisy/1049");
    // During one run, more tasks arrive than a head can contain.
    world.arrive(tasks("noisy", 2_000..4_000));
    now += 200;
    assert_eq!(world.run(&mut now, 50), "quiet/999");
}

#[test]
fn head_size_follows_the_arrival_rate() {
    let mut world = World::of(tasks("noisy", 0..5_000));
    let mut now = 10_000;
    for round in 0..20 {
        world.run(&mut now, 200);
        if round < 2 {
            world.arrive(tasks("noisy", 5_000 + round * 300..5_300 + round * 300));
        }
    }
    let heads = world.reads.iter().filter(|read| read.after.is_none());
    let limits: Vec<_> = heads.map(|read| read.limit).collect();
    // Two heads show the rate: 300 arrivals in 200 ms, plus one task that moved up into the head.
    // The head size is twice the number of arrivals.
    assert_eq!(limits[..7], [DEEP_PAGE, DEEP_PAGE, 602, 602, 451, 338, 253]);
    assert_eq!(limits[19], MAX_HEAD);
}

#[test]
fn next_head_is_due_before_arrivals_fill_half_of_the_largest_head() {
    let mut world = World::of(tasks("noisy", 0..5_000));
    let mut now = 10_000;
    assert_eq!(
        world.selector.next_head(),
        None,
        "the first head is read on demand"
    );
    world.run(&mut now, 200);
    // The arrival rate is not known yet.
    assert_eq!(world.selector.next_head(), Some(Millis(10_050)));
    world.arrive(tasks("noisy", 5_000..5_400));
    world.run(&mut now, 0);
    // 401 tasks in 200 ms correspond to 500 tasks in 249 ms.
    assert_eq!(world.selector.next_head(), Some(Millis(10_449)));
    for _ in 0..20 {
        now += 200;
        world.run(&mut now, 0);
    }
    // No further arrivals.
    assert_eq!(world.selector.next_head(), Some(Millis(now + 1_000)));
}

#[test]
fn every_task_is_taken_once_even_if_candidates_are_forgotten() {
    let groups = ["a", "b", "c", "d", "e"];
    let index: Vec<_> = (0..7_500)
        .map(|at| task(groups[at % 5], i64::try_from(at).unwrap()))
        .collect();
    let all = index.len();
    let mut world = World::of(index);
    let (mut now, mut taken) = (10_000, 0);
    while let Step::Take(task) = world.step(now) {
        taken += 1;
        world.index.retain(|other| other.id != task.id);
        world.selector.started(&task.id, Millis(now));
        now += 40;
        let at = Millis(now);
        world
            .selector
            .ended(task.id, Some(Duration::from_millis(40)), at, at);
    }
    assert_eq!((taken, world.index.len()), (all, 0));
}

#[test]
fn tasks_of_a_closed_group_are_not_due_until_it_opens() {
    let mut world = World::of([tasks("a", 100..1_400), tasks("b", 0..2)].concat());
    world.closed.insert("a".to_owned(), Millis(5_000));
    let mut now = 2_000;
    // Group b is below more than a page of tasks that are not due, and each head is soon too old.
    assert_eq!(world.run(&mut now, 150), "b/1");
    assert_eq!(world.run(&mut now, 150), "b/0");
    let Step::Exhausted(pass) = world.step(now) else {
        panic!("a task of a closed group starts");
    };
    assert_eq!(
        (pass.passed_over, pass.next_due),
        (false, Some(Millis(5_000)))
    );
    world.closed.clear();
    assert_eq!(world.run(&mut now, 150), "a/1399");
    // Group a is closed until one of its runs ends, at an unknown time.
    world.closed.insert("a".to_owned(), Millis::MAX);
    let Step::Exhausted(pass) = world.step(now) else {
        panic!("a task of a closed group starts");
    };
    assert_eq!((pass.passed_over, pass.next_due), (false, None));
}

#[test]
fn closed_group_frees_slots_for_others_and_keeps_its_newest_tasks() {
    let mut world = World::of([tasks("a", 1_000..1_010), tasks("b", 0..500)].concat());
    world.closed.insert("a".to_owned(), Millis(5_000));
    let mut now = 2_000;
    for at in (490..500).rev() {
        assert_eq!(world.run(&mut now, 50), format!("b/{at}"));
    }
    world.closed.clear();
    assert_eq!(world.run(&mut now, 50), "a/1009");
}
