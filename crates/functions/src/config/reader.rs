//! Reads environment variables and collects their faults.

use std::fmt;

use serde::de::DeserializeOwned;

use super::variable::Variable;

/// Reads variables one by one and records those that are missing or invalid.
/// [`finish`](Self::finish) returns the configuration only if no fault was recorded.
pub struct Reader<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub variable: Variable,
    /// The text `is missing`, or the invalid value and the expected form.
    pub fault: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// One problem per invalid variable, in the order in which the variables are read. Never empty.
    pub problems: Vec<Problem>,
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the function's environment is incomplete:")?;
        for (n, Problem { variable, fault }) in self.problems.iter().enumerate() {
            let separator = if n == 0 { " " } else { "; " };
            write!(
                f,
                "{separator}{} {fault} ({})",
                variable.name, variable.meaning
            )?;
        }
        Ok(())
    }
}

impl<'a> Reader<'a> {
    /// Creates a reader that finds environment variables by name with `lookup`.
    pub fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            lookup,
            problems: Vec::new(),
        }
    }

    /// Reads a non-empty text.
    pub fn text(&mut self, variable: Variable) -> Option<String> {
        let found = self.optional_text(variable);
        if found.is_none() {
            self.note(variable, "is missing".to_owned());
        }
        found
    }

    /// Reads an optional text; an empty text counts as missing.
    pub fn optional_text(&self, variable: Variable) -> Option<String> {
        (self.lookup)(variable.name).filter(|text| !text.is_empty())
    }

    pub fn arn(&mut self, variable: Variable) -> Option<String> {
        let text = self.text(variable)?;
        if text.starts_with("arn:") {
            return Some(text);
        }
        self.note(variable, format!("is {text:?}; expected an ARN, arn:…"));
        None
    }

    /// Reads a value as JSON. Fields that `T` does not define are logged and ignored:
    /// CloudFormation changes a function's environment variables before its code, so this code may
    /// read fields of the next release.
    pub fn json<T: DeserializeOwned>(&mut self, variable: Variable) -> Option<T> {
        let text = self.text(variable)?;
        match parse(&text) {
            Ok((value, unknown)) => {
                if !unknown.is_empty() {
                    let fields = unknown.join(", ");
                    let name = variable.name;
                    tracing::warn!(variable = name, fields, "unknown settings have no effect");
                }
                Some(value)
            }
            Err(fault) => {
                self.note(variable, fault);
                None
            }
        }
    }

    /// Returns the configuration, or an error if any fault was recorded.
    pub fn finish<T>(self, config: impl FnOnce() -> Option<T>) -> Result<T, ConfigError> {
        match config() {
            Some(config) if self.problems.is_empty() => Ok(config),
            _ => Err(ConfigError {
                problems: self.problems,
            }),
        }
    }

    fn note(&mut self, variable: Variable, fault: String) {
        self.problems.push(Problem { variable, fault });
    }
}

/// Parses JSON. Also returns the paths of the fields that `T` does not define.
///
/// # Errors
/// The path of the first invalid field, and the reason why it is invalid.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<(T, Vec<String>), String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let mut unknown = Vec::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let parsed = serde_ignored::deserialize(tracked, |path| unknown.push(path.to_string()));
    match parsed.and_then(|value| json.end().map(|()| value)) {
        Ok(value) => Ok((value, unknown)),
        Err(error) => Err(format!("is invalid at {}: {error}", track.path())),
    }
}
