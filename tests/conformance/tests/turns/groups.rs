//! Groups: the least-served group is first.

use std::time::Duration;

use conformance::new_task;
use lifo_queue::process::GroupSettings;
use lifo_queue::runner::Outcome;
use lifo_queue::task::{NewTask, TaskStatus};

use super::world::*;

conformance::on_both_stores! {
    quiet_group_takes_turns_with_a_noisy_one,
    queue_without_groups_does_not_read_them_from_ids,
}

/// Runs twenty noisy tasks and three older quiet tasks in one slot. Returns the starts.
async fn starts(groups: bool) -> Vec<String> {
    let mut world = World::new(|_| (Duration::from_millis(400), Outcome::Success));
    world.settings.slots = 1;
    world.settings.groups = groups.then(GroupSettings::default);
    for (group, tasks, from) in [("quiet", 3, -100), ("noisy", 20, -50)] {
        for n in 0..tasks {
            let task = new_task(&format!("{group}/{n}"), from + n);
            world.store.insert(&task).await.unwrap();
        }
    }
    world.turn().await;
    assert_eq!(world.count(TaskStatus::Success), 23);
    world.started()
}

async fn quiet_group_takes_turns_with_a_noisy_one() {
    let starts = starts(true).await;
    let expected = [
        "noisy/19", "quiet/2", "noisy/18", "quiet/1", "noisy/17", "quiet/0", "noisy/16",
    ];
    assert_eq!(starts[..7], expected);
}

async fn queue_without_groups_does_not_read_them_from_ids() {
    let starts = starts(false).await;
    assert_eq!(starts[20..], ["quiet/2", "quiet/1", "quiet/0"]);
}

#[tokio::test(start_paused = true)]
async fn quiet_task_that_is_buried_while_no_slot_is_free_starts_next() {
    let second = SECOND;
    let mut world = World::new(move |_| (10 * second, Outcome::Success));
    world.settings.slots = 1;
    world.settings.groups = Some(GroupSettings::default());
    let insert = async |task: NewTask| world.store.insert(&task).await.unwrap();
    insert(new_task("noisy/first", -100)).await;
    let arrivals = async {
        tokio::time::sleep(3 * second).await;
        insert(new_task("quiet/0", 3_000)).await;
        tokio::time::sleep(3 * second).await;
        // More tasks than the largest head holds.
        for n in 0..1_500 {
            insert(new_task(&format!("noisy/{n}"), 6_000)).await;
        }
    };
    tokio::join!(world.turn(), arrivals);
    assert_eq!(world.started()[..2], ["noisy/first", "quiet/0"]);
}
