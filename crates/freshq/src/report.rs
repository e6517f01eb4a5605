//! Reports of verbs, and how they are printed: as text for people or as JSON for programs.

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use comfy_table::{Table, presets};
use serde_json::Value;

use crate::account::Account;
use crate::exit::Exit;
use crate::failure::Failure;

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs: one JSON object
    Json,
}

/// The outcome of a verb.
pub(crate) trait Report: std::fmt::Debug + Send {
    /// The exit code of the command.
    fn exit(&self) -> Exit;
    /// The text for people.
    fn text(&self) -> String;
    /// The JSON object for programs.
    fn json(&self) -> Value;
    /// Whether to print the report on standard error, because standard output has other content.
    fn is_note(&self) -> bool {
        false
    }
}

/// The outcome of a change that the operator declined.
#[derive(Debug)]
pub(crate) struct Declined {
    pub(crate) text: &'static str,
    pub(crate) json: Value,
}

impl Report for Declined {
    fn exit(&self) -> Exit {
        Exit::Declined
    }

    fn text(&self) -> String {
        self.text.to_owned()
    }

    fn json(&self) -> Value {
        self.json.clone()
    }
}

/// The outcome of a verb that changes a queue, with the place of the queue.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) report: Box<dyn Report>,
    pub(crate) queue: String,
    pub(crate) account: Account,
}

impl Report for Change {
    fn exit(&self) -> Exit {
        self.report.exit()
    }

    fn text(&self) -> String {
        format!("{}\n{} in {}", self.report.text(), self.queue, self.account)
    }

    fn json(&self) -> Value {
        let mut object = self.report.json();
        self.account.add_to(&mut object);
        object
    }
}

/// Prints a report on standard output, or on standard error if it is a note.
///
/// # Errors
/// [`Failure::Terminal`]: the report could not be written. A reader that stops early, such as
/// `head`, is not an error.
pub(crate) fn print(report: &dyn Report, format: Format) -> Result<Exit, Failure> {
    let text = match format {
        Format::Table => report.text(),
        Format::Json => format!("{:#}", report.json()),
    };
    let printed = match report.is_note() {
        true => writeln!(io::stderr(), "{text}"),
        false => writeln!(io::stdout(), "{text}"),
    };
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Terminal(error)),
        Ok(()) | Err(_) => Ok(report.exit()),
    }
}

/// A table of two columns without borders. Each row is one line.
pub(crate) fn two_columns<L: Into<String>, R: Into<String>>(
    rows: impl IntoIterator<Item = (L, R)>,
) -> String {
    columns(
        rows.into_iter()
            .map(|(left, right)| [left.into(), right.into()]),
    )
}

/// A table of `N` columns without borders. Each row is one line.
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

/// Replaces control characters by spaces. Text of a direct writer may contain line breaks.
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
