//! Checks that DynamoDB can store a payload and return it unchanged.
//!
//! Limits: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
//! (400 KB per item, 32 levels of nesting, numbers from 1E-130 to 9.99E+125).

use serde_json::Value;

/// Maximum payload size as JSON text, in bytes. DynamoDB limits an item to 400 KB (409,600 bytes).
/// The remainder allows for the other attributes and for DynamoDB's different size calculation.
pub const MAX_PAYLOAD_BYTES: usize = 350 * 1024;

/// Maximum payload size as DynamoDB counts it, in bytes. An array of many small numbers is larger
/// in an item than as text. The rest of an item's 400 KB is for its id and the queue's attributes.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
pub const MAX_ITEM_BYTES: usize = 392 * 1024;

/// Maximum nesting depth, including the payload itself.
pub const MAX_DEPTH: usize = 31;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidPayload {
    #[error(
        "payload has {0} bytes of JSON; the maximum is {MAX_PAYLOAD_BYTES}: store it in S3 and pass the object key"
    )]
    TooLarge(usize),
    #[error(
        "payload takes {0} bytes as DynamoDB counts them; the maximum is {MAX_ITEM_BYTES}: pass its many small values as one string, or store it in S3 and pass the object key"
    )]
    TooManyValues(usize),
    #[error("{0} is nested deeper than {MAX_DEPTH} levels; flatten it or pass it as a string")]
    TooDeep(String),
    #[error(
        "{0} is {1}, a number that would lose digits or is out of DynamoDB's range; pass it as a string"
    )]
    Number(String, f64),
}

/// Checks that DynamoDB can store the payload and return it unchanged.
///
/// # Errors
/// [`InvalidPayload`] names the path of the invalid value, for example `payload.readings[3]`.
pub(super) fn check(payload: &Value) -> Result<(), InvalidPayload> {
    let bytes = payload.to_string().len();
    if bytes > MAX_PAYLOAD_BYTES {
        return Err(InvalidPayload::TooLarge(bytes));
    }
    check_value(payload, &mut vec!["payload".to_owned()])?;
    // This recursion is bounded, because the depth was checked above.
    match item_bytes(payload) {
        bytes if bytes > MAX_ITEM_BYTES => Err(InvalidPayload::TooManyValues(bytes)),
        _ => Ok(()),
    }
}

/// Minimum size of a value in an item, in bytes.
fn item_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::Number(number) => 1 + significant_digits(&number.to_string()).div_ceil(2),
        Value::String(text) => text.len(),
        Value::Array(items) => 3 + items.iter().map(|item| 1 + item_bytes(item)).sum::<usize>(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| 1 + name.len() + item_bytes(value);
            3 + fields.iter().map(field).sum::<usize>()
        }
    }
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

fn significant_digits(number: &str) -> usize {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

/// Whether the number is stored unchanged. Parsing an integer beyond 64 bits loses digits (RFC
/// 8259, section 6). DynamoDB rejects magnitudes below 1E-130, except 0.
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
    fn number_that_would_change_is_rejected_with_its_path() {
        let rejected = check(&json!({"readings": [1, {"value": 1e30}]}));
        assert_eq!(
            rejected,
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
    fn many_small_values_are_limited_by_their_size_in_an_item() {
        // Each number takes three bytes in an item, but only two as text.
        let numbers = |count| check(&Value::from(vec![7; count]));
        assert_eq!(numbers((MAX_ITEM_BYTES - 3) / 3), Ok(()));
        let rejected = numbers(MAX_ITEM_BYTES / 3);
        let bytes = 3 + MAX_ITEM_BYTES / 3 * 3;
        assert_eq!(rejected, Err(InvalidPayload::TooManyValues(bytes)));
        for (number, digits) in [("0", 0), ("-100", 1), ("12.50", 3), ("1e-9", 1)] {
            assert_eq!(significant_digits(number), digits, "{number}");
        }
        assert!(
            rejected
                .unwrap_err()
                .to_string()
                .contains("the maximum is 401408")
        );
    }

    #[test]
    fn size_is_bounded() {
        assert_eq!(check(&json!("x".repeat(MAX_PAYLOAD_BYTES - 2))), Ok(()));
        let rejected = check(&json!("x".repeat(MAX_PAYLOAD_BYTES - 1)));
        assert_eq!(
            rejected,
            Err(InvalidPayload::TooLarge(MAX_PAYLOAD_BYTES + 1))
        );
    }
}
