//! Verbs that create or change tasks.

use super::*;

#[test]
fn redrive_takes_ids_or_all() {
    let redrive = |line: &str| match verb(line) {
        Verb::Redrive(on) => on.verb,
        other => panic!("{other:?}"),
    };
    let some = redrive("redrive a b --env dev --ttl 2h");
    assert_eq!(some.tasks, ["a", "b"].map(TaskId::from_stored));
    assert_eq!((some.all, some.ttl), (false, Duration::from_secs(7_200)));
    let all = redrive("redrive --all --yes --env dev");
    assert_eq!(
        (all.all, all.yes, all.ttl),
        (true, true, Duration::from_secs(3_600))
    );
    assert_eq!(
        rejected("redrive --env dev"),
        ErrorKind::MissingRequiredArgument
    );
    assert_eq!(
        rejected("redrive a --all --env dev"),
        ErrorKind::ArgumentConflict
    );
    assert_eq!(
        rejected("redrive a --yes --env dev"),
        ErrorKind::ArgumentConflict
    );
    let error = parse("redrive --env dev").unwrap_err().to_string();
    assert!(error.contains("<TASK_ID|--all|--error <TEXT>>"), "{error}");
    let dashed = redrive("redrive --env dev -- -a");
    assert_eq!(dashed.tasks, [TaskId::from_stored("-a")]);
}

#[test]
fn cancel_requires_ids_and_rejects_reserved_ids() {
    assert_eq!(
        rejected("cancel --env dev"),
        ErrorKind::MissingRequiredArgument
    );
    for verb in ["cancel", "redrive"] {
        let error = parse(&format!("{verb} --env dev #processor")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ValueValidation);
        assert!(
            error
                .to_string()
                .contains("reserved for the queue's own items")
        );
    }
}

#[test]
fn name_of_a_group_is_checked() {
    assert!(parse("cancel --env dev --group acme --dry-run").is_ok());
    for verb in [
        "limit --off",
        "pause --for 1h --reason x",
        "resume",
        "list",
        "cancel",
    ] {
        let line = format!("{verb} --env dev --group a/b");
        assert_eq!(rejected(&line), ErrorKind::ValueValidation, "{line}");
    }
}

#[test]
fn create_takes_one_source_of_tasks() {
    for line in [
        "create --env dev",
        "create --env dev --ttl 1h",
        "create --env dev --group acme",
    ] {
        assert_eq!(rejected(line), ErrorKind::MissingRequiredArgument, "{line}");
    }
    let error = parse("create --env dev").unwrap_err().to_string();
    assert!(error.contains("--file <PATH>"), "{error}");
    for line in [
        "create --env dev --payload 1 --file a",
        "create --env dev --simulate 3 --file a",
        "create --env dev --id a --key b",
        "create --env dev --file a --ttl 1h",
        "create --env dev --file a --group acme",
        "create --env dev --simulate 3 --group acme",
    ] {
        assert_eq!(rejected(line), ErrorKind::ArgumentConflict, "{line}");
    }
    for line in [
        "--payload {}",
        "--id a",
        "--key a --sequence 1",
        "--group acme --id a",
        "--group acme --key a",
        "--file -",
        "--simulate 3",
    ] {
        assert!(parse(&format!("create --env dev {line}")).is_ok(), "{line}");
    }
}

#[test]
fn redrive_rejects_error_with_ids_or_all() {
    assert!(parse("redrive --error 502 --dry-run --env dev").is_ok());
    for line in [
        "redrive a --error 502 --env dev",
        "redrive --all --error 502 --env dev",
        "redrive a --dry-run --env dev",
    ] {
        assert_eq!(rejected(line), ErrorKind::ArgumentConflict, "{line}");
    }
}

#[test]
fn an_empty_error_text_is_rejected() {
    for verb in ["list", "export", "redrive"] {
        let line = format!("{verb} --error= --env dev");
        assert_eq!(rejected(&line), ErrorKind::InvalidValue, "{line}");
    }
}
