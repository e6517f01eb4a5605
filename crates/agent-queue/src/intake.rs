//! Parses a message of the call queue, an SQS FIFO queue.
//!
//! The body is a call. The message group is the canonical criteria, so SQS delivers calls with the
//! same criteria in order and others concurrently. The deduplication id is the call's id.

mod batch;
pub mod sqs;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

pub use self::batch::{BatchReport, CallQueue, DeadLetters, Delivery, Intake, MARGIN};
use crate::call::Call;
use crate::dimension::{AttributeError, Dimensions};
use crate::name::{CallId, InvalidName};

/// Error for an invalid message, which must not be redelivered, because every delivery would fail.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    #[error("the body must be {{\"callId\"?: \"…\", \"criteria\": {{…}}}}: field {field}: {fault}")]
    Shape { field: String, fault: String },
    #[error(transparent)]
    Criteria(#[from] AttributeError),
    #[error("the body has no callId, so MessageDeduplicationId was used as the id, but it {0}")]
    Id(InvalidName),
    /// The message group differs from the criteria, so calls with the same criteria could overtake
    /// each other.
    #[error("MessageGroupId is {group:?}, but the criteria require {canonical:?}")]
    Group {
        group: String,
        /// Message group that the criteria require.
        canonical: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Body {
    call_id: Option<CallId>,
    criteria: BTreeMap<String, Json>,
}

/// Parses a message into a call.
pub fn read(message: &Delivery, dimensions: &Dimensions) -> Result<Call, IntakeError> {
    let json = &mut serde_json::Deserializer::from_str(&message.body);
    let body: Body =
        serde_path_to_error::deserialize(json).map_err(|error| IntakeError::Shape {
            field: error.path().to_string(),
            fault: error.inner().to_string(),
        })?;
    let criteria = dimensions.criteria(&body.criteria)?;
    let id = match body.call_id {
        Some(id) => id,
        None => CallId::new(message.deduplication.as_str()).map_err(IntakeError::Id)?,
    };
    let canonical = criteria.to_string();
    if message.group != canonical {
        return Err(IntakeError::Group {
            group: message.group.clone(),
            canonical,
        });
    }
    Ok(Call {
        sequence: message.sequence,
        ..Call::new(id, criteria, message.sent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Micros;
    use proptest::prelude::*;

    fn read_message(body: &str, group: &str, deduplication: &str) -> Result<Call, IntakeError> {
        let message = Delivery {
            id: String::new(),
            receipt: String::new(),
            received: 1,
            body: body.to_owned(),
            group: group.to_owned(),
            deduplication: deduplication.to_owned(),
            sent: Micros(5),
            sequence: 6,
        };
        read(&message, &Dimensions::default())
    }

    fn rejected(body: &str, group: &str) -> String {
        let read = read_message(body, group, "d1");
        read.unwrap_err().to_string()
    }

    #[test]
    fn message_becomes_a_call_that_arrived_when_sent() {
        let body = r#"{"callId": "c1", "criteria": {"language": "Spanish"}}"#;
        let call = read_message(body, "Spanish#*", "d1").unwrap();
        assert_eq!((call.id.as_str(), call.arrived), ("c1", Micros(5)));
        assert_eq!(call.criteria.to_string(), "Spanish#*");
        let call = read_message(r#"{"criteria": {}}"#, "*#*", "d1").unwrap();
        assert_eq!(call.id.as_str(), "d1", "the deduplication id stands in");
    }

    #[test]
    fn invalid_message_error_names_field_and_remedy() {
        let body = r#"{"criteria": {"language": "Spanish", "gender": "M"}}"#;
        assert_eq!(
            rejected(body, "Spanish"),
            "MessageGroupId is \"Spanish\", but the criteria require \"Spanish#M\""
        );
        let text = rejected(r#"{"callId": "a b", "criteria": {}}"#, "*#*");
        assert!(
            text.contains("field callId: \"a b\" contains ' '"),
            "{text}"
        );
        let text = rejected(r#"{"criteria": {"team": "x"}}"#, "*#*");
        assert!(
            text.starts_with("field criteria.team is not a dimension"),
            "{text}"
        );
        assert!(rejected("hello", "*#*").contains("the body must be"));
        assert!(rejected(r#"{"criteria": {}, "x": 1}"#, "*#*").contains("unknown field `x`"));
    }

    proptest! {
        #[test]
        fn no_message_panics(body in ".{0,60}", group in ".{0,20}", id in ".{0,20}") {
            let _ = read_message(&body, &group, &id);
        }

        #[test]
        fn call_criteria_equal_the_message_group(language in "[a-z]{1,3}|\\*|#", gender in "[MF]") {
            let body = format!(r#"{{"criteria": {{"language": "{language}", "gender": "{gender}"}}}}"#);
            let group = format!("{language}#{gender}");
            if let Ok(call) = read_message(&body, &group, "d") {
                prop_assert_eq!(call.criteria.to_string(), group);
                prop_assert!(call.criteria.exact().is_some());
            }
        }
    }
}
