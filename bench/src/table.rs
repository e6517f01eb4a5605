//! Tables of figures with their aims.

use comfy_table::{Table, presets};

pub(crate) fn table(title: &str) -> Table {
    let mut table = Table::new();
    *table.style_mut() = presets::ASCII_BORDERS_ONLY_CONDENSED;
    table.set_header([title, "measured", "aim"]);
    table
}

pub(crate) fn row(table: &mut Table, what: &str, measured: String, aim: &str) {
    table.add_row([what, &measured, aim]);
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
