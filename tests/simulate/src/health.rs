//! Imperfect downstreams, outages and quiet queues: what each scene costs in freshness, attempts
//! and calls. `before` in the figures is the core of commit 940213d9, which had a circuit breaker
//! per turn, automatic pauses, and one limit that any busy response halved.

mod downstreams;
mod measure;
mod scenes;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use self::measure::Measured;
use self::scenes::Scene;
use crate::parallel;

/// Figures of the core of commit 940213d9, by scene.
const BEFORE: &str = include_str!("health/before.json");

/// Seeds of each scene. Each figure is the worst of them.
const SEEDS: [u64; 2] = [1, 2];

/// Content of `health.json`.
#[derive(Serialize)]
pub(crate) struct Health {
    scenes: BTreeMap<String, Compared>,
}

#[derive(Serialize)]
struct Compared {
    #[serde(flatten)]
    now: Measured,
    before: Option<Measured>,
}

#[derive(Deserialize)]
struct Before(BTreeMap<String, Measured>);

/// Simulates every scene.
///
/// # Errors
/// The figures of the earlier core can't be read.
pub(crate) fn scenes() -> Result<Health, serde_json::Error> {
    let Before(mut before) = serde_json::from_str(BEFORE)?;
    let only = std::env::var("FRESHQ_SCENE").ok();
    let scenes = scenes::all().into_iter();
    let scenes = scenes.filter(|scene| {
        only.as_ref()
            .is_none_or(|only| scene.name.starts_with(only.as_str()))
    });
    let cells: Vec<(Scene, u64)> = scenes
        .flat_map(|scene| SEEDS.map(|seed| (scene.clone(), seed)))
        .collect();
    let mut worst: BTreeMap<String, Measured> = BTreeMap::new();
    for (name, figures) in parallel::map(cells, |(scene, seed)| {
        (scene.name.clone(), scene.play(seed))
    }) {
        worst
            .entry(name)
            .and_modify(|there| *there = there.worst(&figures))
            .or_insert(figures);
    }
    let scenes = worst.into_iter().map(|(name, now)| {
        let before = before.remove(&name);
        (name, Compared { now, before })
    });
    Ok(Health {
        scenes: scenes.collect(),
    })
}
