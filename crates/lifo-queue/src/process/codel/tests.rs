use super::*;

const SETTINGS: CodelSettings = CodelSettings {
    target: Duration::from_secs(1),
    interval: Duration::from_secs(5),
};

fn codel(left: Option<i64>) -> Codel {
    Codel::new(Some(SETTINGS), left.map(Millis), Millis(10_000))
}

#[test]
fn overload_begins_if_every_check_in_an_interval_finds_a_new_task() {
    let mut codel = codel(None);
    for at in (10_000..15_000).step_by(100) {
        codel.found(Millis(at - 300), Millis(at));
        assert_eq!(codel.reach(), None, "{at}");
    }
    assert!(codel.found(Millis(14_700), Millis(15_000)), "it begins");
    assert!(!codel.found(Millis(14_700), Millis(15_000)), "it goes on");
    assert_eq!(codel.since(), Some(Millis(15_000)));
    assert_eq!(codel.reach(), Some(Duration::from_secs(2)));
    assert_eq!(codel.overloaded_for(Millis(15_500)).as_millis(), 500);
}

#[test]
fn check_without_a_new_task_restarts_the_interval() {
    for old in [Some(Millis(11_999)), None] {
        let mut codel = codel(None);
        match old {
            // The order is newest first, so if the next task is old, no new task is due.
            Some(created) => assert!(!codel.found(created, Millis(14_000))),
            None => assert!(!codel.found_nothing(Millis(14_000))),
        }
        codel.found(Millis(18_900), Millis(18_999));
        assert_eq!(codel.since(), None);
        codel.found(Millis(18_900), Millis(19_000));
        assert_eq!(codel.since(), Some(Millis(19_000)));
    }
}

#[test]
fn task_is_new_until_its_age_is_twice_the_target() {
    let mut codel = codel(None);
    codel.found(Millis(13_000), Millis(15_000));
    assert_eq!(codel.since(), Some(Millis(15_000)));
}

#[test]
fn overload_ends_after_slots_were_free_for_the_target_time() {
    let mut codel = codel(Some(1));
    assert!(codel.found_nothing(Millis(11_000)));
    codel.no_slot();
    assert!(codel.found_nothing(Millis(11_999)));
    // A task that starts as soon as it arrives does not end the period of free slots.
    codel.found(Millis(12_400), Millis(12_400));
    assert!(codel.found_nothing(Millis(12_998)));
    assert_eq!(codel.since(), Some(Millis(1)));
    assert!(
        codel.found_nothing(Millis(12_999)),
        "older ones were hidden"
    );
    assert_eq!(codel.since(), None);
    assert!(!codel.found_nothing(Millis(13_000)));
    assert_eq!(codel.overloaded_for(Millis(20_000)).as_millis(), 2_999);
}
