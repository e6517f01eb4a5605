//! The trace header of AWS X-Ray.

use std::fmt;
use std::str::FromStr;

use crate::time::Millis;

/// Identifies the trace of a piece of work:
/// `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1`
/// (<https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader>).
///
/// Other fields, such as Lambda's `Lineage`, are not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceHeader {
    pub(super) root: String,
    /// Id of the segment that caused this work.
    pub(super) parent: Option<String>,
    pub(super) sampled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a trace header; write Root=1-<8 hex digits>-<24 hex digits>;Parent=<16 hex digits>;Sampled=1"
)]
pub struct InvalidTraceHeader;

impl TraceHeader {
    /// The header of a new recorded trace. `parent` is the id of its first segment.
    pub(super) fn fresh(now: Millis) -> Self {
        Self {
            root: fresh_root(now),
            parent: Some(fresh_id()),
            sampled: true,
        }
    }

    /// The trace in the format of [W3C Trace Context](https://www.w3.org/TR/trace-context/#traceparent-header),
    /// with this parent: `00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01`.
    pub(super) fn traceparent(&self, parent: &str) -> String {
        let id = self.root["1-".len()..].replace('-', "");
        let flags = u8::from(self.sampled);
        format!("00-{}-{parent}-{flags:02}", id.to_ascii_lowercase())
    }
}

/// The id of a new trace: its start time in seconds, and 96 random bits.
pub(super) fn fresh_root(now: Millis) -> String {
    let random = fastrand::u128(..) >> 32;
    format!("1-{:08x}-{random:024x}", now.floor_seconds().0)
}

pub(super) fn fresh_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// Accepts only hex digits as ids, because the text is untrusted input and the ids are copied into
/// headers and documents.
impl FromStr for TraceHeader {
    type Err = InvalidTraceHeader;

    fn from_str(text: &str) -> Result<Self, InvalidTraceHeader> {
        let (mut root, mut parent, mut sampled) = (None, None, false);
        for field in text.split(';') {
            match field.trim().split_once('=') {
                Some(("Root", id)) => root = Some(id),
                Some(("Parent", id)) => parent = Some(id),
                Some(("Sampled", decision)) => sampled = decision == "1",
                _ => {}
            }
        }
        let root = root
            .filter(|root| is_root(root))
            .ok_or(InvalidTraceHeader)?;
        if parent.is_some_and(|id| !is_hex(id, 16)) {
            return Err(InvalidTraceHeader);
        }
        Ok(Self {
            root: root.to_owned(),
            parent: parent.map(str::to_owned),
            sampled,
        })
    }
}

fn is_root(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut next = || parts.next().unwrap_or_default();
    let (version, time, random) = (next(), next(), next());
    version == "1" && is_hex(time, 8) && is_hex(random, 24) && parts.next().is_none()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl fmt::Display for TraceHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root={}", self.root)?;
        if let Some(parent) = &self.parent {
            write!(f, ";Parent={parent}")?;
        }
        write!(f, ";Sampled={}", u8::from(self.sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "1-5759e988-bd862e3fe1be46a994272793";

    #[test]
    fn headers_are_read_with_and_without_optional_fields() {
        let whole = format!("Root={ROOT};Parent=53995c3f42cd8ad8;Sampled=1");
        let read: TraceHeader = format!("{whole};Lineage=1:25c8a9d2:0").parse().unwrap();
        assert_eq!(read.to_string(), whole);
        let bare: TraceHeader = format!("Root={ROOT}").parse().unwrap();
        assert_eq!((bare.parent.as_deref(), bare.sampled), (None, false));
        let fresh = TraceHeader::fresh(Millis(1_800_000_000_123));
        assert_eq!(fresh.to_string().parse(), Ok(fresh));
    }

    #[test]
    fn malformed_trace_headers_are_rejected() {
        for text in [
            "",
            "Root=",
            "Root=1-5759e988-bd862e3fe1be46a99427279",
            "Root=1-5759e988-bd862e3fe1be46a994272793-0",
            "Root=2-5759e988-bd862e3fe1be46a994272793",
            "Root=1-5759e988-bd862e3fe1be46a99427279\r",
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=é\"",
        ] {
            assert_eq!(
                text.parse::<TraceHeader>(),
                Err(InvalidTraceHeader),
                "{text}"
            );
        }
    }
}
