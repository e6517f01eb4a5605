use std::time::Duration;

use clap::CommandFactory;
use clap::error::ErrorKind;
use lifo_queue::task::TaskId;

use super::*;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(std::iter::once("freshq").chain(line.split_whitespace()))
}

fn verb(line: &str) -> Verb {
    parse(line).unwrap().verb
}

fn common(verb: &Verb) -> &Common {
    match verb.job() {
        Job::Read(_, common) | Job::Change(_, common) => common,
        _ => panic!("not a verb on a queue: {verb:?}"),
    }
}

#[test]
fn queue_is_named_by_environment_or_by_table_and_topic_or_by_address() {
    let on_env = verb("status --env dev");
    assert_eq!(common(&on_env).queue.env.as_deref(), Some("dev"));
    assert_eq!(common(&on_env).output, Format::Table);
    let on_table = verb("wake --output json --table tasks --process-tasks-topic arn");
    let Common { queue, output, .. } = common(&on_table);
    let names = [&queue.table, &queue.process_tasks_topic].map(Option::as_deref);
    assert_eq!(names, [Some("tasks"), Some("arn")]);
    assert_eq!(*output, Format::Json);
    let (default, named) = ("http://127.0.0.1:8347", "http://localhost:9000");
    for (line, url) in [
        ("show --dev task-1", default),
        ("show task-1 --dev=http://localhost:9000", named),
    ] {
        let verb = verb(line);
        let queue = &common(&verb).queue;
        assert_eq!(queue.dev.as_deref(), Some(url), "{line}");
        assert!(matches!(queue.stack(), Ok(None)), "{line}");
    }
}

#[test]
fn arguments_are_parsed_with_values_and_defaults() {
    let hour = Duration::from_secs(3_600);
    let line = [
        "freshq", "pause", "--env", "dev", "--for", "1h 30m", "--reason", "x y",
    ];
    let Verb::Pause(on) = Arguments::try_parse_from(line).unwrap().verb else {
        panic!("not a pause")
    };
    assert_eq!(
        (on.verb.time, on.verb.reason.as_str()),
        (hour * 3 / 2, "x y")
    );
    let line = "limit --env dev --rate 0.5 --concurrency 3 --for 1h --reason migration";
    let Verb::Limit(on) = verb(line) else {
        panic!("not a limit")
    };
    let rate = on.verb.rate.map(|rate| rate.interval);
    assert_eq!(rate, Some(Duration::from_secs(2)));
    assert_eq!(on.verb.concurrency.map(u16::from), Some(3));
    let redrive = |line: &str| match verb(line) {
        Verb::Redrive(on) => on.verb,
        other => panic!("{other:?}"),
    };
    let some = redrive("redrive a --env dev --ttl 2h -- -b");
    assert_eq!(some.tasks, ["a", "-b"].map(TaskId::from_stored));
    assert_eq!((some.all, some.ttl), (false, 2 * hour));
    let all = redrive("redrive --all --yes --env dev");
    assert_eq!((all.all, all.yes, all.ttl), (true, true, hour));
}

#[test]
fn complete_command_lines_are_accepted() {
    for line in [
        "dev --runner http://localhost --template x.json --data x --rate 5",
        "dev --simulate=failing --concurrency 4 --ttl 5s",
        "limit --env dev --off",
        "limit --env dev --off --group acme",
        "breaker open --env dev --for 30m --reason release",
        "breaker close --env dev",
        "redrive --error 502 --dry-run --env dev",
        "cancel --env dev --group acme --dry-run",
        "create --env dev --payload {}",
        "create --env dev --id a",
        "create --env dev --key a --sequence 1",
        "create --env dev --group acme --id a",
        "create --env dev --group acme --key a",
        "create --env dev --file -",
        "create --env dev --simulate 3",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

fn expect_rejected(kind: ErrorKind, lines: &[&str]) {
    for line in lines {
        let error = parse(line).unwrap_err();
        assert_eq!((error.kind(), error.exit_code()), (kind, 2), "{line}");
    }
}

#[test]
fn missing_arguments_are_usage_errors() {
    let lines = [
        "status --table tasks",
        "status --process-tasks-topic arn",
        "dev",
        "pause --env dev --for 30m",
        "pause --env dev --reason x",
        "limit --env dev",
        "limit --env dev --for 1h --reason x",
        "limit --env dev --rate 5 --reason x",
        "limit --env dev --rate 5 --for 1h",
        "breaker open --env dev --for 1h",
        "breaker open --env dev --reason x",
        "redrive --env dev",
        "cancel --env dev",
        "create --env dev",
        "create --env dev --ttl 1h",
        "create --env dev --group acme",
    ];
    expect_rejected(ErrorKind::MissingRequiredArgument, &lines);
    let no_verb = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    expect_rejected(no_verb, &[""]);
}

#[test]
fn conflicting_and_unknown_arguments_are_usage_errors() {
    let lines = [
        "status --env dev --table tasks --process-tasks-topic arn",
        "status --dev --env dev",
        "status --dev --stack x",
        "dev --simulate --runner http://localhost",
        "dev --simulate=busy --template x.json",
        "dev --simulate --data x",
        "limit --env dev --off --rate 5",
        "redrive a --all --env dev",
        "redrive a --yes --env dev",
        "redrive a --dry-run --env dev",
        "redrive a --error 502 --env dev",
        "redrive --all --error 502 --env dev",
        "create --env dev --payload 1 --file a",
        "create --env dev --simulate 3 --file a",
        "create --env dev --id a --key b",
        "create --env dev --file a --ttl 1h",
        "create --env dev --file a --group acme",
        "create --env dev --simulate 3 --group acme",
    ];
    expect_rejected(ErrorKind::ArgumentConflict, &lines);
    let lines = ["breaker close --env dev --for 1h", "breaker --env dev"];
    expect_rejected(ErrorKind::UnknownArgument, &lines);
    expect_rejected(ErrorKind::InvalidSubcommand, &["drain --env dev"]);
}

#[test]
fn invalid_values_are_usage_errors() {
    let lines = [
        "status --env=",
        "status --env dev --output xml",
        "pause --env dev --for 1h --reason=",
        "list --error= --env dev",
        "export --error= --env dev",
        "redrive --error= --env dev",
    ];
    expect_rejected(ErrorKind::InvalidValue, &lines);
    for (line, values) in [
        ("dev --simulate --concurrency=", &["901"][..]),
        ("dev --simulate --rate=", &["0"]),
        ("dev --simulate --max-attempts=", &["0"]),
        ("dev --simulate --ttl=", &["1"]),
        (
            "pause --env dev --reason x --for=",
            &["0s", "30", "soon", "-5m", "2years"],
        ),
        (
            "limit --env dev --for 1h --reason x --rate=",
            &["-1", "x", "NaN", "inf", "1e-9", "1e12"],
        ),
        (
            "limit --env dev --for 1h --reason x --concurrency=",
            &["65536", "-1"],
        ),
        ("limit --off --env dev --group=", &["a/b"]),
        ("pause --for 1h --reason x --env dev --group=", &["a/b"]),
        ("resume --env dev --group=", &["a/b"]),
        ("list --env dev --group=", &["a/b"]),
        ("cancel --env dev --group=", &["a/b"]),
        ("match --env dev --criteria=", &["Spanish"]),
        ("agent register --name Ana --attribute=", &["Spanish"]),
    ] {
        for value in values {
            expect_rejected(ErrorKind::ValueValidation, &[&format!("{line}{value}")]);
        }
    }
}

#[test]
fn usage_errors_name_what_is_missing_and_what_to_use_instead() {
    for (line, text) in [
        (
            "pause --env dev",
            "freshq pause --for <TIME> --reason <REASON>",
        ),
        ("status --table tasks", "--process-tasks-topic <ARN>"),
        ("redrive --env dev", "<TASK_ID|--all|--error <TEXT>>"),
        ("create --env dev", "--file <PATH>"),
        (
            "limit --env dev --for 1h --reason x --rate=0",
            "use freshq pause",
        ),
        (
            "limit --env dev --for 1h --reason x --rate=-0",
            "use freshq pause",
        ),
        (
            "limit --env dev --for 1h --reason x --concurrency=0",
            "use freshq pause",
        ),
        (
            "cancel --env dev #processor",
            "reserved for the queue's own items",
        ),
        (
            "redrive --env dev #processor",
            "reserved for the queue's own items",
        ),
        ("match --criteria Spanish", "it has no =; write for example"),
    ] {
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
        assert!(error.to_string().contains(text), "{line}: {error}");
    }
    let error = parse("status --table tasks").unwrap_err().to_string();
    assert!(
        !error.contains('|'),
        "no alternatives for the queue: {error}"
    );
}

/// Collects the help of a command and of its subcommands, each with its path.
fn help_of(command: &mut clap::Command, path: &str, all: &mut Vec<(String, String)>) {
    all.push((path.to_owned(), command.render_long_help().to_string()));
    for verb in command.get_subcommands_mut() {
        let name = format!("{path}-{}", verb.get_name());
        help_of(verb, &name, all);
    }
}

#[test]
fn help_of_each_verb_matches_its_snapshot() {
    let mut command = Arguments::command();
    command.build();
    let mut all = Vec::new();
    help_of(&mut command, "freshq", &mut all);
    all.retain(|(path, _)| !path.contains("-help"));
    assert_eq!(
        all.len(),
        42,
        "{:?}",
        all.iter().map(|(path, _)| path).collect::<Vec<_>>()
    );
    for (path, help) in all {
        insta::assert_snapshot!(path, help);
    }
}

#[test]
fn doctor_checks_either_queue() {
    let job = |line: &str| match verb(line).job() {
        Job::CheckAgents(on) => on.queue.env.clone(),
        _ => None,
    };
    assert_eq!(job("doctor --agents --env dev").as_deref(), Some("dev"));
    assert_eq!(job("doctor --env dev"), None);
}
