//! Formats reports of verbs as text or as JSON.

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use comfy_table::{Table, presets};
use serde_json::Value;

use crate::account::Account;
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs: one JSON object
    Json,
}

/// The outcome of a verb.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) exit: Exit,
    /// The report as text.
    pub(crate) text: String,
    /// The report as a JSON object.
    pub(crate) json: Value,
    /// Whether to print the report to standard error, because standard output has other content.
    pub(crate) is_note: bool,
}

impl Report {
    pub(crate) fn new(exit: Exit, text: impl Into<String>, json: Value) -> Self {
        Self {
            exit,
            text: text.into(),
            json,
            is_note: false,
        }
    }

    /// Creates the report of a verb that did all requested work.
    pub(crate) fn done(text: impl Into<String>, json: Value) -> Self {
        Self::new(Exit::Done, text, json)
    }

    /// Adds the changed queue, its account and its region.
    pub(crate) fn of_change(mut self, queue: &str, account: &Account) -> Self {
        self.text += &format!("\n{queue} in {account}");
        account.add_to(&mut self.json);
        self
    }
}

/// Prints a report to standard output, or to standard error if it is a note.
///
/// # Errors
/// [`Failure::Terminal`]: the report could not be written. A reader that stops early, such as
/// `head`, is not an error.
pub(crate) fn print(report: &Report, format: Format) -> Result<Exit> {
    let text = match format {
        Format::Table => &report.text,
        Format::Json => &format!("{:#}", report.json),
    };
    let printed = match report.is_note {
        true => writeln!(io::stderr(), "{text}"),
        false => writeln!(io::stdout(), "{text}"),
    };
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Terminal(error)),
        Ok(()) | Err(_) => Ok(report.exit),
    }
}

/// Formats a two-column table without borders. Each row is one line.
pub(crate) fn two_columns<L: Into<String>, R: Into<String>>(
    rows: impl IntoIterator<Item = (L, R)>,
) -> String {
    columns(
        rows.into_iter()
            .map(|(left, right)| [left.into(), right.into()]),
    )
}

/// Formats a table of `N` columns without borders. Each row is one line.
pub(crate) fn columns<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    *table.style_mut() = presets::NOTHING;
    for row in rows {
        table.add_row(row.map(on_one_line));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// Replaces control characters with spaces. Text from a direct writer can contain line breaks.
pub(crate) fn on_one_line(text: String) -> String {
    match text.contains(char::is_control) {
        true => text.replace(char::is_control, " "),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_in_columns_one_line_each() {
        let text = two_columns([("paused", "no\nand \u{1b}[1m no"), ("x", "y")]);
        assert_eq!(text, "paused  no and  [1m no\nx       y");
    }
}
