//! Reads variables and collects what is wrong with them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::variable::Variable;

/// About two a day.
const SLOWEST_RATE: f64 = 0.000_02;

/// Far above the limit of a table.
const FASTEST_RATE: f64 = 1_000_000.0;

/// Reads variables one by one. A variable that is missing or wrong is noted and a placeholder
/// returned in its place; [`finish`](Self::finish) hands the configuration out only if nothing
/// was noted, so no placeholder is ever used.
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
    pub fn text(&mut self, variable: Variable) -> String {
        self.required(variable, Ok).unwrap_or_default()
    }

    /// A text that may be left out.
    pub fn optional_text(&mut self, variable: Variable) -> Option<String> {
        self.find(variable)
    }

    /// An ARN.
    pub fn arn(&mut self, variable: Variable) -> String {
        let parse = |text: String| {
            if text.starts_with("arn:") {
                Ok(text)
            } else {
                Err(wrong(&text, "an ARN, arn:…"))
            }
        };
        self.required(variable, parse).unwrap_or_default()
    }

    /// `true` or `false`.
    pub fn flag(&mut self, variable: Variable) -> bool {
        let parse = |text: String| text.parse().map_err(|_| wrong(&text, "true or false"));
        self.required(variable, parse).unwrap_or_default()
    }

    /// A whole number that is not below `min`.
    pub fn number<N>(&mut self, variable: Variable, min: N) -> N
    where
        N: FromStr + PartialOrd + fmt::Display + Copy,
    {
        self.required(variable, |text| whole(&text, min))
            .unwrap_or(min)
    }

    /// A duration in whole milliseconds, not below `min`.
    pub fn millis(&mut self, variable: Variable, min: u32) -> Duration {
        Duration::from_millis(self.number(variable, min).into())
    }

    /// A duration in whole seconds, not below `min`.
    pub fn seconds(&mut self, variable: Variable, min: u32) -> Duration {
        Duration::from_secs(self.number(variable, min).into())
    }

    /// Like [`seconds`](Self::seconds), for a variable that may be left out.
    pub fn optional_seconds(&mut self, variable: Variable, min: u32) -> Option<Duration> {
        let text = self.find(variable)?;
        let seconds = self.parsed(variable, text, |text| whole(&text, min))?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// Milliseconds, not fewer than `min`, in a variable that may be left out.
    pub fn optional_millis(&mut self, variable: Variable, min: u32) -> Option<Duration> {
        let millis: u32 = self.optional_number(variable, min)?;
        Some(Duration::from_millis(millis.into()))
    }

    /// A whole number that is not below `min`, in a variable that may be left out.
    pub fn optional_number<N>(&mut self, variable: Variable, min: N) -> Option<N>
    where
        N: FromStr + PartialOrd + fmt::Display + Copy,
    {
        let text = self.find(variable)?;
        self.parsed(variable, text, |text| whole(&text, min))
    }

    /// A rate a second: a decimal number from one a day to a million, in a variable that may be
    /// left out.
    pub fn optional_rate(&mut self, variable: Variable) -> Option<f64> {
        let text = self.find(variable)?;
        self.parsed(variable, text, |text| match text.parse::<f64>() {
            Ok(rate) if (SLOWEST_RATE..=FASTEST_RATE).contains(&rate) => Ok(rate),
            _ => Err(wrong(&text, "a decimal number from 0.00002 to 1000000")),
        })
    }

    /// A value as JSON; `placeholder` stands in for it when it cannot be read.
    pub fn json<T: DeserializeOwned>(&mut self, variable: Variable, placeholder: T) -> T {
        let parse = |text: String| {
            serde_json::from_str(&text).map_err(|error| format!("cannot be read: {error}"))
        };
        self.required(variable, parse).unwrap_or(placeholder)
    }

    /// One of a few texts, each standing for a value.
    pub fn choice<T: Copy>(
        &mut self,
        variable: Variable,
        choices: &[(&str, T)],
        placeholder: T,
    ) -> T {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        let parse = |text: String| {
            let chosen = choices.iter().find(|(name, _)| *name == text);
            let (_, value) = chosen.ok_or_else(|| wrong(&text, &names.join(" or ")))?;
            Ok(*value)
        };
        self.required(variable, parse).unwrap_or(placeholder)
    }

    /// Notes a rule that holds between variables.
    pub fn check(&mut self, holds: bool, variable: Variable, fault: &str) {
        // What could not be read has been noted already.
        if !holds && self.problems.is_empty() {
            self.problems.push(Problem {
                variable,
                fault: fault.to_owned(),
            });
        }
    }

    /// The configuration, if nothing was noted.
    ///
    /// # Errors
    /// [`ConfigError`] with everything that was noted.
    pub fn finish<T>(self, config: T) -> Result<T, ConfigError> {
        if self.problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError {
                problems: self.problems,
            })
        }
    }

    /// The value of the variable; an empty text counts as missing.
    fn find(&self, variable: Variable) -> Option<String> {
        (self.lookup)(variable.name).filter(|text| !text.is_empty())
    }

    fn required<T>(
        &mut self,
        variable: Variable,
        parse: impl Fn(String) -> Result<T, String>,
    ) -> Option<T> {
        match self.find(variable) {
            Some(text) => self.parsed(variable, text, parse),
            None => {
                self.problems.push(Problem {
                    variable,
                    fault: "is missing".to_owned(),
                });
                None
            }
        }
    }

    fn parsed<T>(
        &mut self,
        variable: Variable,
        text: String,
        parse: impl Fn(String) -> Result<T, String>,
    ) -> Option<T> {
        match parse(text) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.problems.push(Problem { variable, fault });
                None
            }
        }
    }
}

fn whole<N: FromStr + PartialOrd + fmt::Display>(text: &str, min: N) -> Result<N, String> {
    match text.parse() {
        Ok(number) if number >= min => Ok(number),
        _ => Err(wrong(text, &format!("a whole number from {min}"))),
    }
}

fn wrong(text: &str, expected: &str) -> String {
    format!("is {text:?} and should be {expected}")
}
