//! The meter state that a long storm leaves.

use lifo_queue::control::{Carried, Claim, IdleTurns, Release};
use lifo_queue::observed::{Capacity, Observed};
use lifo_queue::store::{AdmissionStore, Counts, Mark, StoreError};
use simulator::admission::SharedMeter;
use simulator::cloud::BEGIN;
use uuid::Uuid;

use super::load::Load;

/// Stores a known capacity and the maximum number of held tasks that admission allows.
pub(super) async fn leave(meter: &SharedMeter, load: &Load) -> Result<(), StoreError> {
    let owner = Uuid::new_v4();
    let claim = Claim {
        owner,
        message_id: "before".to_owned(),
        until: BEGIN,
        rate_full_at: None,
    };
    meter.table.acquire(&claim, BEGIN).await?;
    let release = Release {
        owner,
        if_requested_is: None,
        idle_turns: IdleTurns::Reset,
        carried: Carried {
            observed: Observed {
                capacity: Some(Capacity::new(f64::from(load.runs), BEGIN)),
                ..Observed::default()
            },
            ..Carried::default()
        },
    };
    meter.table.release(&release).await?;
    let mark = Mark {
        at: BEGIN,
        held: load.admission.most_held.into(),
        received: 0,
        admitted: 0,
    };
    meter.item.meter(Counts::default(), Some(mark)).await?;
    Ok(())
}
