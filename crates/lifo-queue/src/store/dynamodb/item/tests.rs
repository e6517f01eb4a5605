use super::*;
use crate::observed::Observed;

#[test]
fn control_item_is_readable_despite_observations_from_another_version() {
    let requested = (schema::REQUESTED.to_owned(), number(7));
    for observed in [string("other"), number(1)] {
        let item = Item::from([requested.clone(), (schema::OBSERVED.to_owned(), observed)]);
        let control = control(&item);
        assert_eq!(
            (control.requested, control.observed),
            (7, Observed::default())
        );
    }
    // Attributes from a later version are ignored, and missing attributes are empty.
    let later = HashMap::from([
        ("medianRunMs".to_owned(), number(120)),
        ("later".to_owned(), string("x")),
    ]);
    let item = Item::from([(schema::OBSERVED.to_owned(), AttributeValue::M(later))]);
    assert_eq!(control(&item).observed.median_run_ms, Some(120));
    assert_eq!(control(&Item::from([requested])).paused_by, None);
}
