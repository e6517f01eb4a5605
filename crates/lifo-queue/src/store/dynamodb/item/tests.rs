use super::*;
use crate::observed::Observed;

#[test]
fn observations_from_another_version_leave_the_rest_of_the_control_item_readable() {
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
