use std::sync::Mutex;

use serde_json::json;

use super::*;

pub(super) fn task(id: &str) -> ShedTask {
    ShedTask {
        reason: ShedReason::Expired,
        task_id: Some(TaskId::from_stored(id)),
        task_status: TaskStatus::Pending,
        task_created: Some(Millis(1_700_000_000_123)),
        expires_at: Some(EpochSeconds(1_700_003_600)),
        attempts: Some(1),
        total_attempts: Some(3),
        last_error: Some("503 from the warehouse".to_owned()),
        payload: json!({"order": 7}),
        unreadable: vec![],
    }
}

fn taken(id: &str) -> ShedTask {
    let task_status = TaskStatus::Taken;
    ShedTask {
        task_status,
        ..task(id)
    }
}

/// Rejects the tasks with these indexes and records the number of tasks per call.
#[derive(Default)]
struct Scripted {
    rejects: Vec<usize>,
    brought: Mutex<Vec<usize>>,
}

#[async_trait]
impl ShedSink for Scripted {
    async fn hand_over(&self, tasks: &[ShedTask]) -> Vec<NotHandedOver> {
        self.brought.lock().unwrap().push(tasks.len());
        let reject = |index: &usize| NotHandedOver {
            index: *index,
            error: HandOverError::NotTried,
        };
        self.rejects.iter().map(reject).collect()
    }
}

async fn count(rejects: &[usize], tasks: &[ShedTask]) -> (ShedReport, Vec<usize>) {
    let sink = Arc::new(Scripted {
        rejects: rejects.to_vec(),
        ..Scripted::default()
    });
    let report = ShedCounter::new(Some(sink.clone())).count(tasks).await;
    let brought = sink.brought.lock().unwrap().clone();
    (report, brought)
}

#[tokio::test]
async fn without_a_sink_every_task_is_counted_by_its_status() {
    let tasks = [task("a"), taken("b"), task("c")];
    let report = ShedCounter::new(None).count(&tasks).await;
    assert_eq!((report.pending, report.taken, report.counted()), (2, 1, 3));
    assert_eq!(report.again_from, None);
    assert!(report.not_handed_over.is_empty());
}

#[tokio::test]
async fn counting_stops_at_the_first_task_that_the_sink_rejects() {
    let tasks = [task("a"), taken("b"), task("c"), task("d")];
    let (report, _) = count(&[1, 3], &tasks).await;
    assert_eq!((report.pending, report.taken), (1, 0));
    assert_eq!(report.again_from, Some(1));
    let named: Vec<_> = report
        .not_handed_over
        .iter()
        .map(|task| task.index)
        .collect();
    assert_eq!(named, [1, 3]);
    // After the caller retries the rest, each task is counted once.
    let (second, _) = count(&[], &tasks[1..]).await;
    assert_eq!(report.counted() + second.counted(), 4);

    let (report, _) = count(&[0, 1, 2, 3], &tasks).await;
    assert_eq!((report.counted(), report.again_from), (0, Some(0)));
}

#[tokio::test]
async fn sink_is_not_called_without_tasks() {
    let (report, brought) = count(&[0], &[]).await;
    assert_eq!((report.counted(), report.again_from), (0, None));
    assert!(brought.is_empty());
}
