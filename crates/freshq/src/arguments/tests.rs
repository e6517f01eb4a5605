use std::time::Duration;

use clap::CommandFactory;
use clap::error::ErrorKind;
use lifo_queue::task::TaskId;

use super::*;

mod tasks;

const TABLE: [&str; 4] = [
    "--table",
    "tasks",
    "--process-tasks-topic",
    "arn:aws:sns:x:1:t",
];

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(std::iter::once("freshq").chain(line.split_whitespace()))
}

fn verb(line: &str) -> Verb {
    parse(line).unwrap().verb
}

fn rejected(line: &str) -> ErrorKind {
    let error = parse(line).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{line}");
    error.kind()
}

#[test]
fn argument_definitions_are_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn a_queue_is_named_by_its_environment_or_by_table_and_topic() {
    let on = |line: &str| {
        let verb = verb(line);
        let (Job::Read(_, common) | Job::Change(_, common)) = verb.job() else {
            panic!("not a verb on a queue")
        };
        (
            common.queue.env.clone(),
            common.queue.table.clone(),
            common.queue.process_tasks_topic.clone(),
            common.output,
        )
    };
    let named = |text: &str| Some(text.to_owned());
    for verb in ["status", "resume", "wake", "cancel a", "redrive a"] {
        assert_eq!(
            on(&format!("{verb} --env dev")),
            (named("dev"), None, None, Format::Table)
        );
    }
    assert_eq!(
        on(&format!("status --output json {}", TABLE.join(" "))),
        (
            None,
            named("tasks"),
            named("arn:aws:sns:x:1:t"),
            Format::Json
        )
    );
    for line in ["status --table tasks", "status --process-tasks-topic arn"] {
        assert_eq!(rejected(line), ErrorKind::MissingRequiredArgument, "{line}");
    }
    let both = format!("status --env dev {}", TABLE.join(" "));
    assert_eq!(rejected(&both), ErrorKind::ArgumentConflict);
    assert_eq!(rejected("status --env="), ErrorKind::InvalidValue);
    assert_eq!(
        rejected("status --env dev --output xml"),
        ErrorKind::InvalidValue
    );
}

#[test]
fn the_queue_of_freshq_dev_is_named_by_an_option_with_an_optional_address() {
    for (line, url) in [
        ("show --dev task-1", "http://127.0.0.1:8347"),
        (
            "show task-1 --dev=http://localhost:9000",
            "http://localhost:9000",
        ),
    ] {
        let verb = verb(line);
        let (Job::Read(_, common) | Job::Change(_, common)) = verb.job() else {
            panic!("not a verb on a queue")
        };
        assert_eq!(common.queue.dev.as_deref(), Some(url), "{line}");
        assert!(matches!(common.queue.stack(), Ok(None)), "{line}");
    }
    for option in ["--env dev", "--stack x"] {
        let line = format!("status --dev {option}");
        assert_eq!(rejected(&line), ErrorKind::ArgumentConflict);
    }
}

#[test]
fn dev_requires_a_runner_a_template_or_a_simulation() {
    assert_eq!(rejected("dev"), ErrorKind::MissingRequiredArgument);
    for line in [
        "dev --simulate --runner http://localhost",
        "dev --simulate=busy --template x.json",
        "dev --simulate --data x",
    ] {
        assert_eq!(rejected(line), ErrorKind::ArgumentConflict, "{line}");
    }
    for line in [
        "dev --runner http://localhost --template x.json --data x --rate 5",
        "dev --simulate=failing --concurrency 4 --ttl 5s",
    ] {
        assert!(matches!(verb(line), Verb::Dev(_)), "{line}");
    }
    for option in [
        "--concurrency 901",
        "--rate 0",
        "--max-attempts 0",
        "--ttl 1",
    ] {
        let kind = rejected(&format!("dev --simulate {option}"));
        assert_eq!(kind, ErrorKind::ValueValidation, "{option}");
    }
}

#[test]
fn usage_shows_required_options_but_no_alternatives_for_the_queue() {
    let error = parse("pause --env dev").unwrap_err().to_string();
    assert!(
        error.contains("freshq pause --for <TIME> --reason <REASON>"),
        "{error}"
    );
    let error = parse("status --table tasks").unwrap_err().to_string();
    assert!(error.contains("--process-tasks-topic <ARN>"), "{error}");
    assert!(!error.contains('|'), "{error}");
}

#[test]
fn pause_requires_a_time_and_a_reason() {
    let line = [
        "freshq", "pause", "--env", "dev", "--for", "1h 30m", "--reason", "x y",
    ];
    let Verb::Pause(on) = Arguments::try_parse_from(line).unwrap().verb else {
        panic!("not a pause")
    };
    assert_eq!(on.verb.time, Duration::from_secs(5_400));
    assert_eq!(on.verb.reason, "x y");
    for line in ["pause --env dev --for 30m", "pause --env dev --reason x"] {
        assert_eq!(rejected(line), ErrorKind::MissingRequiredArgument, "{line}");
    }
    for time in ["0s", "30", "soon", "-5m", "2years"] {
        let kind = rejected(&format!("pause --env dev --reason x --for={time}"));
        assert_eq!(kind, ErrorKind::ValueValidation, "{time}");
    }
    assert_eq!(
        rejected("pause --env dev --for 1h --reason="),
        ErrorKind::InvalidValue
    );
}

#[test]
fn limit_requires_a_value_a_time_and_a_reason_or_off() {
    let line = "limit --env dev --rate 0.5 --concurrency 3 --for 1h --reason migration";
    let Verb::Limit(on) = verb(line) else {
        panic!("not a limit")
    };
    let rate = on.verb.rate.map(|rate| rate.interval);
    assert_eq!(rate, Some(Duration::from_secs(2)));
    assert_eq!(on.verb.concurrency.map(u16::from), Some(3));
    assert!(parse("limit --env dev --off").is_ok());
    for line in [
        "limit --env dev",
        "limit --env dev --for 1h --reason x",
        "limit --env dev --rate 5 --reason x",
        "limit --env dev --rate 5 --for 1h",
    ] {
        assert_eq!(rejected(line), ErrorKind::MissingRequiredArgument, "{line}");
    }
    assert!(parse("limit --env dev --off --group acme").is_ok());
    let both = "limit --env dev --off --rate 5";
    assert_eq!(rejected(both), ErrorKind::ArgumentConflict);
    for value in ["--rate=0", "--rate=-0", "--concurrency=0"] {
        let line = format!("limit --env dev --for 1h --reason x {value}");
        let error = parse(&line).unwrap_err().to_string();
        assert!(error.contains("use freshq pause"), "{error}");
    }
    for value in [
        "--rate=-1",
        "--rate=x",
        "--rate=NaN",
        "--rate=inf",
        "--rate=1e-9",
        "--rate=1e12",
        "--concurrency=65536",
        "--concurrency=-1",
    ] {
        let line = format!("limit --env dev --for 1h --reason x {value}");
        assert_eq!(rejected(&line), ErrorKind::ValueValidation, "{line}");
    }
}

#[test]
fn breaker_open_requires_a_time_and_a_reason() {
    let line = "breaker open --env dev --for 30m --reason release";
    let Verb::Breaker(BreakerVerb::Open(on)) = verb(line) else {
        panic!("not a command to the breaker")
    };
    assert_eq!(on.verb.time, Duration::from_secs(1_800));
    assert_eq!(on.verb.reason, "release");
    assert!(parse("breaker close --env dev").is_ok());
    for line in [
        "breaker open --env dev --for 1h",
        "breaker open --env dev --reason x",
    ] {
        assert_eq!(rejected(line), ErrorKind::MissingRequiredArgument, "{line}");
    }
    assert_eq!(
        rejected("breaker close --env dev --for 1h"),
        ErrorKind::UnknownArgument
    );
    assert_eq!(rejected("breaker --env dev"), ErrorKind::UnknownArgument);
}

#[test]
fn missing_and_unknown_verbs_are_usage_errors() {
    assert_eq!(rejected("drain --env dev"), ErrorKind::InvalidSubcommand);
    let none = parse("").unwrap_err();
    assert_eq!(none.exit_code(), 2);
    assert_eq!(
        none.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
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
        41,
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
