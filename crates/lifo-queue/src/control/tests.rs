use super::*;

#[test]
fn index_read_bound_allows_for_expiry_and_clock_skew() {
    let from = |expiry| {
        let skew = Duration::from_secs(2);
        Control::default().created_from(expiry, skew, Millis(100_000))
    };
    assert_eq!(from(None), None);
    // 100 s minus the expiry (60 s), the clock skew (2 s), and 1 s because `ttl` is in seconds.
    assert_eq!(from(Some(Duration::from_secs(60))), Some(Millis(37_000)));
}
