//! Arbitrary JSON for tests of code that reads events.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

/// Draws any JSON value. The given words are often field names and sometimes text values.
pub fn any_json(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(words).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        let name = prop_oneof![select(words).prop_map(str::to_owned), ".{0,6}"];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(name, inner, 0..5).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Returns the value itself, or one of its fields or elements at any depth.
pub fn part<'a>(value: &'a mut Value, place: &Index) -> Option<&'a mut Value> {
    let mut pointers = Vec::new();
    places(value, String::new(), &mut pointers);
    let pointer: &String = place.get(&pointers);
    value.pointer_mut(pointer)
}

fn places(value: &Value, here: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                places(inner, format!("{here}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (n, inner) in items.iter().enumerate() {
                places(inner, format!("{here}/{n}"), found);
            }
        }
        _ => {}
    }
    found.push(here);
}
