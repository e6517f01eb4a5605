//! Sample agents for trying out the queue. Not for production.

use std::collections::BTreeSet;

use crate::dimension::Dimensions;
use crate::name::Value;
use crate::profile::Profile;

const FIRST_NAMES: [&str; 10] = [
    "Ana", "Ben", "Chloe", "David", "Elena", "Felix", "Grace", "Hugo", "Irene", "Jonas",
];

/// Last names of the sample agents: enough for 500 different full names.
const LAST_NAMES: [&str; 51] = [
    "Adams", "Baker", "Carter", "Dubois", "Evans", "Fischer", "Garcia", "Hughes", "Ivanov",
    "Jensen", "Keller", "Lopez", "Martin", "Nguyen", "Olsen", "Perez", "Quinn", "Ruiz", "Silva",
    "Torres", "Ueda", "Vargas", "Weber", "Xu", "Young", "Zhang", "Allen", "Brown", "Costa", "Diaz",
    "Egan", "Flores", "Gruber", "Haas", "Ito", "Jones", "Kim", "Lang", "Moreau", "Novak", "Ortiz",
    "Petit", "Rossi", "Sato", "Tanaka", "Urban", "Vogel", "Wagner", "Yilmaz", "Zimmer", "Abel",
];

const LANGUAGES: [&str; 3] = ["English", "Spanish", "French"];

const GENDERS: [&str; 2] = ["F", "M"];

/// Maximum number of sample agents per command.
pub const MAX_SEED: u32 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    #[error(
        "command seed: sample agents are disabled; register real agents, or, outside production, set the queue's `seed` prop"
    )]
    Off,
    #[error(
        "command seed supports only the default dimensions, language and gender; create agents with command register"
    )]
    Dimensions,
}

/// Returns names and profiles of sample agents. Each agent speaks two of three languages, and
/// genders alternate, so five agents are enough to open all six queues.
///
/// # Errors
/// [`SeedError`] if the dimensions are not the default ones.
pub fn agents(count: u32, dimensions: &Dimensions) -> Result<Vec<(String, Profile)>, SeedError> {
    if *dimensions != Dimensions::default() {
        return Err(SeedError::Dimensions);
    }
    Ok((0..count as usize).map(agent).collect())
}

fn agent(number: usize) -> (String, Profile) {
    let language = |shift: usize| LANGUAGES[(number / 2 + shift) % LANGUAGES.len()];
    let languages = [language(0), language(1)].map(Value::from_stored);
    let gender = Value::from_stored(GENDERS[number % GENDERS.len()]);
    let profile = Profile::new(vec![BTreeSet::from(languages), BTreeSet::from([gender])]);
    // The list lengths have no common factor, so all pairs occur before one repeats.
    let first = FIRST_NAMES[number % FIRST_NAMES.len()];
    let last = LAST_NAMES[number % LAST_NAMES.len()];
    (format!("{first} {last}"), profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_agents_have_unique_names() {
        let agents = agents(MAX_SEED, &Dimensions::default()).unwrap();
        let names: BTreeSet<_> = agents.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), MAX_SEED as usize);
        assert!(names.iter().all(|name| name.contains(' ')), "{names:?}");
    }
}
