//! Reads variables and collects what is wrong with them.

use std::fmt;

use serde::de::DeserializeOwned;

use super::variable::Variable;

/// Reads variables one by one and notes what is missing or wrong. [`finish`](Self::finish) hands the
/// configuration out only if nothing was noted.
pub struct Reader<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<Problem>,
}

/// What is wrong with one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The variable.
    pub variable: Variable,
    /// `is missing`, or the value and the expected form.
    pub fault: String,
}

/// Everything that is wrong with a function's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// One for each variable, in the order they are read; never empty.
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
    /// A reader of what `lookup` finds by name.
    #[must_use]
    pub fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            lookup,
            problems: Vec::new(),
        }
    }

    /// A text that is not empty.
    pub fn text(&mut self, variable: Variable) -> Option<String> {
        let found = self.optional_text(variable);
        if found.is_none() {
            self.note(variable, "is missing".to_owned());
        }
        found
    }

    /// A text that may be left out; an empty text counts as left out.
    #[must_use]
    pub fn optional_text(&self, variable: Variable) -> Option<String> {
        (self.lookup)(variable.name).filter(|text| !text.is_empty())
    }

    /// An ARN.
    pub fn arn(&mut self, variable: Variable) -> Option<String> {
        let text = self.text(variable)?;
        if text.starts_with("arn:") {
            return Some(text);
        }
        self.note(variable, format!("is {text:?} and should be an ARN, arn:…"));
        None
    }

    /// A value as JSON. Fields that `T` does not know are logged and left out: CloudFormation
    /// changes a function's variables before its code, so that this code meets the fields of the
    /// next release.
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

    /// The configuration, if nothing was noted.
    ///
    /// # Errors
    /// [`ConfigError`] with everything that was noted.
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

/// Reads JSON; returns the paths of the fields that `T` does not know, too.
///
/// # Errors
/// The path of the first wrong field and what is wrong with it.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<(T, Vec<String>), String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let mut unknown = Vec::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let parsed = serde_ignored::deserialize(tracked, |path| unknown.push(path.to_string()));
    match parsed.and_then(|value| json.end().map(|()| value)) {
        Ok(value) => Ok((value, unknown)),
        Err(error) => Err(format!("is wrong at {}: {error}", track.path())),
    }
}
