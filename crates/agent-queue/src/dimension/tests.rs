use serde_json::json;

use super::*;

fn fields(json: Json) -> BTreeMap<String, Json> {
    serde_json::from_value(json).unwrap()
}

fn profile_error(attributes: Json) -> String {
    let read = Dimensions::default().profile(&fields(attributes));
    read.unwrap_err().to_string()
}

#[test]
fn an_agent_waits_in_one_queue_for_each_language() {
    let dimensions = Dimensions::default();
    let attributes = fields(json!({"language": ["Spanish", "English", "Spanish"], "gender": "F"}));
    let profile = dimensions.profile(&attributes).unwrap();
    let queues: Vec<_> = dimensions.queues(&profile);
    let names: Vec<_> = queues.iter().map(QueueName::as_str).collect();
    assert_eq!(names, ["Q#English#F", "Q#Spanish#F"]);
}

#[test]
fn a_wrong_profile_names_the_field_and_the_remedy() {
    assert_eq!(
        profile_error(json!({"language": ["Spanish"]})),
        "field attributes.gender is missing; an agent has a value in every dimension"
    );
    assert_eq!(
        profile_error(json!({"language": [], "gender": "F"})),
        "field attributes.language is []; give a list of at least one text"
    );
    assert_eq!(
        profile_error(json!({"language": ["a b"], "gender": "F"})),
        "field attributes.language holds ' '; use A-Z a-z 0-9 _ . + - only"
    );
    assert_eq!(
        profile_error(json!({"language": ["a"], "gender": ["F"]})),
        "field attributes.gender is [\"F\"]; give one text"
    );
    assert_eq!(
        profile_error(json!({"language": ["a"], "gender": "F", "team": "x"})),
        "field attributes.team is no dimension; the dimensions are language, gender"
    );
}

#[test]
fn more_queues_than_a_transaction_bears_are_refused_with_the_arithmetic() {
    let languages = |n: usize| (0..n).map(|n| format!("l{n}")).collect::<Vec<_>>();
    let attributes = |n| fields(json!({"language": languages(n), "gender": "F"}));
    let dimensions = Dimensions::default();
    assert!(dimensions.profile(&attributes(94)).is_ok());
    let error = dimensions.profile(&attributes(95)).unwrap_err().to_string();
    assert_eq!(
        error,
        "field attributes.language has 95 values: a match changes an item for each and 6 others, \
         which makes 101, and DynamoDB changes at most 100 in one transaction; give at most 94"
    );
}

#[test]
fn criteria_may_leave_out_a_dimension() {
    let dimensions = Dimensions::default();
    let canonical = |json| dimensions.criteria(&fields(json)).map(|c| c.to_string());
    assert_eq!(
        canonical(json!({"gender": "M", "language": "Spanish"})).unwrap(),
        "Spanish#M"
    );
    assert_eq!(canonical(json!({"gender": "M"})).unwrap(), "*#M");
    assert_eq!(canonical(json!({"language": null})).unwrap(), "*#*");
    assert_eq!(
        canonical(json!({"langauge": "Spanish"}))
            .unwrap_err()
            .to_string(),
        "field criteria.langauge is no dimension; the dimensions are language, gender"
    );
    assert_eq!(
        canonical(json!({"language": "*"})).unwrap_err().to_string(),
        "field criteria.language holds '*'; use A-Z a-z 0-9 _ . + - only"
    );
}

#[test]
fn dimensions_are_read_from_json_and_refused_with_the_remedy() {
    let read = |json: Json| serde_json::from_value::<Dimensions>(json).map_err(|e| e.to_string());
    let language = json!({"name": "language", "attribute": "Languages", "multiValued": true});
    let gender = json!({"name": "gender", "attribute": "Gender"});
    assert_eq!(
        read(json!([language, gender])).unwrap(),
        Dimensions::default()
    );
    assert!(read(json!([language])).is_ok());
    assert_eq!(
        read(json!([])).unwrap_err(),
        "0 dimensions are given; give 1 to 5, the multi-valued one first"
    );
    let refused = read(json!([gender, language])).unwrap_err();
    assert!(
        refused.contains("\"gender\": multiValued must be true for the first"),
        "{refused}"
    );
    let taken = json!({"name": "team", "attribute": "Ticket"});
    let refused = read(json!([language, taken])).unwrap_err();
    assert!(
        refused.contains("\"team\"") && refused.contains("Ticket"),
        "{refused}"
    );
    assert!(
        read(json!([language, gender, gender])).is_err(),
        "each once"
    );
}
