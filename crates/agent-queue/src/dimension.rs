//! The dimensions by which agents are chosen. They are configuration, not code.
//!
//! An agent has one value for a dimension (gender), or multiple values if the dimension is
//! multi-valued (the languages that the agent speaks, the types of request that the agent knows). A
//! queued agent is in one queue per combination of these values.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value as Json;

use crate::criteria::{Criteria, QueueName};
use crate::name::Value;
use crate::profile::Profile;
use crate::schema;

/// Maximum number of dimensions. Their values form a message group id of at most 128 characters.
pub const MAX_DIMENSIONS: usize = 5;

/// Maximum number of items in one DynamoDB transaction
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>).
pub const MAX_TRANSACTION: usize = 100;

/// Number of items that the largest transaction contains besides the agent's queue entries: the
/// agent, the call, its position in the line, the call lease and the assignment to publish. The
/// largest transaction matches a pending call.
pub const ITEMS_BESIDE_QUEUES: usize = 5;

/// Maximum number of queues per agent. An agent has one queue per combination of its values in all
/// dimensions.
pub const MAX_QUEUES: usize = MAX_TRANSACTION - ITEMS_BESIDE_QUEUES;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dimension {
    /// Name in commands and criteria, for example `language`.
    pub name: String,
    /// Attribute in the table, for example `Languages`.
    pub attribute: String,
    #[serde(default)]
    pub multi_valued: bool,
}

/// All dimensions, in the order of their values in a queue's name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<Dimension>")]
pub struct Dimensions(Vec<Dimension>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDimensions {
    #[error("{0} dimensions are given; give 1 to {MAX_DIMENSIONS}")]
    Count(usize),
    #[error(
        "dimension {name:?}: give it a name and an attribute of letters and digits, each used once, and none of the table's own ({})",
        schema::RESERVED.join(", ")
    )]
    Name { name: String },
}

/// An invalid profile, or invalid criteria. The message names the field and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributeError {
    #[error("field {path}.{name} is not a dimension; the dimensions are {known}")]
    Unknown {
        /// Invalid field: `attributes` or `criteria`.
        path: &'static str,
        name: String,
        known: String,
    },
    #[error("field {path}.{name} is missing; every dimension requires a value")]
    Missing {
        /// Invalid field: `attributes` or `criteria`.
        path: &'static str,
        name: String,
    },
    #[error("field {path}.{name} {fault}")]
    Wrong {
        /// Invalid field: `attributes` or `criteria`.
        path: &'static str,
        name: String,
        fault: String,
    },
    #[error(
        "field {path}: {counts} make {queues} queues; a match changes an item for each and \
         {ITEMS_BESIDE_QUEUES} others, which makes {}, and DynamoDB changes at most \
         {MAX_TRANSACTION} in one transaction; give values that make at most {MAX_QUEUES} queues",
        queues.saturating_add(ITEMS_BESIDE_QUEUES)
    )]
    TooMany {
        path: &'static str,
        /// The multi-valued dimensions, each with its number of values.
        counts: String,
        queues: usize,
    },
}

impl TryFrom<Vec<Dimension>> for Dimensions {
    type Error = InvalidDimensions;

    fn try_from(dimensions: Vec<Dimension>) -> Result<Self, InvalidDimensions> {
        if dimensions.is_empty() || dimensions.len() > MAX_DIMENSIONS {
            return Err(InvalidDimensions::Count(dimensions.len()));
        }
        let plain = |text: &str| {
            !text.is_empty() && text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphanumeric())
        };
        let (mut names, mut attributes) = (BTreeSet::new(), BTreeSet::new());
        for dimension in &dimensions {
            let name = dimension.name.clone();
            let usable = plain(&dimension.name)
                && plain(&dimension.attribute)
                && !schema::RESERVED.contains(&dimension.attribute.as_str())
                && names.insert(&dimension.name)
                && attributes.insert(&dimension.attribute);
            if !usable {
                return Err(InvalidDimensions::Name { name });
            }
        }
        Ok(Self(dimensions))
    }
}

impl Default for Dimensions {
    /// Returns the dimensions of the published algorithm: multiple languages and one gender.
    fn default() -> Self {
        let dimension = |name: &str, attribute: &str, multi_valued| Dimension {
            name: name.to_owned(),
            attribute: attribute.to_owned(),
            multi_valued,
        };
        Self(vec![
            dimension("language", "Languages", true),
            dimension("gender", "Gender", false),
        ])
    }
}

impl Dimensions {
    pub fn all(&self) -> &[Dimension] {
        &self.0
    }

    /// Parses an agent's attributes: a list of texts for each multi-valued dimension, one text for
    /// each other dimension.
    pub fn profile(&self, attributes: &BTreeMap<String, Json>) -> Result<Profile, AttributeError> {
        const PATH: &str = "attributes";
        self.known(PATH, attributes)?;
        let read = |dimension: &Dimension| {
            let name = &dimension.name;
            let given = attributes
                .get(name)
                .ok_or_else(|| AttributeError::Missing {
                    path: PATH,
                    name: name.clone(),
                })?;
            match dimension.multi_valued {
                true => values(PATH, name, given),
                false => value(PATH, name, given).map(|one| BTreeSet::from([one])),
            }
        };
        let profile: Vec<_> = self.0.iter().map(read).collect::<Result<_, _>>()?;
        // Check the number of queues before building their names.
        let queues = profile.iter().fold(1_usize, |queues, values| {
            queues.saturating_mul(values.len())
        });
        if queues > MAX_QUEUES {
            let several = std::iter::zip(&self.0, &profile).filter(|(is, _)| is.multi_valued);
            let counts = several.map(|(is, values)| format!("{} {}", values.len(), is.name));
            return Err(AttributeError::TooMany {
                path: PATH,
                counts: counts.collect::<Vec<_>>().join(" × "),
                queues,
            });
        }
        Ok(Profile::new(profile))
    }

    /// Parses criteria: one text per dimension. A dimension that is omitted or null matches every
    /// agent.
    pub fn criteria(&self, fields: &BTreeMap<String, Json>) -> Result<Criteria, AttributeError> {
        const PATH: &str = "criteria";
        self.known(PATH, fields)?;
        let wanted = self.0.iter().map(|dimension| {
            let name = &dimension.name;
            let given = fields.get(name).filter(|given| !given.is_null());
            given.map(|given| value(PATH, name, given)).transpose()
        });
        Ok(Criteria::new(wanted.collect::<Result<_, _>>()?))
    }

    /// Returns criteria that match every agent.
    pub(crate) fn any(&self) -> Criteria {
        Criteria::new(vec![None; self.0.len()])
    }

    /// Returns the queues of an agent, one per combination of its values.
    pub fn queues(&self, profile: &Profile) -> Vec<QueueName> {
        let combinations = profile.combinations().into_iter();
        combinations.map(QueueName::new).collect()
    }

    fn known(
        &self,
        path: &'static str,
        given: &BTreeMap<String, Json>,
    ) -> Result<(), AttributeError> {
        let unknown = |name: &&String| self.0.iter().all(|dimension| dimension.name != **name);
        let Some(name) = given.keys().find(unknown) else {
            return Ok(());
        };
        let names: Vec<_> = self.0.iter().map(|d| d.name.as_str()).collect();
        Err(AttributeError::Unknown {
            path,
            name: name.clone(),
            known: names.join(", "),
        })
    }
}

fn value(path: &'static str, name: &str, given: &Json) -> Result<Value, AttributeError> {
    let wrong = |fault: String| AttributeError::Wrong {
        path,
        name: name.to_owned(),
        fault,
    };
    let text = given
        .as_str()
        .ok_or_else(|| wrong(format!("is {given}; give one string")))?;
    Value::new(text).map_err(|fault| wrong(fault.to_string()))
}

fn values(path: &'static str, name: &str, given: &Json) -> Result<BTreeSet<Value>, AttributeError> {
    let list = given.as_array().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| AttributeError::Wrong {
        path,
        name: name.to_owned(),
        fault: format!("is {given}; give a list of one or more strings"),
    })?;
    list.iter().map(|given| value(path, name, given)).collect()
}

#[cfg(test)]
mod tests;
