//! Requirements on labels and fields, as selectors and affinities have them.

use crate::ids::Name;

/// One term of a node affinity: all of its requirements must hold; an empty term matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTerm {
    /// Requirements on labels.
    pub labels: Vec<Requirement>,
    /// Requirements on fields; Kubernetes knows `metadata.name` only.
    pub fields: Vec<Requirement>,
}

/// `key operator values`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    /// Label key or field name.
    pub key: Name,
    /// How the values are compared.
    pub operator: Operator,
    /// The values, as given.
    pub values: Vec<Name>,
}

impl Requirement {
    /// Does the value of the key, if it has one, meet the requirement?
    pub fn holds(&self, value: Option<&Name>) -> bool {
        let number = |text: Option<&Name>| text.and_then(|text| text.parse::<i64>().ok());
        let bound = number(self.values.first());
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => number(value).zip(bound).is_some_and(|(number, bound)| number > bound),
            Operator::Lt => number(value).zip(bound).is_some_and(|(number, bound)| number < bound),
        }
    }
}

/// Operator of a [`Requirement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// The value is one of those given.
    In,
    /// The key is absent or its value is none of those given.
    NotIn,
    /// The key is present.
    Exists,
    /// The key is absent.
    DoesNotExist,
    /// The value is an integer greater than the one given.
    Gt,
    /// The value is an integer less than the one given.
    Lt,
}
