//! Node selectors, affinity terms and tolerations, compiled to symbols.

use crate::delta::{Constraints, NodeTerm, Operator, Requirement, TaintEffect, Toleration};
use crate::ids::Name;
use crate::world::{NodeRules, NodeTaint, Symbol, Symbols};

/// Where tasks of a class may go and would like to go, by labels and name of the node.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    selector: Vec<(Symbol, Symbol)>,
    required: Option<Vec<Term>>,
    preferred: Vec<(i64, Term)>,
}

#[derive(Clone, Debug)]
struct Term {
    labels: Vec<Test>,
    names: Vec<Test>,
}

#[derive(Clone, Debug)]
struct Test {
    key: Symbol,
    check: Check,
}

#[derive(Clone, Debug)]
enum Check {
    In(Vec<Symbol>),
    NotIn(Vec<Symbol>),
    Exists,
    Absent,
    /// Bounds are exclusive. The labels' values are looked up among those that parse.
    Between {
        above: Option<i64>,
        below: Option<i64>,
    },
}

impl Matcher {
    /// Compiles the constraints of a pod.
    pub fn compile(constraints: &Constraints, symbols: &mut Symbols) -> Self {
        let selector = constraints
            .node_selector
            .iter()
            .map(|(key, value)| (symbols.intern(key), symbols.intern(value)))
            .collect();
        let required = constraints
            .required_affinity
            .as_ref()
            .map(|terms| terms.iter().map(|term| Term::compile(term, symbols)).collect());
        let preferred = constraints
            .preferred_affinity
            .iter()
            .map(|(weight, term)| (i64::from(*weight), Term::compile(term, symbols)))
            .collect();
        Self { selector, required, preferred }
    }

    /// Nodes whose labels meet all requirements; no requirement at all matches nothing.
    pub fn of_labels(requirements: &[Requirement], symbols: &mut Symbols) -> Self {
        let term = NodeTerm { labels: requirements.to_vec(), fields: Vec::new() };
        Self { required: Some(vec![Term::compile(&term, symbols)]), ..Self::default() }
    }

    /// Does any node pass?
    pub fn is_open(&self) -> bool {
        self.selector.is_empty() && self.required.is_none()
    }

    /// May tasks go to the node?
    pub fn admits(&self, node: &NodeRules, symbols: &Symbols) -> bool {
        self.selector.iter().all(|&(key, value)| node.label(key) == Some(value))
            && self
                .required
                .as_ref()
                .is_none_or(|terms| terms.iter().any(|term| term.holds(node, symbols)))
    }

    /// Has the class wishes at all?
    pub fn has_preferences(&self) -> bool {
        !self.preferred.is_empty()
    }

    /// Sum of the weights of the wishes the node fulfils.
    pub fn preference(&self, node: &NodeRules, symbols: &Symbols) -> i64 {
        let fulfilled = self.preferred.iter().filter(|(_, term)| term.holds(node, symbols));
        fulfilled.map(|(weight, _)| weight).sum()
    }
}

impl Term {
    fn compile(term: &NodeTerm, symbols: &mut Symbols) -> Self {
        let mut tests = |requirements: &[Requirement]| {
            requirements.iter().map(|requirement| Test::compile(requirement, symbols)).collect()
        };
        Self { labels: tests(&term.labels), names: tests(&term.fields) }
    }

    fn holds(&self, node: &NodeRules, symbols: &Symbols) -> bool {
        // A term without requirements matches nothing, as in Kubernetes.
        !(self.labels.is_empty() && self.names.is_empty())
            && self.labels.iter().all(|test| test.check.holds(node.label(test.key), symbols))
            && self.names.iter().all(|test| test.check.holds(node.name, symbols))
    }
}

impl Test {
    fn compile(requirement: &Requirement, symbols: &mut Symbols) -> Self {
        let mut values =
            || requirement.values.iter().map(|value| symbols.intern(value)).collect::<Vec<_>>();
        let check = match requirement.operator {
            Operator::In => Check::In(values()),
            Operator::NotIn => Check::NotIn(values()),
            Operator::Exists => Check::Exists,
            Operator::DoesNotExist => Check::Absent,
            Operator::Gt => Check::Between { above: bound(&requirement.values), below: None },
            Operator::Lt => Check::Between { above: None, below: bound(&requirement.values) },
        };
        Self { key: symbols.intern(&requirement.key), check }
    }
}

fn bound(values: &[Name]) -> Option<i64> {
    values.first().and_then(|value| value.parse().ok())
}

impl Check {
    fn holds(&self, value: Option<Symbol>, symbols: &Symbols) -> bool {
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(&value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(&value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            // Without a bound that is a number nothing compares, so nothing matches.
            Self::Between { above: None, below: None } => false,
            Self::Between { above, below } => value
                .and_then(|value| symbols.text(value).parse::<i64>().ok())
                .is_some_and(|number| {
                    above.is_none_or(|bound| number > bound)
                        && below.is_none_or(|bound| number < bound)
                }),
        }
    }
}

/// The taints tasks of a class bear.
#[derive(Clone, Debug, Default)]
pub struct ToleranceSet(Vec<Tolerance>);

#[derive(Clone, Debug)]
struct Tolerance {
    key: Option<Symbol>,
    value: Option<Symbol>,
    effect: Option<TaintEffect>,
}

impl ToleranceSet {
    /// Compiles the tolerations of a pod.
    pub fn compile(tolerations: &[Toleration], symbols: &mut Symbols) -> Self {
        Self(
            tolerations
                .iter()
                .map(|toleration| Tolerance {
                    key: toleration.key.as_ref().map(|key| symbols.intern(key)),
                    value: toleration.value.as_ref().map(|value| symbols.intern(value)),
                    effect: toleration.effect,
                })
                .collect(),
        )
    }

    /// Is the taint tolerated?
    pub fn bears(&self, taint: &NodeTaint) -> bool {
        self.0.iter().any(|tolerance| {
            tolerance.effect.is_none_or(|effect| effect == taint.effect)
                && tolerance.key.is_none_or(|key| key == taint.key)
                && tolerance.value.is_none_or(|value| value == taint.value)
        })
    }

    /// Is the taint of that key, whatever its value, tolerated as `NoSchedule`? Asked for nodes that
    /// are marked unschedulable without carrying the taint.
    pub fn bears_unschedulable(&self, key: Symbol) -> bool {
        self.0.iter().any(|tolerance| {
            tolerance.effect.is_none_or(|effect| effect == TaintEffect::NoSchedule)
                && tolerance.key.is_none_or(|tolerated| tolerated == key)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bed {
        symbols: Symbols,
        node: NodeRules,
    }

    impl Bed {
        fn with_labels(labels: &[(&str, &str)]) -> Self {
            let mut symbols = Symbols::default();
            let mut interned: Vec<_> = labels
                .iter()
                .map(|(key, value)| {
                    (symbols.intern(&(*key).into()), symbols.intern(&(*value).into()))
                })
                .collect();
            interned.sort_unstable();
            let name = Some(symbols.intern(&"n1".into()));
            Self { node: NodeRules { labels: interned, name, ..NodeRules::default() }, symbols }
        }

        fn admits(&mut self, constraints: &Constraints) -> bool {
            let matcher = Matcher::compile(constraints, &mut self.symbols);
            matcher.admits(&self.node, &self.symbols)
        }

        fn meets(&mut self, key: &str, operator: Operator, values: &[&str]) -> bool {
            let values = values.iter().map(|value| Name::from(*value)).collect();
            let requirement = Requirement { key: key.into(), operator, values };
            let labels = NodeTerm { labels: vec![requirement], fields: Vec::new() };
            self.admits(&Constraints {
                required_affinity: Some(vec![labels]),
                ..Constraints::default()
            })
        }
    }

    #[test]
    fn every_operator_does_what_kubernetes_says() {
        let mut bed = Bed::with_labels(&[("zone", "a"), ("cores", "16")]);
        let table = [
            ("zone", Operator::In, &["a", "b"][..], true),
            ("zone", Operator::In, &["b"], false),
            ("rack", Operator::In, &["a"], false),
            ("zone", Operator::NotIn, &["b"], true),
            ("zone", Operator::NotIn, &["a"], false),
            ("rack", Operator::NotIn, &["a"], true),
            ("zone", Operator::Exists, &[], true),
            ("rack", Operator::Exists, &[], false),
            ("rack", Operator::DoesNotExist, &[], true),
            ("zone", Operator::DoesNotExist, &[], false),
            ("cores", Operator::Gt, &["15"], true),
            ("cores", Operator::Gt, &["16"], false),
            ("cores", Operator::Lt, &["17"], true),
            ("cores", Operator::Lt, &["16"], false),
            ("zone", Operator::Gt, &["1"], false),
            ("rack", Operator::Lt, &["1"], false),
        ];
        for (key, operator, values, want) in table {
            assert_eq!(bed.meets(key, operator, values), want, "{key} {operator:?} {values:?}");
        }
    }

    #[test]
    fn any_term_is_enough_and_an_empty_one_matches_nothing() {
        let mut bed = Bed::with_labels(&[("zone", "a")]);
        let term = |value: &str| NodeTerm {
            labels: vec![Requirement {
                key: "zone".into(),
                operator: Operator::In,
                values: vec![value.into()],
            }],
            fields: Vec::new(),
        };
        let with = |terms: Vec<NodeTerm>| Constraints {
            required_affinity: Some(terms),
            ..Constraints::default()
        };
        assert!(bed.admits(&with(vec![term("b"), term("a")])));
        assert!(!bed.admits(&with(vec![term("b"), NodeTerm::default()])));
        assert!(!bed.admits(&with(Vec::new())));
        assert!(bed.admits(&Constraints::default()));
    }

    #[test]
    fn fields_look_at_the_name_of_the_node() {
        let mut bed = Bed::with_labels(&[]);
        let named = |name: &str| Constraints {
            required_affinity: Some(vec![NodeTerm {
                labels: Vec::new(),
                fields: vec![Requirement {
                    key: "metadata.name".into(),
                    operator: Operator::In,
                    values: vec![name.into()],
                }],
            }]),
            ..Constraints::default()
        };
        assert!(bed.admits(&named("n1")));
        assert!(!bed.admits(&named("n2")));
    }

    #[test]
    fn a_toleration_bears_a_taint_by_key_value_and_effect() {
        let mut symbols = Symbols::default();
        let taint = NodeTaint {
            key: symbols.intern(&"gpu".into()),
            value: symbols.intern(&"yes".into()),
            effect: TaintEffect::NoSchedule,
        };
        let table = [
            (Some("gpu"), Some("yes"), Some(TaintEffect::NoSchedule), true),
            (Some("gpu"), Some("yes"), None, true),
            (Some("gpu"), None, None, true),
            (None, None, None, true),
            (Some("gpu"), Some("no"), None, false),
            (Some("cpu"), None, None, false),
            (Some("gpu"), Some("yes"), Some(TaintEffect::NoExecute), false),
        ];
        for (key, value, effect, want) in table {
            let toleration =
                Toleration { key: key.map(Name::from), value: value.map(Name::from), effect };
            let set = ToleranceSet::compile(std::slice::from_ref(&toleration), &mut symbols);
            assert_eq!(set.bears(&taint), want, "{toleration:?}");
        }
        assert!(!ToleranceSet::default().bears(&taint));
    }
}
