//! Reads the settings and the runner from a template that the CDK synthesized.

use lifo_queue::runner::config::RunnerConfig;
use serde_json::Value;

use super::Source;

const CREATE: &str = "SETTINGS_CREATE_TASKS";
const PROCESS: &str = "SETTINGS_PROCESS_TASKS";
const SWEEP: &str = "SETTINGS_SWEEP_TASKS";
const RUNNER: &str = "TASK_RUNNER";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("it is not a CloudFormation template in JSON: {0}; name cdk.out/<stack>.template.json")]
    Syntax(String),
    #[error(
        "it has {count} functions with the variable {variable}; name a template with exactly one task queue"
    )]
    Queues {
        variable: &'static str,
        count: usize,
    },
    #[error("{variable} contains values that are known only after the deployment{remedy}")]
    Token {
        variable: &'static str,
        remedy: &'static str,
    },
    #[error("{variable} cannot be read: {fault}; use a template of this version of freshq")]
    Invalid {
        variable: &'static str,
        fault: String,
    },
    #[error("its task runner {0}: replace it with --runner <URL>")]
    NeedsAws(&'static str),
}

pub(super) fn read(text: &str) -> Result<Source, TemplateError> {
    let template: Value =
        serde_json::from_str(text).map_err(|error| TemplateError::Syntax(error.to_string()))?;
    let resources = template["Resources"].as_object();
    let resources = resources.ok_or_else(|| TemplateError::Syntax("no Resources".to_owned()))?;
    let variables: Vec<&Value> = resources
        .values()
        .map(|resource| &resource["Properties"]["Environment"]["Variables"])
        .collect();
    Ok(Source {
        create: settings(&variables, CREATE)?,
        process: settings(&variables, PROCESS)?,
        sweep: settings(&variables, SWEEP)?,
        runner: Some(runner(&variables)),
    })
}

fn settings(variables: &[&Value], name: &'static str) -> Result<Value, TemplateError> {
    let text = one(variables, name, "")?;
    serde_json::from_str(text).map_err(|error| invalid(name, &error))
}

fn runner(variables: &[&Value]) -> Result<RunnerConfig, TemplateError> {
    let text = one(
        variables,
        RUNNER,
        ": the runner is a Lambda function, or its URL or its secret belongs to another resource. Replace it with --runner <URL>",
    )?;
    let runner: RunnerConfig = text.parse().map_err(|error| invalid(RUNNER, &error))?;
    match &runner {
        RunnerConfig::Lambda { .. } => Err(TemplateError::NeedsAws("is a Lambda function")),
        RunnerConfig::Custom {} => Err(TemplateError::NeedsAws("is a Rust binary")),
        RunnerConfig::Http { auth: Some(_), .. } => Err(TemplateError::NeedsAws(
            "signs its requests, or sends a secret, with AWS credentials",
        )),
        RunnerConfig::Http { .. } | RunnerConfig::Simulated { .. } => Ok(runner),
    }
}

fn one<'a>(
    variables: &[&'a Value],
    variable: &'static str,
    remedy: &'static str,
) -> Result<&'a str, TemplateError> {
    let mut values = variables.iter().filter_map(|of| of.get(variable));
    let (first, more) = (values.next(), values.count());
    match first {
        Some(value) if more == 0 => value
            .as_str()
            .ok_or(TemplateError::Token { variable, remedy }),
        first => Err(TemplateError::Queues {
            variable,
            count: more + usize::from(first.is_some()),
        }),
    }
}

fn invalid(variable: &'static str, error: &dyn std::error::Error) -> TemplateError {
    TemplateError::Invalid {
        variable,
        fault: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::Overrides;

    fn template(runner: &Value) -> Value {
        let defaults = Source::defaults();
        let mut process = defaults.process;
        process["concurrency"] = 3.into();
        process["rate"] = json!({"perSecond": 20, "burst": 5});
        let function = |variables: Value| {
            json!({
                "Type": "AWS::Lambda::Function",
                "Properties": {"Environment": {"Variables": variables}},
            })
        };
        json!({"Resources": {
            "create": function(json!({CREATE: defaults.create.to_string()})),
            "process": function(json!({PROCESS: process.to_string(), RUNNER: runner})),
            "sweep": function(json!({SWEEP: defaults.sweep.to_string()})),
            "table": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": {}},
        }})
    }

    fn runner(config: &Value) -> Result<RunnerConfig, TemplateError> {
        let template = template(&config.to_string().into());
        read(&template.to_string()).unwrap().runner.unwrap()
    }

    #[test]
    fn settings_and_literal_url_are_read_from_the_template() {
        let url = "https://legacy.example.com/validate";
        let config = runner(&json!({"kind": "http", "url": url, "timeoutMs": 20_000})).unwrap();
        assert!(matches!(config, RunnerConfig::Http { url: read, .. } if read == url));
        let source = read(&template(&"{}".into()).to_string()).unwrap();
        let settings = source.settings(&Overrides::default()).unwrap();
        assert_eq!(settings.process.slots, 3);
        assert_eq!(settings.process.rate.unwrap().burst.get(), 5);
    }

    #[test]
    fn error_names_the_runner_that_requires_aws_and_the_remedy() {
        let auth = json!({"kind": "header", "name": "Authorization", "secretArn": "arn:aws:secretsmanager:x"});
        for (config, part) in [
            (
                json!({"kind": "lambda", "functionArn": "arn:aws:lambda:x"}),
                "is a Lambda function",
            ),
            (json!({"kind": "custom"}), "is a Rust binary"),
            (
                json!({"kind": "http", "url": "https://example.com", "auth": auth}),
                "sends a secret",
            ),
        ] {
            let error = runner(&config).unwrap_err().to_string();
            assert!(
                error.contains(part) && error.contains("--runner <URL>"),
                "{error}"
            );
        }
        let token = template(&json!({"Fn::Join": ["", ["a", {"Ref": "Url"}]]}));
        let token = read(&token.to_string()).unwrap().runner.unwrap();
        let error = token.unwrap_err().to_string();
        assert!(error.contains("TASK_RUNNER contains values") && error.contains("--runner"));
    }

    #[test]
    fn files_other_than_templates_are_rejected_with_the_reason() {
        for (text, part) in [
            ("", "not a CloudFormation template"),
            ("{}", "no Resources"),
            (
                r#"{"Resources": {}}"#,
                "has 0 functions with the variable SETTINGS_CREATE_TASKS",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let mut two = template(&"{}".into());
        two["Resources"]["other"] = two["Resources"]["create"].clone();
        let error = read(&two.to_string()).unwrap_err().to_string();
        assert!(
            error.contains("has 2 functions") && error.contains("exactly one"),
            "{error}"
        );
    }
}
