//! The sweep: expired leases, expired calls, and unpublished events.

use std::sync::Arc;
use std::time::Duration;

use agent_queue::agent::{AgentState, AgentStatus};
use agent_queue::agent_lifecycle::Changed;
use agent_queue::call::{CallState, OutboxEntry, OutboxEvent};
use agent_queue::sweep::{CLOCK_SKEW, SweepReport};
use agent_queue::time::{Clock, Micros};
use agent_queue::transaction::{Change, Step};
use agents::watched::{Partly, watched};
use agents::world::World;
use agents::{done, wait};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) async fn sweep_makes_an_agent_available_when_its_call_lease_expires(world: World) {
    let world = world.with(|settings| settings.call_lease = Some(MINUTE));
    world.queued("ana", &["Spanish"], "F").await;
    let made = world.ask("c1", "Spanish#F").await.assignments.remove(0);
    assert_eq!(made.lease_until, Some(made.assigned_at.plus(MINUTE)));
    world.ask("c2", "Spanish#F").await;
    let moment = MINUTE + CLOCK_SKEW - Duration::from_millis(2);
    world.pass(moment).await;
    assert_eq!(world.sweep().await.returned, 0, "it ends at this moment");
    world.tick().await;
    let swept = world.sweep().await;
    assert_eq!((swept.returned, swept.assigned), (1, 0));
    let AgentState::Available { since } = world.agent("ana").await.state else {
        panic!("available, and not queued: c2 waits");
    };
    assert_eq!(since, world.clock.now());
    assert_eq!(world.state_of("c2").await, CallState::Pending);
    assert_eq!(world.sweep().await.returned, 0, "once");
    let late = world.finish("ana", "c1", made.ticket);
    assert!(matches!(late.await, Changed::Rejected { .. }));
    assert_eq!(world.state_of("c1").await, CallState::Assigned(made));
}

pub(crate) async fn sweep_expires_calls_and_sends_them_to_the_dead_letter_queue(world: World) {
    let world = world.with(|settings| settings.max_wait = MINUTE);
    world.ask("c1", "Spanish#F").await;
    world.ask("c2", "*#M").await;
    world.pass(MINUTE / 2).await;
    world.ask("c3", "Spanish#F").await;
    world.pass(MINUTE / 2).await;
    let swept = world.sweep().await;
    assert_eq!(
        (swept.expired, swept.dead_lettered, swept.untold),
        (2, 2, 0)
    );
    assert_eq!(swept.pending_calls, 1, "c3");
    assert!(swept.complete);
    let heard = world.publisher.heard();
    let published = heard.iter().map(|event| match event {
        OutboxEvent::Expired(call) => (call.call_id.as_str(), call.criteria.to_string()),
        OutboxEvent::Assigned(made) => panic!("{made:?}"),
    });
    let published: Vec<_> = published.collect();
    assert_eq!(
        published,
        [("c1", "Spanish#F".to_owned()), ("c2", "*#M".to_owned())]
    );
    let swept = world.sweep().await;
    assert_eq!((swept.expired, swept.dead_lettered), (0, 0), "once");
    assert_eq!(world.state_of("c1").await, CallState::Expired);
    assert_eq!(world.state_of("c3").await, CallState::Pending);
}

/// The sweep waits for the grace period, because the matching process may be about to publish.
pub(crate) async fn sweep_publishes_missed_assignments_after_the_grace_period(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    let made = world.ask("c1", "Spanish#F").await.assignments;
    world.pass(Duration::from_millis(4_998)).await;
    let swept = world.sweep().await;
    assert_eq!((swept.published, swept.untold), (0, 0));
    assert!(world.publisher.heard().is_empty());
    world.tick().await;
    assert_eq!(world.sweep().await.published, 1);
    assert_eq!(
        world.publisher.heard(),
        [OutboxEvent::Assigned(made[0].clone())]
    );
    assert_eq!(world.sweep().await.published, 0, "and published once");

    world.queued("bea", &["Spanish"], "F").await;
    let made = world.ask("c2", "Spanish#F").await.assignments;
    assert_eq!(world.publish(&made).await.published, 1);
    world.pass(MINUTE).await;
    assert_eq!(world.sweep().await.published, 0, "published immediately");
}

pub(crate) async fn sweep_retries_failed_publications(world: World) {
    let world = world.with(|settings| settings.max_wait = MINUTE);
    world.ask("late", "French#F").await;
    world.pass(MINUTE - Duration::from_secs(20)).await;
    for (agent, call) in [("ana", "c1"), ("bea", "c2")] {
        world.queued(agent, &["Spanish"], "F").await;
        let made = world.ask(call, "Spanish#F").await.assignments;
        world.publisher.fail();
        let published = world.publish(&made).await;
        assert_eq!((published.published, published.failed), (0, 1));
        assert_eq!(world.in_call(agent).await.as_deref(), Some(call), "stands");
    }
    world.pass(Duration::from_secs(20)).await;
    let published = |swept: &SweepReport| (swept.published, swept.dead_lettered, swept.untold);
    let swept = world.sweep().await;
    assert_eq!((swept.expired, published(&swept)), (1, (0, 0, 3)));
    // One event is published. The others remain in the outbox.
    world.publisher.fail_for(&["c1", "late"]);
    assert_eq!(published(&world.sweep().await), (1, 0, 2));
    world.publisher.fail_for(&[]);
    assert_eq!(published(&world.sweep().await), (1, 1, 0));
    let heard: Vec<_> = world.publisher.heard();
    let heard = heard.iter().map(|event| event.call_id().to_string());
    assert_eq!(heard.collect::<Vec<_>>(), ["c2", "c1", "late"]);
    let kept = world.store.outbox_entries(None, Micros(u64::MAX), 10).await;
    assert_eq!(kept.unwrap(), []);
}

/// One lease can't be ended, and one line can't be served. The sweep completes all other steps and
/// reports the failures.
pub(crate) async fn a_failing_step_stops_no_other_step_of_the_sweep(world: World) {
    let world = world.with(|settings| settings.call_lease = Some(MINUTE));
    for agent in ["bad", "bea"] {
        world.queued(agent, &["French"], "F").await;
        world.ask(&format!("of-{agent}"), "French#F").await;
    }
    world.pass(2 * MINUTE).await;
    for (call, wanted) in [("bad-1", "English#F"), ("c1", "Spanish#F")] {
        let call = world.call(call, wanted);
        wait(&*world.store, &call).await;
        world.tick().await;
    }
    for (agent, language) in [("eve", "English"), ("ana", "Spanish")] {
        let agent = agents::agent(agent, &[language], "F");
        let agent = agents::available(&*world.store, agent).await;
        agents::enqueue(&*world.store, agent, 9).await;
    }
    let store = Arc::new(watched(world.store.clone(), Arc::new(Partly)));
    let queue = world.queue_on(store, world.queue.settings().clone());
    let failed = queue.sweep(&*world.publisher).await.unwrap_err();
    assert_eq!(failed.failures, 2, "{failed}");
    let report = failed.report;
    assert_eq!((report.returned, report.assigned), (1, 1));
    assert_eq!(
        (report.published, report.untold),
        (3, 0),
        "two were deleted from the outbox"
    );
    assert_eq!((report.queued_agents, report.pending_calls), (1, 1));
    assert!(!report.complete);
    assert_eq!(world.in_call("bad").await.as_deref(), Some("of-bad"));
    assert_eq!(world.status("bea").await, AgentStatus::Available);
    assert_eq!(world.in_call("ana").await.as_deref(), Some("c1"));
    assert!(world.sweep().await.complete, "the next sweep continues");
}

pub(crate) async fn unpublishable_page_does_not_delay_other_pages(world: World) {
    let ids: Vec<_> = (0..250).map(|number| format!("c{number}")).collect();
    for some in (0..).zip(&ids).collect::<Vec<_>>().chunks(50) {
        let entry = |(number, id): &(u64, &String)| {
            Step::OutboxEntry(OutboxEntry {
                at: agents::at(*number),
                event: OutboxEvent::Expired(agents::expired(id, "Spanish#F", 0)),
            })
        };
        done(&*world.store, &Change::of(some.iter().map(entry))).await;
    }
    world.tick().await;
    let deaf: Vec<_> = ids[..220].iter().map(String::as_str).collect();
    world.publisher.fail_for(&deaf);
    let swept = world.sweep().await;
    assert_eq!((swept.dead_lettered, swept.untold), (30, 220));
    world.publisher.fail_for(&[]);
    let swept = world.sweep().await;
    assert_eq!((swept.dead_lettered, swept.untold), (220, 0));
}

pub(crate) async fn sweep_ends_at_its_deadline_and_reports_it_is_incomplete(world: World) {
    world.queued("ana", &["Spanish"], "F").await;
    let call = world.call("c1", "Spanish#F");
    wait(&*world.store, &call).await;
    let queue = world.queue.until(Instant::now());
    let swept = queue.sweep(&*world.publisher).await.unwrap();
    assert_eq!((swept.assigned, swept.complete), (0, false));
    assert_eq!(swept.pending_calls, 1, "it is measured all the same");
    let swept = world.sweep().await;
    assert_eq!((swept.assigned, swept.complete), (1, true));
}
