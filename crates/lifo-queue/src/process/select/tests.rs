use super::*;
use crate::task::Ttl;

fn task(created: i64, not_before: Option<i64>) -> Candidate {
    Candidate {
        id: TaskId::from_stored(format!("t{created}")),
        created: Millis(created),
        ttl: Ttl::Missing,
        not_before: not_before.map(Millis),
        attempts: 0,
        lease_expired: false,
    }
}

/// Lets every task start.
fn any(_: &Candidate) -> bool {
    true
}

/// Reads a page of `index`, whose tasks are ordered newest first.
fn page(index: &[Candidate], wanted: &Wanted) -> Page {
    let below = wanted.after.as_ref().map_or(Millis::MAX, Cursor::created);
    let mut rest = index.iter().filter(|task| task.created < below).cloned();
    let candidates: Vec<_> = rest.by_ref().take(usize::from(wanted.limit)).collect();
    let more = rest.next().is_some();
    let next = candidates.last().filter(|_| more).map(|last| Cursor {
        created: last.created.0.to_string(),
        task: last.id.clone(),
    });
    Page { candidates, next }
}

fn newest_first(slots: u16) -> Selector {
    Selector::new(slots, Order::NewestFirst, false)
}

/// Returns the next step while no group is closed and every task may start.
fn next(selector: &mut Selector, now: i64) -> Step {
    selector.next(Millis(now), &|_: &str| None, any)
}

fn wanted(step: Step) -> Wanted {
    match step {
        Step::Read(wanted) => wanted,
        step => panic!("{step:?}"),
    }
}

fn exhausted(step: Step) -> Pass {
    match step {
        Step::Exhausted(pass) => pass,
        step => panic!("{step:?}"),
    }
}

/// Performs the reads. Returns the next step that is not a read.
fn next_step(selector: &mut Selector, index: &[Candidate], now: Millis) -> Step {
    loop {
        match selector.next(now, &|_: &str| None, any) {
            Step::Read(wanted) => {
                selector.accept(wanted.clone(), page(index, &wanted), now, now);
            }
            step => return step,
        }
    }
}

#[track_caller]
fn taken(step: &Step) -> i64 {
    match step {
        Step::Take(task) => task.created.0,
        step => panic!("{step:?}"),
    }
}

#[test]
fn newer_task_is_selected_once_the_page_is_too_old() {
    let mut selector = newest_first(2);
    let old = [task(9, None), task(8, None), task(7, None)];
    assert_eq!(taken(&next_step(&mut selector, &old, Millis(100))), 9);
    let new = [task(10, None), task(8, None), task(7, None)];
    assert_eq!(taken(&next_step(&mut selector, &new, Millis(200))), 8);
    assert_eq!(taken(&next_step(&mut selector, &new, Millis(201))), 10);
}

#[test]
fn pass_continues_at_its_cursor_even_if_the_index_is_slow() {
    let index = (1_001..=6_000).rev().map(|n| task(n, Some(99_999)));
    let index: Vec<_> = index.collect();
    let mut selector = newest_first(10);
    let (mut now, mut reads) = (Millis(10_000), Vec::new());
    let pass = loop {
        match selector.next(now, &|_: &str| None, any) {
            Step::Read(wanted) => {
                reads.push(wanted.after.as_ref().map(|cursor| cursor.created().0));
                assert!(reads.len() < 100, "the pass never ends");
                // Every read takes longer than `MAX_PAGE_AGE`.
                let asked = now;
                now = now.plus(Duration::from_millis(150));
                selector.accept(wanted.clone(), page(&index, &wanted), asked, now);
            }
            Step::Exhausted(pass) => break pass,
            Step::Take(task) => panic!("{task:?} is not due"),
        }
    };
    assert_eq!(pass.next_due, Some(Millis(99_999)));
    let beyond_head: Vec<_> = reads.into_iter().flatten().collect();
    assert_eq!(
        beyond_head,
        (0..5).map(|n| 5_991 - 1_000 * n).collect::<Vec<_>>()
    );
}

#[test]
fn new_tasks_beyond_one_head_page_are_not_skipped() {
    let backlog: Vec<_> = (1..=300).rev().map(|n| task(n, Some(99_999))).collect();
    let mut selector = newest_first(10);
    // The pass continues below the head.
    let head = wanted(next(&mut selector, 1_000));
    let first = Page {
        candidates: backlog[..10].to_vec(),
        next: Some(Cursor {
            created: "291".into(),
            task: backlog[9].id.clone(),
        }),
    };
    selector.accept(head, first, Millis(1_000), Millis(1_000));
    assert!(wanted(next(&mut selector, 1_000)).after.is_some());
    // Before the next read, more tasks arrive than the next head can contain.
    let mut index: Vec<_> = (1..=25).rev().map(|n| task(500 + n, None)).collect();
    index.extend(backlog);
    let order: Vec<_> = (0..25)
        .map(|_| taken(&next_step(&mut selector, &index, Millis(1_200))))
        .collect();
    assert_eq!(order, (501..=525).rev().collect::<Vec<_>>());
}

#[test]
fn expired_and_skipped_tasks_are_not_selected() {
    let mut expired = task(9, None);
    expired.ttl = Ttl::Milliseconds(Millis(50));
    let index = [expired, task(8, None), task(7, None), task(6, None)];
    let mut selector = newest_first(10);
    selector.started(&index[1].id, Millis(0));
    selector.ended(index[2].id.clone(), None, Millis(300), Millis(0));
    assert_eq!(taken(&next_step(&mut selector, &index, Millis(100))), 6);
    let pass = exhausted(next_step(&mut selector, &index, Millis(100)));
    assert_eq!(pass.next_due, Some(Millis(300)));
}

#[test]
fn page_size_adapts_to_the_number_of_taken_tasks() {
    let index: Vec<_> = (1..=1_000).rev().map(|n| task(n, None)).collect();
    let mut selector = newest_first(10);
    let mut sizes = Vec::new();
    for turn in 0..8 {
        let now = Millis(1_000 + turn * 200);
        sizes.push(wanted(next(&mut selector, now.0)).limit);
        let used = if turn < 5 { 100 } else { 1 };
        for _ in 0..used {
            next_step(&mut selector, &index, now);
        }
    }
    assert_eq!(sizes, [10, 100, 100, 100, 100, 100, 10, 10]);
}

#[test]
fn head_is_read_ahead_only_while_many_tasks_are_taken() {
    let mut index: Vec<_> = (1..=500).rev().map(|n| task(n, None)).collect();
    let mut selector = newest_first(10);
    let mut asked = Vec::new();
    for taken in 1..=250 {
        let now = Millis(1_000 + taken);
        let newest = self::taken(&next_step(&mut selector, &index, now));
        index.retain(|task| task.created.0 != newest);
        if let Some(wanted) = selector.read_ahead(now) {
            asked.push((taken, wanted.limit));
            selector.accept(wanted.clone(), page(&index, &wanted), now, now);
        }
    }
    // The head grows with the rate. It is requested while ten tasks are left for the ten slots, and
    // from 50 ms on at the latest.
    let expected = [
        (11, 22),
        (23, 24),
        (37, 28),
        (55, 36),
        (81, 52),
        (123, 84),
        (174, 100),
        (225, 100),
    ];
    assert_eq!(asked, expected);

    // A slow downstream: one task every 500 ms.
    for slots in [1, 10] {
        let mut slow = newest_first(slots);
        for round in 0..20 {
            let now = Millis(1_000 + round * 500);
            next_step(&mut slow, &index, now);
            assert_eq!(slow.read_ahead(now), None);
        }
    }
}

#[test]
fn pass_records_whether_a_task_was_taken() {
    let mut selector = newest_first(10);
    let step = next_step(&mut selector, &[task(9, None)], Millis(100));
    assert_eq!(taken(&step), 9);
    selector.took();
    assert!(exhausted(next_step(&mut selector, &[], Millis(100))).took);
    // The next pass starts at the head.
    assert!(!exhausted(next_step(&mut selector, &[], Millis(300))).took);
}

#[test]
fn task_that_cannot_start_is_passed_over_and_selected_later() {
    let mut selector = newest_first(10);
    let index = [task(9, None), task(8, None)];
    let not_9 = |task: &Candidate| task.created.0 != 9;
    let now = Millis(100);
    let head = wanted(selector.next(now, &|_: &str| None, not_9));
    assert_eq!((&head.after, head.limit), (&None, 10));
    selector.accept(head.clone(), page(&index, &head), now, now);
    assert_eq!(taken(&selector.next(now, &|_: &str| None, not_9)), 8);
    assert!(exhausted(selector.next(now, &|_: &str| None, not_9)).passed_over);
    assert_eq!(taken(&next_step(&mut selector, &index, Millis(100))), 9);
}

#[test]
fn after_a_probe_the_pass_restarts_at_the_newest_task() {
    let mut selector = newest_first(2);
    let index = [task(9, Some(500)), task(8, Some(500)), task(7, None)];
    let head = wanted(next(&mut selector, 100));
    selector.accept(head.clone(), page(&index, &head), Millis(100), Millis(100));
    // No task on the head is due, so the pass continues below it.
    assert!(wanted(next(&mut selector, 100)).after.is_some());
    assert!(wanted(next(&mut selector, 600)).after.is_some());
    selector.restart();
    assert_eq!(taken(&next_step(&mut selector, &index, Millis(600))), 9);
}

#[test]
fn skipped_task_stays_skipped_in_later_passes() {
    let mut selector = newest_first(10);
    let index = [task(9, None)];
    selector.ended(index[0].id.clone(), None, Millis(500), Millis(0));
    for now in [100, 300] {
        let pass = exhausted(next_step(&mut selector, &index, Millis(now)));
        assert_eq!(pass.next_due, Some(Millis(500)), "at {now}");
    }
    assert_eq!(taken(&next_step(&mut selector, &index, Millis(500))), 9);
}
