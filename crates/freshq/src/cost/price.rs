//! Reads the list prices from `prices.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The list prices and the date of their lookup.
pub(super) static PRICES: LazyLock<Prices> = LazyLock::new(|| {
    serde_json::from_str(include_str!("prices.json")).expect("prices.json has every price")
});

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prices {
    pub(super) looked_up: String,
    pub(super) region: String,
    prices: BTreeMap<String, Price>,
}

/// A price in US dollars for `per` units.
#[derive(Debug, Deserialize)]
pub(super) struct Price {
    pub(super) price: f64,
    pub(super) per: f64,
    pub(super) unit: String,
}

impl Prices {
    /// Returns the price with this name in `prices.json`.
    pub(super) fn of(&self, name: &str) -> &Price {
        &self.prices[name]
    }
}
