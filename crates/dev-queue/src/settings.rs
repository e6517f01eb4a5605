//! The settings of a queue: the defaults of the construct, those of a synthesized template, and
//! overrides.

mod template;

use std::num::NonZeroU32;
use std::time::Duration;

use lifo_queue::create::CreateSettings;
use lifo_queue::process::ProcessSettings;
use lifo_queue::runner::config::RunnerConfig;
use lifo_queue::sweep::SweepSettings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use self::template::TemplateError;

/// The settings with which the construct deploys a queue by default. `make docs` generates this file.
const CONTRACT: &str = include_str!("../../../tests/contract.json");

#[derive(Clone, Debug)]
pub struct Settings {
    pub create: CreateSettings,
    pub process: ProcessSettings,
    pub sweep: SweepSettings,
}

/// The settings of the functions as JSON, and the runner if a template names one.
#[derive(Clone, Debug)]
pub struct Source {
    create: Value,
    process: Value,
    sweep: Value,
    /// The runner of the template, or why it cannot be used here. `None` without a template.
    pub runner: Option<Result<RunnerConfig, TemplateError>>,
}

/// Settings that replace those of the source. `None` keeps them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Maximum number of concurrent tasks.
    pub concurrency: Option<u16>,
    /// Maximum number of starts per second, without a burst.
    pub rate: Option<NonZeroU32>,
    pub timeout: Option<Duration>,
    /// Attempts before FAILURE.
    pub max_attempts: Option<NonZeroU32>,
    /// Time until a task without its own expiry expires.
    pub ttl: Option<Duration>,
    /// The shortest and the longest backoff.
    pub backoff: Option<(Duration, Duration)>,
}

#[derive(Debug, thiserror::Error)]
#[error("the settings of {function} cannot be read; use a template of this version of freshq")]
pub struct InvalidSettings {
    function: &'static str,
    source: serde_json::Error,
}

impl Source {
    pub fn defaults() -> Self {
        let contract: Value = serde_json::from_str(CONTRACT).unwrap_or_default();
        let defaults = &contract["settings"]["defaults"];
        Self {
            create: defaults["create-tasks"].clone(),
            process: defaults["process-tasks"].clone(),
            sweep: defaults["sweep-tasks"].clone(),
            runner: None,
        }
    }

    /// The settings and the runner of a template that the CDK synthesized.
    pub fn template(text: &str) -> Result<Self, TemplateError> {
        template::read(text)
    }

    /// The settings with these overrides.
    pub fn settings(mut self, overrides: &Overrides) -> Result<Settings, InvalidSettings> {
        let (create, process) = (&mut self.create["create"], &mut self.process);
        let sweep = &mut self.sweep["sweep"];
        if let Some(slots) = overrides.concurrency {
            process["concurrency"] = slots.into();
        }
        if let Some(rate) = overrides.rate {
            process["rate"] = json!({"perSecond": rate, "burst": 1});
        }
        if let Some(timeout) = overrides.timeout {
            process["taskTimeoutMs"] = millis(timeout);
        }
        if let Some(attempts) = overrides.max_attempts {
            process["maxAttempts"] = attempts.get().into();
            sweep["maxAttempts"] = attempts.get().into();
        }
        if let Some(ttl) = overrides.ttl {
            for settings in [&mut *create, &mut *process, &mut *sweep] {
                settings["defaultTtlMs"] = millis(ttl);
                // The bound of the template may be shorter than this expiry.
                remove(settings, "expiryBoundMs");
            }
        }
        if let Some((base, max)) = overrides.backoff {
            for settings in [&mut *process, &mut *sweep] {
                settings["retry"] = json!({"baseMs": millis(base), "maxMs": millis(max)});
            }
        }
        // Traces go to AWS X-Ray.
        remove(process, "traces");
        Ok(Settings {
            create: read("create-tasks", create)?,
            process: read("process-tasks", process)?,
            sweep: read("sweep-tasks", sweep)?,
        })
    }
}

fn read<T: DeserializeOwned>(function: &'static str, json: &Value) -> Result<T, InvalidSettings> {
    T::deserialize(json).map_err(|source| InvalidSettings { function, source })
}

fn remove(settings: &mut Value, name: &str) {
    if let Some(settings) = settings.as_object_mut() {
        settings.remove(name);
    }
}

fn millis(duration: Duration) -> Value {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_construct() {
        let settings = Source::defaults().settings(&Overrides::default()).unwrap();
        assert_eq!(settings.process.slots, 10);
        assert_eq!(settings.process.max_attempts, settings.sweep.max_attempts);
        assert_eq!(settings.create.default_ttl, Duration::from_secs(3_600));
        assert!(settings.process.rate.is_none() && settings.process.traces.is_none());
    }

    #[test]
    fn overrides_apply_to_every_function() {
        let (ttl, timeout) = (Duration::from_secs(7), Duration::from_secs(3));
        let overrides = Overrides {
            concurrency: Some(2),
            rate: NonZeroU32::new(4),
            timeout: Some(timeout),
            max_attempts: NonZeroU32::new(3),
            ttl: Some(ttl),
            backoff: Some((Duration::from_millis(10), Duration::from_millis(20))),
        };
        let settings = Source::defaults().settings(&overrides).unwrap();
        let Settings {
            create,
            process,
            sweep,
        } = settings;
        assert_eq!((process.slots, process.task_timeout), (2, timeout));
        let rate = process.rate.unwrap();
        assert_eq!(
            (rate.interval, rate.burst.get()),
            (Duration::from_millis(250), 1)
        );
        assert_eq!((process.max_attempts, sweep.max_attempts), (3, 3));
        let ttls = [create.default_ttl, process.default_ttl, sweep.default_ttl];
        assert_eq!(ttls, [ttl; 3]);
        assert_eq!(process.backoff, sweep.backoff);
    }
}
