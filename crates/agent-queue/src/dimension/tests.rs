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
fn invalid_profile_error_names_field_and_remedy() {
    assert_eq!(
        profile_error(json!({"language": ["Spanish"]})),
        "field attributes.gender is missing; every dimension requires a value"
    );
    assert_eq!(
        profile_error(json!({"language": [], "gender": "F"})),
        "field attributes.language is []; give a list of one or more strings"
    );
    assert_eq!(
        profile_error(json!({"language": ["a b"], "gender": "F"})),
        "field attributes.language contains ' '; use A-Z a-z 0-9 _ . + - only"
    );
    assert_eq!(
        profile_error(json!({"language": ["a"], "gender": ["F"]})),
        "field attributes.gender is [\"F\"]; give one string"
    );
    assert_eq!(
        profile_error(json!({"language": ["a"], "gender": "F", "team": "x"})),
        "field attributes.team is not a dimension; the dimensions are language, gender"
    );
}

/// Returns three dimensions: language and request type, both multi-valued, and gender.
fn three() -> Dimensions {
    let dimensions = json!([
        {"name": "language", "attribute": "Languages", "multiValued": true},
        {"name": "request", "attribute": "Requests", "multiValued": true},
        {"name": "gender", "attribute": "Gender"},
    ]);
    serde_json::from_value(dimensions).unwrap()
}

fn numbered(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

#[test]
fn agent_is_in_one_queue_per_combination_of_values() {
    let dimensions = three();
    let attributes = fields(json!({
        "language": ["Spanish", "English", "Spanish"], "request": ["billing", "new"], "gender": "F",
    }));
    let profile = dimensions.profile(&attributes).unwrap();
    let queues = dimensions.queues(&profile);
    let names: Vec<_> = queues.iter().map(QueueName::as_str).collect();
    assert_eq!(
        names,
        [
            "Q#English#billing#F",
            "Q#English#new#F",
            "Q#Spanish#billing#F",
            "Q#Spanish#new#F"
        ]
    );
    let wanted = fields(json!({"request": "billing", "gender": "F"}));
    let criteria = dimensions.criteria(&wanted).unwrap();
    assert_eq!(criteria.to_string(), "*#billing#F");
    assert!(criteria.fits_profile(&profile));
    assert_eq!(
        queues.iter().filter(|queue| criteria.fits(queue)).count(),
        2
    );
    let other = dimensions.criteria(&fields(json!({"request": "repair"})));
    assert!(!other.unwrap().fits_profile(&profile));
}

#[test]
fn profile_with_too_many_queues_for_a_transaction_is_rejected() {
    let attributes = |n| fields(json!({"language": numbered("l", n), "gender": "F"}));
    let dimensions = Dimensions::default();
    assert!(dimensions.profile(&attributes(95)).is_ok());
    let error = dimensions.profile(&attributes(96)).unwrap_err().to_string();
    assert_eq!(
        error,
        "field attributes: 96 language make 96 queues; a match changes an item for each and 5 \
         others, which makes 101, and DynamoDB changes at most 100 in one transaction; give \
         values that make at most 95 queues"
    );
    let attributes = |languages, requests| {
        fields(json!({
            "language": numbered("l", languages), "request": numbered("r", requests), "gender": "F",
        }))
    };
    assert!(three().profile(&attributes(19, 5)).is_ok(), "19 × 5 = 95");
    let error = three().profile(&attributes(12, 8)).unwrap_err().to_string();
    assert!(
        error.starts_with("field attributes: 12 language × 8 request make 96 queues; a match"),
        "{error}"
    );
}

#[test]
fn criteria_can_omit_a_dimension() {
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
        "field criteria.langauge is not a dimension; the dimensions are language, gender"
    );
    assert_eq!(
        canonical(json!({"language": "*"})).unwrap_err().to_string(),
        "field criteria.language contains '*'; use A-Z a-z 0-9 _ . + - only"
    );
}

#[test]
fn dimensions_are_parsed_from_json_or_rejected_with_a_remedy() {
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
        "0 dimensions are given; give 1 to 5"
    );
    assert!(read(json!([gender, language])).is_ok(), "in any order");
    assert!(read(json!([gender])).is_ok(), "none of them multi-valued");
    let taken = json!({"name": "team", "attribute": "Ticket"});
    let rejected = read(json!([language, taken])).unwrap_err();
    assert!(
        rejected.contains("\"team\"") && rejected.contains("Ticket"),
        "{rejected}"
    );
    assert!(
        read(json!([language, gender, gender])).is_err(),
        "each once"
    );
}
