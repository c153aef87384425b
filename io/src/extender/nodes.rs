//! Which node: whether a pod may run there, and how good it would be.
//!
//! The server knows pods and nodes, a plugin is asked about a class of pods and many nodes. One pod of
//! the class stands for all of them. Nodes without room are not asked about, as in Volcano; they are
//! once they have some. A score counts for a node as it is: when the node changes, the server is asked
//! for that node again and not for all others.

use muster_core::class::Class;
use muster_core::policy::{FilterPlugin, Pairing, SCORE_SCALE, ScorePlugin, ScoreScale};
use muster_core::resource::Lanes;
use muster_core::world::{Exclusion, Obstacle};
use serde_json::Value;

use super::Extender;
use super::answer::{Predicate, Prioritize};
use super::payload::{self, NodeTasks};
use super::round::{Round, fingerprint, locked};
use super::settings::Verb;

/// Points beyond which a score is no better or worse.
const POINTS_MAX: f64 = 1e6;
/// Longest text of the server's that is shown.
const TEXT_MAX: usize = 200;

/// A row the server is asked about, as it is told of it.
struct Told {
    row: usize,
    node: Value,
}

impl FilterPlugin for Extender {
    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        let round = self.round();
        let Some(example) = round.examples.get(&pairing.class.id) else { return };
        let open = |row: &usize| !exclusions[*row].is_closed() && has_room(pairing, *row);
        let rows: Vec<usize> = (0..pairing.nodes.len()).filter(open).collect();
        if rows.is_empty() {
            return;
        }
        let mut told = tell(&round, pairing, rows);
        if self.scores_decide() {
            let scores = self.scores(&round, pairing, example, &told);
            for (told, _) in told.iter().zip(&scores).filter(|(_, score)| score.is_none()) {
                exclusions[told.row].raise(Obstacle::Unanswered);
            }
            let mut scores = scores.into_iter();
            told.retain(|_| scores.next().flatten().is_some());
        }
        if self.settings.has(Verb::Predicate) {
            self.judge(&round, pairing.class, example, &told, exclusions);
        }
    }

    fn remark(&self, class: &Class) -> Option<String> {
        self.round().refusal(class.id)
    }
}

impl ScorePlugin for Extender {
    fn score(&self, pairing: &Pairing<'_>, _: ScoreScale, scores: &mut [i64]) {
        let round = self.round();
        let Some(example) = round.examples.get(&pairing.class.id) else { return };
        let rows = (0..pairing.nodes.len()).filter(|&row| has_room(pairing, row)).collect();
        let told = tell(&round, pairing, rows);
        for (told, score) in told.iter().zip(self.scores(&round, pairing, example, &told)) {
            let sum = &mut scores[told.row];
            *sum = sum.saturating_add(score.unwrap_or(0));
        }
    }

    /// Asks about all nodes at once; what it hears is remembered.
    fn measure(&self, pairing: &Pairing<'_>) -> ScoreScale {
        self.score(pairing, ScoreScale::NONE, &mut vec![0; pairing.nodes.len()]);
        ScoreScale::NONE
    }
}

impl Extender {
    /// Asks of each row whether the class may run there.
    fn judge(
        &self,
        round: &Round,
        class: &Class,
        example: &str,
        told: &[Told],
        exclusions: &mut [Exclusion],
    ) {
        let body = |told: &Told| format!("{{\"task\":{example},\"node\":{}}}", told.node);
        let bodies = told.iter().map(body).collect();
        let answers = round.ask::<Predicate>(self.way(), Verb::Predicate, bodies);
        for (told, answer) in told.iter().zip(answers) {
            let (obstacle, remark) = match &answer {
                Ok(answer) => match answer.refusal() {
                    None => continue,
                    Some((why, for_good)) => {
                        let kind =
                            if for_good { Obstacle::RefusedForGood } else { Obstacle::Refused };
                        (kind, format!("it says: {}", shown(why)))
                    }
                },
                Err(_) if !self.refuses() => continue,
                Err(why) => (Obstacle::Unanswered, why.clone()),
            };
            exclusions[told.row].raise(obstacle);
            round.hold_back();
            round.note_refusal(class.id, remark);
        }
    }

    /// The scores of rows; none of those for which there is no answer.
    fn scores(
        &self,
        round: &Round,
        pairing: &Pairing<'_>,
        example: &str,
        told: &[Told],
    ) -> Vec<Option<i64>> {
        let class = pairing.class.id;
        let key = |told: &Told| {
            let look = fingerprint(&told.node.to_string(), 0);
            (class, pairing.nodes.entities[told.row], look)
        };
        let keys: Vec<_> = told.iter().map(key).collect();
        let known: Vec<_> = {
            let scores = locked(&round.scores);
            keys.iter().map(|key| scores.get(key).copied()).collect()
        };
        let open: Vec<&Told> =
            told.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|it| it.0).collect();
        let mut fresh = self.fresh_scores(round, pairing, example, &open).into_iter();
        let mut scores = locked(&round.scores);
        let all = keys.into_iter().zip(known);
        all.map(|(key, known)| {
            known.unwrap_or_else(|| *scores.entry(key).or_insert(fresh.next().flatten()))
        })
        .collect()
    }

    /// The same of rows that are asked about for the first time as they are.
    fn fresh_scores(
        &self,
        round: &Round,
        pairing: &Pairing<'_>,
        example: &str,
        told: &[&Told],
    ) -> Vec<Option<i64>> {
        if told.is_empty() {
            return Vec::new();
        }
        let nodes: Vec<String> = told.iter().map(|told| told.node.to_string()).collect();
        let body = format!("{{\"task\":{example},\"nodes\":[{}]}}", nodes.join(","));
        let answer = round.ask_one::<Prioritize>(self.way(), Verb::Prioritize, body);
        let mut scores = match answer.and_then(Prioritize::scores) {
            Ok(scores) => scores,
            Err(why) => {
                round.note_trouble(&why);
                if self.refuses() {
                    round.hold_back();
                    round.note_refusal(pairing.class.id, shown(&why));
                }
                return vec![None; told.len()];
            }
        };
        let name = |told: &&Told| pairing.nodes.identities[told.row].name.clone();
        let of_rows = told.iter().map(|told| Some(scores.remove(&*name(told)).map_or(0, in_parts)));
        let of_rows = of_rows.collect();
        if let Some(stranger) = scores.keys().next() {
            let more = "of which it was not asked; that counts for nothing";
            round.note_trouble(&format!("{} scores node {stranger:?}, {more}", self.who()));
        }
        of_rows
    }
}

/// What the server is told of rows.
fn tell(round: &Round, pairing: &Pairing<'_>, rows: Vec<usize>) -> Vec<Told> {
    let node =
        |row| payload::node(&round.names, pairing.symbols, &pairing.nodes, row, NodeTasks::Untold);
    rows.into_iter().map(|row| Told { row, node: node(row) }).collect()
}

/// Is there room on the row for one of the class, now or later, or is some held there, perhaps for it?
fn has_room(pairing: &Pairing<'_>, row: usize) -> bool {
    let nodes = &pairing.nodes;
    let held = nodes.pipelined[row] != Lanes::ZERO || !nodes.tails[row].pipelined.is_empty();
    nodes.identities[row].present && (held || pairing.class.request.fits(&nodes.future(row)))
}

/// A score in parts of a point.
fn in_parts(points: f64) -> i64 {
    (points.clamp(-POINTS_MAX, POINTS_MAX) * SCORE_SCALE as f64).round() as i64
}

/// A text of the server's, in one line and not without end.
pub(super) fn shown(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(TEXT_MAX).collect()
}
