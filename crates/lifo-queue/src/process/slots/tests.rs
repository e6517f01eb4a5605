use futures::FutureExt;

use super::*;

const RUN: Duration = Duration::from_millis(100);
const TAKE: Duration = Duration::from_millis(5);

/// Holds a slot and starts a run after the time of a take.
async fn run(slots: &Arc<Slots>) -> Slot {
    let mut slot = slots.hold(false);
    tokio::time::sleep(TAKE).await;
    assert!(slot.start(|_| false).await, "it was not taken ahead");
    slot
}

/// Slots of which `count` run a task, and know the durations of a take and a run.
async fn running(count: usize) -> (Arc<Slots>, Vec<Slot>) {
    let slots = Arc::<Slots>::default();
    let first = run(&slots).await;
    tokio::time::sleep(RUN).await;
    drop(first);
    let runs: Vec<_> = (0..count).map(|_| run(&slots)).collect();
    let runs = futures::future::join_all(runs).await;
    (slots, runs)
}

/// Holds a slot of a task that was taken ahead, and waits to start it while at most `limit` run.
fn ahead(slots: &Arc<Slots>, limit: usize) -> tokio::task::JoinHandle<Option<Slot>> {
    let mut slot = slots.hold(true);
    tokio::spawn(async move { slot.start(|running| running < limit).await.then_some(slot) })
}

#[tokio::test(start_paused = true)]
async fn nothing_is_done_ahead_until_a_take_and_a_run_were_measured() {
    let slots = Arc::<Slots>::default();
    let runs = [run(&slots).await, run(&slots).await];
    assert_eq!(slots.ahead(2), Ahead::Nothing);
    drop(runs);
}

#[tokio::test(start_paused = true)]
async fn task_is_taken_two_requests_before_the_expected_end_of_a_run() {
    let (slots, _runs) = running(8).await;
    assert_eq!(
        slots.ahead(8),
        Ahead::In(RUN - REQUESTS * (TAKE + RESOLUTION))
    );
    tokio::time::sleep(RUN - REQUESTS * (TAKE + RESOLUTION)).await;
    assert_eq!(slots.ahead(8), Ahead::Take);
}

#[tokio::test(start_paused = true)]
async fn tasks_taken_ahead_are_at_most_a_quarter_of_the_slots_freed_in_100_ms() {
    for (slots, run_ms, most) in [
        (8, 100, 2),
        (8, 20, 8),
        (10, 400, 0),
        (50, 400, 3),
        (2, 0, 2),
    ] {
        assert_eq!(
            most_ahead(slots, Duration::from_millis(run_ms)),
            most,
            "{slots} {run_ms}"
        );
    }
    let (slots, _runs) = running(8).await;
    tokio::time::sleep(RUN).await;
    let _waiting = [ahead(&slots, 8), ahead(&slots, 8)];
    assert_ne!(slots.ahead(8), Ahead::Take);
}

#[tokio::test(start_paused = true)]
async fn task_taken_ahead_starts_as_soon_as_a_slot_is_free() {
    let (slots, mut runs) = running(8).await;
    let waiting = ahead(&slots, 8);
    tokio::time::sleep(RUN - Duration::from_millis(1)).await;
    assert!(!waiting.is_finished());
    drop(runs.pop());
    let began = Instant::now();
    assert!(waiting.await.unwrap().is_some());
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn task_that_finds_no_slot_within_100_ms_does_not_start_and_no_other_is_taken_before_a_run_ends()
 {
    let (slots, mut runs) = running(8).await;
    let began = Instant::now();
    assert!(ahead(&slots, 8).await.unwrap().is_none());
    assert_eq!(began.elapsed(), Duration::from_millis(100));
    assert_ne!(slots.ahead(8), Ahead::Take);
    assert_eq!(slots.held(), 8);
    drop(runs.pop());
    runs.push(run(&slots).await);
    assert_eq!(slots.ahead(8), Ahead::Take);
}

#[tokio::test(start_paused = true)]
async fn slot_that_becomes_free_goes_to_the_task_that_was_taken_first() {
    let (slots, mut runs) = running(8).await;
    let waiting: Vec<_> = (0..6).map(|_| ahead(&slots, 8)).collect();
    tokio::task::yield_now().await;
    for first in waiting {
        drop(runs.remove(0));
        // A task whose take ends at the same time waits behind the others.
        let mut last = slots.hold(true);
        assert_eq!(last.start(|running| running < 8).now_or_never(), None);
        drop(last);
        runs.push(first.await.unwrap().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn closed_slots_return_the_waiting_tasks_at_once() {
    let (slots, _runs) = running(8).await;
    let waiting = ahead(&slots, 8);
    let began = Instant::now();
    tokio::task::yield_now().await;
    slots.set_closed(true);
    assert!(waiting.await.unwrap().is_none());
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn single_slot_only_reads_a_page_around_the_expected_end_of_its_run() {
    let (slots, _runs) = running(1).await;
    let around = MAX_PAGE_AGE / 2;
    assert_eq!(
        slots.ahead(1),
        Ahead::In(RUN - around - REQUESTS * (TAKE + RESOLUTION))
    );
    tokio::time::sleep(RUN - around).await;
    assert_eq!(slots.ahead(1), Ahead::Read);
    tokio::time::sleep(2 * around + RESOLUTION).await;
    assert_eq!(slots.ahead(1), Ahead::Nothing);
}
