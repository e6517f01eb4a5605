use super::*;
use crate::observed::Observed;

#[test]
fn observations_of_another_version_do_not_hide_the_rest_of_the_control_item() {
    let requested = (schema::REQUESTED.to_owned(), number(7));
    for observed in [string("other"), number(1)] {
        let item = Item::from([requested.clone(), (schema::OBSERVED.to_owned(), observed)]);
        let control = control(&item);
        assert_eq!(
            (control.requested, control.observed),
            (7, Observed::default())
        );
    }
    // An attribute of a later version is ignored, and a missing one is empty.
    let later = HashMap::from([
        ("medianRunMs".to_owned(), number(120)),
        ("later".to_owned(), string("x")),
    ]);
    let item = Item::from([(schema::OBSERVED.to_owned(), AttributeValue::M(later))]);
    assert_eq!(control(&item).observed.median_run_ms, Some(120));
    assert_eq!(control(&Item::from([requested])).paused_by, None);
}
