//! Random agents and calls.

use super::mode::Mode;

const LANGUAGES: [&str; 3] = ["English", "French", "Spanish"];
const GENDERS: [&str; 2] = ["F", "M"];

/// The agents, and the criteria of the calls.
pub(super) struct Crowd {
    pub(super) people: Vec<Person>,
    pub(super) wishes: Vec<Wish>,
}

#[derive(Clone, Debug)]
pub(super) struct Person {
    pub(super) name: String,
    /// The agent's languages, at least one.
    pub(super) languages: Vec<&'static str>,
    pub(super) gender: &'static str,
}

/// The criteria of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) language: &'static str,
    pub(super) gender: &'static str,
}

impl Crowd {
    /// Draws agents that speak one to three languages, and calls that want one language and gender.
    pub(super) fn draw(mode: Mode, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let person = |number: usize, random: &mut fastrand::Rng| {
            let spoken = random.u8(1..1 << LANGUAGES.len());
            let languages = LANGUAGES.into_iter().enumerate();
            Person {
                name: format!("agent-{number:04}"),
                languages: languages
                    .filter(|(bit, _)| spoken & (1 << bit) != 0)
                    .map(|(_, language)| language)
                    .collect(),
                gender: GENDERS[number % GENDERS.len()],
            }
        };
        let wish = |random: &mut fastrand::Rng| Wish {
            language: LANGUAGES[random.usize(..LANGUAGES.len())],
            gender: GENDERS[random.usize(..GENDERS.len())],
        };
        Self {
            people: (0..mode.agents()).map(|n| person(n, &mut random)).collect(),
            wishes: (0..mode.calls()).map(|_| wish(&mut random)).collect(),
        }
    }
}

impl Wish {
    /// Returns the criteria in canonical form, which is the call's message group.
    pub(super) fn group(self) -> String {
        format!("{}#{}", self.language, self.gender)
    }
}
