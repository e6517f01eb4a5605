use proptest::prelude::*;
use sequences::json::any_json;
use serde_json::json;

use super::*;

fn read(event: Json) -> Result<Command, CommandError> {
    Command::read(event, &Dimensions::default())
}

fn rejected(event: Json) -> String {
    let error = read(event).unwrap_err();
    error.to_string()
}

#[test]
fn invalid_command_error_names_field_and_remedy() {
    assert!(rejected(json!([])).starts_with("the event is not an object; send {\"command\""));
    assert!(rejected(json!({})).starts_with("field command is missing; send"));
    assert!(rejected(json!({"command": "fly"})).starts_with("field command is \"fly\"; send"));
    assert_eq!(
        rejected(json!({"command": "available"})),
        "command available: the command's fields: missing field `agentId`"
    );
    assert_eq!(
        rejected(json!({"command": "available", "agentId": "a b"})),
        "command available: field agentId: \"a b\" contains ' '; use A-Z a-z 0-9 _ . + - only"
    );
    assert_eq!(
        rejected(json!({"command": "finish", "agentId": "a", "callId": "c", "ticket": 1})),
        "command finish: field ticket: invalid type: integer `1`, expected a formatted UUID string"
    );
    assert_eq!(
        rejected(json!({"command": "match", "criteria": {"gender": 1}})),
        "command match: field criteria.gender is 1; give one string"
    );
    let text = rejected(json!({"command": "queues", "verbose": true}));
    assert!(text.contains("unknown field `verbose`"), "{text}");
    let text = rejected(json!({"command": "seed", "count": 501}));
    assert_eq!(
        text,
        "command seed: field count: is 501; give a whole number from 1 to 500"
    );
    let attributes = json!({"language": ["a"], "gender": "F"});
    for (name, code) in [
        ("Ana\u{fffe}", "FFFE"),
        ("\u{ffff}", "FFFF"),
        ("A\na", "000A"),
    ] {
        let event = json!({"command": "register", "name": name, "attributes": attributes});
        let text = rejected(event);
        let fault = format!("field name: has U+{code}; give printable characters");
        assert!(text.contains(&fault), "{text}");
    }
    let event = json!({"command": "register", "name": " ", "attributes": attributes});
    assert!(
        rejected(event).contains("field name: has 1 characters"),
        "name"
    );
    assert!(rejected(json!({"command": "agents", "limit": 0})).contains("from 1 to 1000"));
    assert!(rejected(json!({"command": "calls", "limit": 101})).contains("from 1 to 100"));
}

const WORDS: &[&str] = &[
    "agentId",
    "callId",
    "name",
    "attributes",
    "criteria",
    "ticket",
    "to",
    "count",
    "limit",
    "after",
];

fn any_field() -> impl Strategy<Value = (String, Json)> {
    (
        prop::sample::select(WORDS).prop_map(str::to_owned),
        any_json(WORDS),
    )
}

proptest! {
    #[test]
    fn no_event_panics(event in any_json(WORDS)) {
        let _ = read(event);
    }

    #[test]
    fn no_command_panics(
        name in prop::sample::select(NAMES.split(", ").map(str::trim).collect::<Vec<_>>()),
        fields in prop::collection::vec(any_field(), 0..5),
    ) {
        let mut event: Map<String, Json> = fields.into_iter().collect();
        event.insert("command".to_owned(), name.into());
        if let Err(error) = read(Json::Object(event)) {
            let text = error.to_string();
            prop_assert!(text.starts_with(&format!("command {name}: ")), "{}", text);
        }
    }
}
