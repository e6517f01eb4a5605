//! Asks the operator for confirmation at the terminal.

use std::io::{self, IsTerminal, Write};

use crate::failure::{Failure, Result};

pub(crate) trait Prompt: Send {
    /// Asks and waits for the answer: `y` or `yes` confirms, any other answer declines. `option` is
    /// the option that confirms without a terminal.
    fn confirms(&mut self, question: &str, option: &'static str) -> Result<bool> {
        Ok(is_yes(&self.answer(&format!("{question} [y/N] "), option)?))
    }

    /// Asks and returns the typed line. `option` is the option that provides the answer without a
    /// terminal.
    fn answer(&mut self, question: &str, option: &'static str) -> Result<String>;
}

/// The terminal in which this command runs.
pub(crate) struct Terminal;

impl Prompt for Terminal {
    fn answer(&mut self, question: &str, option: &'static str) -> Result<String> {
        if !io::stdin().is_terminal() {
            return Err(Failure::NoTerminal(option));
        }
        // Write the question to standard error, so that standard output contains only the report.
        let mut screen = io::stderr();
        write!(screen, "{question}").map_err(Failure::Terminal)?;
        screen.flush().map_err(Failure::Terminal)?;
        let mut answer = String::new();
        io::stdin()
            .read_line(&mut answer)
            .map_err(Failure::Terminal)?;
        Ok(answer)
    }
}

/// A prompt for a caller without a terminal, or one that has already asked for confirmation.
pub(crate) struct NoTerminal;

impl Prompt for NoTerminal {
    fn answer(&mut self, _: &str, option: &'static str) -> Result<String> {
        Err(Failure::NoTerminal(option))
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_y_or_yes_confirms() {
        for yes in ["y\n", "Y", " yes\r\n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n", "no", "yep", "y y"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
