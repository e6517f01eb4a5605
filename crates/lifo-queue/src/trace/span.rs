//! A segment that is being recorded, and its document
//! (<https://docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html>).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::header::fresh_id;
use super::{TraceHeader, Tracer};
use crate::time::Millis;

/// Maximum number of recorded calls per segment, so that its document fits into a datagram.
pub(crate) const MAX_CALLS: usize = 100;

/// Maximum number of links per segment: [X-Ray's limit](https://docs.aws.amazon.com/xray/latest/devguide/xray-tracelinking.html).
const MAX_LINKS: usize = 20;

/// A segment that is being recorded. [`finish`](Self::finish) sends it.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) tracer: Arc<Tracer>,
    pub(super) id: String,
    started: Millis,
    recorded: Mutex<Recorded>,
}

#[derive(Debug)]
struct Recorded {
    place: Place,
    annotations: Map<String, Value>,
    links: Vec<Value>,
    calls: Vec<Value>,
    left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A subsegment of the segment that Lambda records for the invocation.
    Invocation(TraceHeader),
    /// The first segment of a task's trace.
    Creation(TraceHeader),
    /// A later segment of a task's trace.
    Run(TraceHeader),
    /// Unknown until the task is taken.
    Later,
    Nowhere,
}

impl Place {
    fn recorded(&self) -> Option<&TraceHeader> {
        match self {
            Self::Invocation(header) | Self::Creation(header) | Self::Run(header) => {
                Some(header).filter(|header| header.sampled)
            }
            Self::Later | Self::Nowhere => None,
        }
    }
}

impl Span {
    pub(super) fn start(tracer: &Arc<Tracer>, place: Place) -> Self {
        let id = match &place {
            // The task's item stores this id, so that the runs can refer to this segment.
            Place::Creation(header) => header.parent.clone(),
            _ => None,
        };
        Self {
            id: id.unwrap_or_else(fresh_id),
            started: tracer.clock.now(),
            tracer: Arc::clone(tracer),
            recorded: Mutex::new(Recorded {
                place,
                annotations: Map::new(),
                links: vec![],
                calls: vec![],
                left_out: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The header for work that this segment causes; `None` if the segment is not recorded.
    pub(super) fn header(&self) -> Option<TraceHeader> {
        let recorded = self.lock();
        let trace = recorded.place.recorded()?;
        Some(TraceHeader {
            parent: Some(self.id.clone()),
            ..trace.clone()
        })
    }

    /// Sets the segment's trace and parent, which are known only after the task is taken.
    pub(super) fn place(&self, place: Place) {
        self.lock().place = place;
    }

    /// Adds a field that X-Ray can use to search for the trace.
    pub(super) fn annotate(&self, name: &str, value: Value) {
        self.lock().annotations.insert(name.to_owned(), value);
    }

    /// Links to the segment of another trace that caused this one.
    pub(super) fn link(&self, cause: &TraceHeader) {
        let mut recorded = self.lock();
        if let (Some(id), true) = (&cause.parent, cause.sampled)
            && recorded.links.len() < MAX_LINKS
        {
            recorded.links.push(json!({
                "trace_id": cause.root,
                "id": id,
                "attributes": {"ReferenceType": "parent"},
            }));
        }
    }

    /// Whether a call may belong to a recorded trace.
    pub(super) fn is_wanted(&self) -> bool {
        let recorded = self.lock();
        recorded.place == Place::Later || recorded.place.recorded().is_some()
    }

    /// Adds a call. Calls above [`MAX_CALLS`] are only counted.
    pub(super) fn add(&self, call: Value) {
        let mut recorded = self.lock();
        if recorded.calls.len() < MAX_CALLS {
            recorded.calls.push(call);
        } else {
            recorded.left_out += 1;
        }
    }

    /// Sends the segment if its trace is recorded. Later calls have no effect.
    pub(super) fn finish(&self) {
        let mut recorded = self.lock();
        let place = std::mem::replace(&mut recorded.place, Place::Nowhere);
        let Some(trace) = place.recorded() else {
            return;
        };
        let mut document = json!({
            "name": self.tracer.function,
            "id": self.id,
            "trace_id": trace.root,
            "start_time": seconds(self.started),
            "end_time": seconds(self.tracer.clock.now()),
            "annotations": std::mem::take(&mut recorded.annotations),
            "links": std::mem::take(&mut recorded.links),
            "subsegments": std::mem::take(&mut recorded.calls),
        });
        if !matches!(place, Place::Creation(_)) {
            document["parent_id"] = json!(trace.parent);
        }
        if matches!(place, Place::Invocation(_)) {
            document["type"] = json!("subsegment");
        }
        if recorded.left_out > 0 {
            document["metadata"] = json!({"freshq": {"calls_left_out": recorded.left_out}});
        }
        self.tracer.send(&document);
    }
}

/// A time in seconds, as in segment documents.
pub(super) fn seconds(at: Millis) -> f64 {
    let millis = at.0 as f64;
    millis / 1_000.0
}
