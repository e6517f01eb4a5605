//! Checks that DynamoDB can store a payload and return it unchanged.
//!
//! Limits: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
//! (400 KB per item, 32 levels of nesting, numbers from 1E-130 to 9.99E+125).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::decimal::Decimal;

/// Maximum payload size as JSON text, in bytes. DynamoDB limits an item to 400 KB (409,600 bytes).
/// The remainder allows for the other attributes and for DynamoDB's different size calculation.
pub const MAX_PAYLOAD_BYTES: usize = 350 * 1024;

/// Maximum payload size as DynamoDB counts it, in bytes. An array of many small numbers is larger
/// in an item than as text. The rest of an item's 400 KB is for its id and the queue's attributes.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
pub const MAX_ITEM_BYTES: usize = 392 * 1024;

/// Maximum nesting depth, including the payload itself.
pub const MAX_DEPTH: usize = 31;

/// Maximum length of a member's name, in bytes. The minimum is one character.
const MAX_NAME_BYTES: usize = 65_535;

/// Number of significant digits that distinguish all doubles.
const DOUBLE_DIGITS: usize = 17;

/// Maximum length of a value in an error message, in characters.
const MAX_QUOTED: usize = 60;

#[derive(Debug, thiserror::Error)]
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
        "{path} is {number}, a number that would lose digits or is out of DynamoDB's range; pass it as a string"
    )]
    Number { path: String, number: String },
    #[error("{0} has a member with an empty name, which DynamoDB rejects; rename it")]
    EmptyName(String),
    #[error(
        "{path} has a member name of {bytes} bytes; the maximum is {MAX_NAME_BYTES}: shorten it, or pass it as a value"
    )]
    LongName { path: String, bytes: usize },
    /// A string that is not Unicode, for example half of a surrogate pair.
    #[error("{path} is not valid JSON: {source}")]
    Json {
        path: String,
        source: serde_json::Error,
    },
}

/// Reads a payload that DynamoDB can store and return unchanged.
///
/// # Errors
/// [`InvalidPayload`] names the path of the invalid value, for example `payload.readings[3]`.
pub(super) fn read(text: &RawValue) -> Result<Value, InvalidPayload> {
    let payload = value(text, &mut vec!["payload".to_owned()])?;
    let bytes = payload.to_string().len();
    if bytes > MAX_PAYLOAD_BYTES {
        return Err(InvalidPayload::TooLarge(bytes));
    }
    // This recursion is bounded, because the depth was checked above.
    match item_bytes(&payload) {
        bytes if bytes > MAX_ITEM_BYTES => Err(InvalidPayload::TooManyValues(bytes)),
        _ => Ok(payload),
    }
}

/// Minimum size of a value in an item, in bytes.
fn item_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::Number(number) => {
            let digits = Decimal::read(&number.to_string()).significant_digits();
            1 + digits.div_ceil(2)
        }
        Value::String(text) => text.len(),
        Value::Array(items) => 3 + items.iter().map(|item| 1 + item_bytes(item)).sum::<usize>(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| 1 + name.len() + item_bytes(value);
            3 + fields.iter().map(field).sum::<usize>()
        }
    }
}

/// Parses a value from its text, because a number parsed by another type may have other digits.
fn value(text: &RawValue, path: &mut Vec<String>) -> Result<Value, InvalidPayload> {
    if path.len() > MAX_DEPTH {
        return Err(InvalidPayload::TooDeep(path.concat()));
    }
    let text = text.get();
    match text.as_bytes().first() {
        Some(b'[') => {
            let items: Vec<&RawValue> = parse(text, path)?;
            let items = items.into_iter().enumerate();
            items
                .map(|(index, item)| child(item, format!("[{index}]"), path))
                .collect()
        }
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = parse(text, path)?;
            let members = members.into_iter().map(|(name, member)| {
                check_name(&name, path)?;
                let value = child(member, format!(".{name}"), path)?;
                Ok((name, value))
            });
            members.collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        Some(b'-' | b'0'..=b'9') => match number(text) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(InvalidPayload::Number {
                path: path.concat(),
                number: excerpt(text),
            }),
        },
        _ => parse(text, path),
    }
}

fn child(text: &RawValue, step: String, path: &mut Vec<String>) -> Result<Value, InvalidPayload> {
    path.push(step);
    let value = value(text, path);
    path.pop();
    value
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, path: &[String]) -> Result<T, InvalidPayload> {
    serde_json::from_str(text).map_err(|source| InvalidPayload::Json {
        path: path.concat(),
        source,
    })
}

fn check_name(name: &str, path: &[String]) -> Result<(), InvalidPayload> {
    match name.len() {
        0 => Err(InvalidPayload::EmptyName(path.concat())),
        bytes if bytes > MAX_NAME_BYTES => Err(InvalidPayload::LongName {
            path: path.concat(),
            bytes,
        }),
        _ => Ok(()),
    }
}

/// A value in an error message: its text, truncated with an ellipsis if it is too long.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Parses a number that is stored and delivered with the same value. An integer beyond 64 bits, or a
/// fraction with more digits than a double, would change (RFC 8259, section 6). DynamoDB rejects
/// magnitudes below 1E-130, except 0. The standard library rounds a fraction to the nearest double,
/// which `serde_json` does not.
///
/// Some producers print each double with 17 digits, for example 0.1 as `0.10000000000000001`. Such a
/// text is delivered as `0.1`, which is the same double.
fn number(text: &str) -> Option<Number> {
    let integer = text.parse::<u64>().map(Number::from);
    let integer = integer.or_else(|_| text.parse::<i64>().map(Number::from));
    if let Ok(integer) = integer {
        return Some(integer);
    }
    let float: f64 = text.parse().ok()?;
    let size = float.abs();
    let is_in_range = size == 0.0 || (1e-130..18_446_744_073_709_551_616.0).contains(&size);
    let number = Number::from_f64(float).filter(|_| is_in_range)?;
    let given = Decimal::read(text);
    let printed = |text: String| given == Decimal::read(&text);
    let digits = given.significant_digits();
    let is_double =
        || (1..=DOUBLE_DIGITS).contains(&digits) && printed(format!("{float:.*e}", digits - 1));
    (printed(number.to_string()) || is_double()).then_some(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn read_value(payload: &Value) -> Result<Value, String> {
        read_text(&payload.to_string())
    }

    fn read_text(payload: &str) -> Result<Value, String> {
        let text: &RawValue = serde_json::from_str(payload).unwrap();
        read(text).map_err(|error| error.to_string())
    }

    #[test]
    fn ordinary_json_passes() {
        let payload = json!({"a": [1, -2.5, null, true, "", {}], "b": u64::MAX, "c": i64::MIN});
        assert_eq!(read_value(&payload), Ok(payload));
    }

    #[test]
    fn number_that_would_change_is_rejected_with_its_path_and_text() {
        let changed = [
            "-9223372036854775809",
            "12345678901234567890123",
            "12345678901234567.89",
            "9007199254740993.0",
            "12345678901234567.0",
            "9007199254740.9931",
            "0.1234567890123456789",
            "0.100000000000000006",
            "1e-400",
            "1e-131",
            "1e30",
            "1e999",
        ];
        for number in changed {
            let text = format!(r#"{{"readings": [1, {{"value": {number}}}]}}"#);
            let error = read_text(&text).unwrap_err();
            let start = format!("payload.readings[1].value is {number}, a number that would lose");
            assert!(error.starts_with(&start), "{error}");
        }
        let error = read_text(&"9".repeat(100_000)).unwrap_err();
        assert!(error.len() < 250, "{}", error.len());
        for number in [
            "3.333333333333333e-101",
            "0.30000000000000004",
            "1e-129",
            "120.0",
            "1.50",
            "0.1",
            "-0.0",
            "1e18",
            "9007199254740993",
        ] {
            assert!(read_text(number).is_ok(), "{number}");
        }
    }

    #[test]
    fn double_printed_with_up_to_17_digits_is_the_same_double() {
        // What C's printf prints with %.17g and %.16g.
        for (text, delivered) in [
            ("0.10000000000000001", "0.1"),
            ("0.29999999999999999", "0.3"),
            ("1.1000000000000001e-07", "1.1e-7"),
            ("-273.14999999999998", "-273.15"),
            ("5404.2999999999993", "5404.299999999999"),
            ("0.3333333333333333", "0.3333333333333333"),
        ] {
            let payload = read_text(text).unwrap();
            assert_eq!(payload.to_string(), delivered);
            assert_eq!(payload.as_f64(), text.parse().ok());
        }
    }

    #[test]
    fn member_name_that_dynamodb_rejects_is_rejected_with_its_path() {
        let empty = read_value(&json!({"order": [{"": 1}]})).unwrap_err();
        let start = "payload.order[0] has a member with an empty name";
        assert!(empty.starts_with(start), "{empty}");
        let named = |bytes: usize| read_value(&json!({"order": {"x".repeat(bytes): 1}}));
        assert!(named(MAX_NAME_BYTES).is_ok());
        let long = named(MAX_NAME_BYTES + 1).unwrap_err();
        let start = "payload.order has a member name of 65536 bytes; the maximum is 65535";
        assert!(long.starts_with(start), "{long}");
    }

    #[test]
    fn text_that_is_not_unicode_is_rejected() {
        for (text, path) in [
            (r#"{"a": "\ud800"}"#, "payload.a"),
            (r#"{"\ud800": 1}"#, "payload"),
        ] {
            let error = read_text(text).unwrap_err();
            let start = format!("{path} is not valid JSON: ");
            assert!(error.starts_with(&start), "{error}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(read_value(&nested(MAX_DEPTH - 1)).is_ok());
        let error = read_value(&nested(MAX_DEPTH)).unwrap_err();
        assert!(error.contains("is nested deeper than 31 levels"), "{error}");
        let error = read_text(&format!("{}{}", "[".repeat(9_000), "]".repeat(9_000)));
        assert!(error.unwrap_err().contains("is nested deeper"));
    }

    #[test]
    fn many_small_values_are_limited_by_their_size_in_an_item() {
        // Each number takes three bytes in an item, but only two as text.
        let numbers = |count| read(&to_raw_value(&vec![7; count]).unwrap());
        assert!(numbers((MAX_ITEM_BYTES - 3) / 3).is_ok());
        let rejected = numbers(MAX_ITEM_BYTES / 3).unwrap_err();
        let expected = 3 + MAX_ITEM_BYTES / 3 * 3;
        assert!(
            matches!(rejected, InvalidPayload::TooManyValues(bytes) if bytes == expected),
            "{rejected}"
        );
        for (number, digits) in [("0", 0), ("-100", 1), ("12.50", 3), ("1e-9", 1)] {
            assert_eq!(
                Decimal::read(number).significant_digits(),
                digits,
                "{number}"
            );
        }
        let text = rejected.to_string();
        assert!(text.contains("the maximum is 401408"), "{text}");
    }

    #[test]
    fn size_is_bounded() {
        let text = |length| read(&to_raw_value(&"x".repeat(length)).unwrap());
        assert!(text(MAX_PAYLOAD_BYTES - 2).is_ok());
        let rejected = text(MAX_PAYLOAD_BYTES - 1);
        assert!(matches!(
            rejected,
            Err(InvalidPayload::TooLarge(bytes)) if bytes == MAX_PAYLOAD_BYTES + 1
        ));
    }
}
