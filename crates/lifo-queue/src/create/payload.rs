//! Which payloads round-trip through DynamoDB.
//!
//! Limits: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
//! (400 KB an item, 32 levels of nesting, numbers from 1E-130 to 9.99E+125).

use serde_json::Value;

/// The largest payload as JSON text. DynamoDB's item limit is 400 KB (409,600 bytes) in its own
/// counting; the rest of the item, and the difference in counting, need room.
pub const MAX_PAYLOAD_BYTES: usize = 350 * 1024;

/// How deep a payload may nest, itself included.
pub const MAX_DEPTH: usize = 31;

/// Why a payload is refused, and where.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidPayload {
    /// Too large for an item.
    #[error(
        "payload has {0} bytes of JSON; at most {MAX_PAYLOAD_BYTES} fit an item: put it into S3 and pass its key"
    )]
    TooLarge(usize),
    /// Nested too deeply.
    #[error("{0} is nested deeper than {MAX_DEPTH} levels; flatten it or pass it as a string")]
    TooDeep(String),
    /// A number that would come back as another.
    #[error(
        "{0} is {1}, a number that would lose digits or is out of DynamoDB's range; pass it as a string"
    )]
    Number(String, f64),
}

/// Checks that the payload comes back from DynamoDB as it went in.
///
/// # Errors
/// [`InvalidPayload`] names the path, as in `payload.readings[3]`.
pub(super) fn check(payload: &Value) -> Result<(), InvalidPayload> {
    let bytes = payload.to_string().len();
    if bytes > MAX_PAYLOAD_BYTES {
        return Err(InvalidPayload::TooLarge(bytes));
    }
    check_value(payload, &mut vec!["payload".to_owned()])
}

fn check_value(value: &Value, path: &mut Vec<String>) -> Result<(), InvalidPayload> {
    if path.len() > MAX_DEPTH {
        return Err(InvalidPayload::TooDeep(path.concat()));
    }
    let mut step = |segment: String, child: &Value| {
        path.push(segment);
        let checked = check_value(child, path);
        path.pop();
        checked
    };
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(i, item)| step(format!("[{i}]"), item)),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(name, field)| step(format!(".{name}"), field)),
        Value::Number(number) => match number.as_f64() {
            Some(float) if !number.is_i64() && !number.is_u64() && !survives(float) => {
                Err(InvalidPayload::Number(path.concat(), float))
            }
            _ => Ok(()),
        },
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// Beyond 64 bits an integer has lost digits before it got here (RFC 8259, section 6); below
/// 1E-130 DynamoDB refuses it.
fn survives(float: f64) -> bool {
    float == 0.0 || (float.abs() >= 1e-130 && float.abs() < 18_446_744_073_709_551_616.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ordinary_json_passes() {
        let payload = json!({"a": [1, -2.5, null, true, "", {}], "b": u64::MAX, "c": i64::MIN});
        assert_eq!(check(&payload), Ok(()));
    }

    #[test]
    fn a_number_that_would_change_is_refused_with_its_path() {
        let refused = check(&json!({"readings": [1, {"value": 1e30}]}));
        assert_eq!(
            refused,
            Err(InvalidPayload::Number(
                "payload.readings[1].value".into(),
                1e30
            ))
        );
        assert!(check(&json!(1e-131)).is_err());
        assert!(check(&json!(1e-129)).is_ok());
        assert!(check(&serde_json::from_str("12345678901234567890123").unwrap()).is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(check(&nested(MAX_DEPTH - 1)), Ok(()));
        assert!(matches!(
            check(&nested(MAX_DEPTH)),
            Err(InvalidPayload::TooDeep(_))
        ));
    }

    #[test]
    fn size_is_bounded() {
        assert_eq!(check(&json!("x".repeat(MAX_PAYLOAD_BYTES - 2))), Ok(()));
        let refused = check(&json!("x".repeat(MAX_PAYLOAD_BYTES - 1)));
        assert_eq!(
            refused,
            Err(InvalidPayload::TooLarge(MAX_PAYLOAD_BYTES + 1))
        );
    }
}
