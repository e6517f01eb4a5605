//! Builds tables of measured figures and their aims.

use comfy_table::{Table, presets};

pub(crate) fn table(title: &str) -> Table {
    wide([title, "measured", "aim"])
}

pub(crate) fn wide<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    *table.style_mut() = presets::ASCII_BORDERS_ONLY_CONDENSED;
    table.set_header(header);
    table
}

pub(crate) trait Lines {
    fn line(&mut self, what: &str, measured: String, aim: &str);
}

impl Lines for Table {
    fn line(&mut self, what: &str, measured: String, aim: &str) {
        self.add_row([what, &measured, aim]);
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
