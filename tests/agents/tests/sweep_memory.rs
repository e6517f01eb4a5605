//! Measures the memory that a sweep requires in addition to the store.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use agent_queue::dimension::MAX_QUEUES;
use agents::world::World;

const AGENTS: usize = 200;

/// Memory limit: more than the agents and the entries of one queue require.
const MOST_KB: u64 = 30 * 1_024;

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.unwrap().split_whitespace().nth(1);
    number.unwrap().parse().unwrap()
}

/// All entries of these agents would together require about 80 MB.
#[tokio::test(start_paused = true)]
async fn sweep_does_not_hold_all_entries_of_all_agents() {
    let world = World::on(agents::memory());
    let languages: Vec<_> = (0..MAX_QUEUES).map(|n| format!("language-{n}")).collect();
    let languages: Vec<_> = languages.iter().map(String::as_str).collect();
    for number in 0..AGENTS {
        world
            .queued(&format!("agent-{number}"), &languages, "F")
            .await;
    }
    let before = peak();
    let swept = world.sweep().await;
    assert_eq!(swept.queued_agents, AGENTS as u64);
    let grown = peak() - before;
    assert!(grown < MOST_KB, "the sweep took {grown} KB more");
}
