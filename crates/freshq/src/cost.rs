//! `freshq cost`: the cost of a workload at AWS list prices.

mod load;
mod price;

use clap::Args;
use serde_json::{Value, json};

use self::load::{Billed, Load};
use self::price::PRICES;
use crate::report::{Format, Report, columns};
use crate::time_format::rough;

const AFTER_HELP: &str = "\
Counts the requests and the units of the load with the default settings, and multiplies them by list prices. Free
tiers, logs, metrics and alarms are excluded: docs/reference/fixed-costs.md has the costs of an idle queue.

For comparison: the same tasks in a Lambda function on an SQS queue, oldest first, that runs the messages of a batch concurrently.

  freshq cost --tasks 100000000 --payload 4096
  freshq cost --tasks 36000000 --over 1h --capacity 100 --admission";

/// Estimates what a load costs.
#[derive(Clone, Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Cost {
    #[command(flatten)]
    load: Load,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

fn dollars(billed: &Billed) -> f64 {
    let price = PRICES.of(billed.price);
    billed.count * price.price / price.per
}

fn total(all: &[Billed]) -> f64 {
    all.iter().map(dollars).sum()
}

fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let separated = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = separated.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

fn money(amount: f64) -> String {
    let cents = format!("{amount:.2}");
    let (whole, cents) = cents.split_once('.').unwrap_or((&cents, "00"));
    format!("${}.{cents}", thousands(whole.parse().unwrap_or(0.0)))
}

fn table(title: &str, all: &[Billed]) -> String {
    let head = [title, "count", "price", "cost"].map(str::to_owned);
    let row = |billed: &Billed| {
        let price = PRICES.of(billed.price);
        let (cents, exact) = (format!("{:.2}", price.price), price.price.to_string());
        let each = match exact.len() > cents.len() {
            true => exact,
            false => cents,
        };
        let each = format!("${each} per {}", price.unit);
        [
            billed.what.to_owned(),
            thousands(billed.count),
            each,
            money(dollars(billed)),
        ]
    };
    let last = [
        "total".to_owned(),
        String::new(),
        String::new(),
        money(total(all)),
    ];
    columns([head].into_iter().chain(all.iter().map(row)).chain([last]))
}

fn lines(all: &[Billed]) -> Value {
    let line = |billed: &Billed| json!({ "what": billed.what, "count": billed.count.round(), "price": billed.price, "dollars": dollars(billed) });
    json!({ "lines": all.iter().map(line).collect::<Vec<_>>(), "dollars": total(all) })
}

impl Cost {
    pub(crate) fn report(&self) -> Report {
        Report::done(self.text(), self.json())
    }

    fn text(&self) -> String {
        let load = &self.load;
        let (ran, inserted) = (load.ran(), load.inserted());
        let shed = match load.tasks() - ran {
            0.0 => String::new(),
            shed => format!(
                ", {} shed ({} of them before their first write)",
                thousands(shed),
                thousands(load.tasks() - inserted)
            ),
        };
        format!(
            "{} tasks in {}: {} run{shed}\n\n{}\n\n{}\n\nlist prices in {}, {}, without free tiers, logs, metrics and alarms",
            thousands(load.tasks()),
            rough(load.over),
            thousands(ran),
            table("freshq", &load.freshq()),
            table("a function on SQS, oldest first", &load.sqs_and_lambda()),
            PRICES.region,
            PRICES.looked_up,
        )
    }

    fn json(&self) -> Value {
        let load = &self.load;
        json!({
            "tasks": load.tasks(),
            "ran": load.ran(),
            "inserted": load.inserted(),
            "freshq": lines(&load.freshq()),
            "sqsAndLambda": lines(&load.sqs_and_lambda()),
            "prices": { "lookedUp": PRICES.looked_up, "region": PRICES.region },
        })
    }
}

#[cfg(test)]
mod tests;
