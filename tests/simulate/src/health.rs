//! Imperfect downstreams, outages and quiet queues: what each scene costs in freshness, attempts
//! and calls.

mod downstreams;
mod measure;
mod scenes;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use self::measure::Measured;
use self::scenes::Scene;
use crate::parallel;

/// Seeds of each scene. Each figure is the worst of them.
const SEEDS: [u64; 2] = [1, 2];

/// Content of `health.json`.
#[derive(Serialize)]
pub(crate) struct Health {
    scenes: BTreeMap<String, Measured>,
}

/// Simulates every scene.
pub(crate) fn scenes() -> Health {
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
    Health { scenes: worst }
}
