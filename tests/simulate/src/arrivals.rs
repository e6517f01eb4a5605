//! Task arrivals.

use std::time::Duration;

use fastrand::Rng;

/// Length of a tick. All arrivals in a tick are created together.
pub(crate) const TICK: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// Independent arrivals at this average rate per second, during `lasting`.
    Poisson { per_second: f64, lasting: Duration },
    /// Healthy tasks in the first tick and poison tasks in the second, which makes the poison tasks
    /// the newest.
    Poisoned { healthy: usize, poison: usize },
    /// One task every `interval` during `lasting`, plus `tasks` more in the tick that starts at `at`.
    Burst {
        interval: Duration,
        lasting: Duration,
        at: Duration,
        tasks: usize,
    },
}

impl Arrivals {
    /// Returns the tasks of each tick. True marks a poison task.
    pub(crate) fn batches(self, seed: u64) -> Vec<Vec<bool>> {
        match self {
            Self::Poisson {
                per_second,
                lasting,
            } => {
                let mut rng = Rng::with_seed(seed ^ 0x0a44_17a1);
                let ticks = lasting.as_millis() / TICK.as_millis();
                let mean = per_second * TICK.as_secs_f64();
                (0..ticks)
                    .map(|_| vec![false; poisson(&mut rng, mean)])
                    .collect()
            }
            Self::Poisoned { healthy, poison } => vec![vec![false; healthy], vec![true; poison]],
            Self::Burst {
                interval,
                lasting,
                at,
                tasks,
            } => {
                let ticks = |time: Duration| time.as_millis() / TICK.as_millis();
                (0..ticks(lasting))
                    .map(|tick| {
                        let steady = usize::from(tick % ticks(interval) == 0);
                        let burst = if tick == ticks(at) { tasks } else { 0 };
                        vec![false; steady + burst]
                    })
                    .collect()
            }
        }
    }
}

/// Draws a number from the Poisson distribution with Knuth's multiplication of uniform numbers,
/// which suits small means.
fn poisson(rng: &mut Rng, mean: f64) -> usize {
    let limit = (-mean).exp();
    let mut product = rng.f64();
    let mut count = 0;
    while product > limit {
        product *= rng.f64();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_match_their_rate_and_are_identical_for_the_same_seed() {
        let arrivals = Arrivals::Poisson {
            per_second: 16.0,
            lasting: Duration::from_secs(1_000),
        };
        let count = |seed| arrivals.batches(seed).iter().map(Vec::len).sum::<usize>();
        assert!((15_500..16_500).contains(&count(1)), "{}", count(1));
        assert_eq!(arrivals.batches(7), arrivals.batches(7));
        assert_ne!(arrivals.batches(7), arrivals.batches(8));
    }
}
