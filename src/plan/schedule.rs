//! When each release of a run starts: what it waits for, and how many go side by side.
//!
//! [`schedule`] makes the turns, once, at plan time. [`Schedule`] walks through them while the run goes on: it is a
//! function of the turns and of what has ended, so the same run gives the same schedule.

use std::collections::{BTreeMap, BTreeSet};

use super::input::{PlanInput, Wanted};
use super::order::{self, Node};
use super::reason::Reason;
use super::{Action, ReleasePlan};
use crate::model::ReleaseKey;

/// The place of a release in the order of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The release.
    pub release: ReleaseKey,
    /// The batch that shows it, from 0.
    pub batch: usize,
    /// How many of the turns before it have to end first, counted from the first one: those of lower priorities and,
    /// for a removal, everything that is not one.
    pub gate: usize,
    /// Turns that have to end first besides, by their place.
    pub after: Vec<usize>,
}

/// The order of a run.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The layers, as they are shown.
    pub(super) batches: Vec<Vec<ReleaseKey>>,
    /// The same releases in the same order, with what each waits for.
    pub(super) turns: Vec<Turn>,
    /// What went wrong: circles, which the file was refused for already.
    pub(super) notes: Vec<String>,
}

/// Returns the order of the releases with something to do. Removals come last, in reverse order unless the file says
/// otherwise: what others needed goes after them.
pub(super) fn schedule(input: &PlanInput, releases: &[ReleasePlan]) -> Order {
    let by_key: BTreeMap<&ReleaseKey, &Wanted> =
        input.wanted.iter().map(|wanted| (&wanted.release.key, wanted)).collect();
    let nodes = |removal: bool| -> Vec<Node> {
        let chosen = releases
            .iter()
            .filter(|plan| plan.action.is_change() && (plan.action == Action::Uninstall) == removal);
        chosen
            .map(|plan| Node {
                key: plan.key.clone(),
                priority: by_key.get(&plan.key).map_or(0, |wanted| wanted.release.priority),
                needs: plan.needs.clone(),
            })
            .collect()
    };
    let mut order = Order::default();
    order.append(&nodes(false), false);
    order.append(&nodes(true), input.reverse_removals);
    order
}

impl Order {
    /// Adds releases after those that are there.
    fn append(&mut self, nodes: &[Node], reverse: bool) {
        let mut layers = match order::batches(nodes) {
            Ok(layers) => layers,
            Err(cycle) => {
                // A plan without an order still has to be total.
                self.notes.push(cycle.to_string());
                nodes.iter().map(|node| vec![node.key.clone()]).collect()
            }
        };
        if reverse {
            layers.reverse();
        }
        let node_of: BTreeMap<&ReleaseKey, &Node> = nodes.iter().map(|node| (&node.key, node)).collect();
        let first = self.turns.len();
        let place: BTreeMap<&ReleaseKey, usize> =
            layers.iter().flatten().enumerate().map(|(at, key)| (key, first + at)).collect();
        // Who waits for whom: the needing release for the needed one, and the other way round where things go.
        let mut after: BTreeMap<&ReleaseKey, BTreeSet<usize>> = BTreeMap::new();
        for node in nodes {
            for need in node.needs.iter().filter(|need| place.contains_key(need)) {
                let (later, earlier) = if reverse { (need, &node.key) } else { (&node.key, need) };
                // A circle has edges that lead back: they cannot hold.
                if place[earlier] < place[later] {
                    after.entry(later).or_default().insert(place[earlier]);
                }
            }
        }
        // The layers of one priority are next to each other, since each waits for all of the priority before it.
        let mut gate = first;
        let mut tier = None;
        for (batch, layer) in layers.iter().enumerate() {
            for key in layer {
                let priority = node_of.get(key).map(|node| node.priority);
                if tier.is_some() && tier != priority {
                    gate = place[key];
                }
                tier = priority;
                let after = after.remove(key).unwrap_or_default();
                self.turns.push(Turn {
                    release: key.clone(),
                    batch: self.batches.len() + batch,
                    gate,
                    after: after.into_iter().filter(|at| *at >= gate).collect(),
                });
            }
        }
        self.batches.extend(layers);
    }
}

/// A run on its way through the turns.
#[derive(Debug)]
pub struct Schedule<'a> {
    turns: &'a [Turn],
    state: Vec<State>,
    /// Every turn before this one has ended.
    ended_up_to: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Ended,
}

impl<'a> Schedule<'a> {
    /// Returns a run in which nothing has started.
    pub fn new(turns: &'a [Turn]) -> Self {
        Self { turns, state: vec![State::Waiting; turns.len()], ended_up_to: 0 }
    }

    /// Starts the first turn that waits for nothing any more, and returns its place; nothing if there is none now.
    pub fn start(&mut self) -> Option<usize> {
        let may = |at: &usize| {
            let turn = &self.turns[*at];
            self.state[*at] == State::Waiting
                && turn.gate <= self.ended_up_to
                && turn.after.iter().all(|before| self.state[*before] == State::Ended)
        };
        let at = (self.ended_up_to..self.turns.len()).find(may)?;
        self.state[at] = State::Running;
        Some(at)
    }

    /// Notes that a turn has ended, however it did.
    pub fn end(&mut self, at: usize) {
        self.state[at] = State::Ended;
        while self.state.get(self.ended_up_to) == Some(&State::Ended) {
            self.ended_up_to += 1;
        }
    }
}

/// A release whose prerequisite is blocked is planned all the same, and says that it will be skipped.
pub(super) fn mark_dependants_of_blocked(releases: &mut [ReleasePlan]) {
    let mut stuck: BTreeSet<ReleaseKey> =
        releases.iter().filter(|plan| plan.action == Action::Blocked).map(|plan| plan.key.clone()).collect();
    // Each round reaches one level further; no level is left after as many rounds as there are releases.
    for _ in 0..releases.len() {
        let mut found = Vec::new();
        for plan in
            releases.iter_mut().filter(|plan| plan.action.is_change() && plan.action != Action::Uninstall)
        {
            let Some(need) = plan.needs.iter().find(|need| stuck.contains(need)) else { continue };
            let reason = Reason::WaitsForBlocked { release: need.clone() };
            if !plan.reasons.contains(&reason) && !stuck.contains(&plan.key) {
                plan.reasons.push(reason);
                found.push(plan.key.clone());
            }
        }
        if found.is_empty() {
            return;
        }
        stuck.extend(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(at: usize) -> ReleaseKey {
        ReleaseKey::new("n", format!("r{at:02}"))
    }

    /// Nodes without circles: a need has a lower number, and no higher priority.
    fn nodes(count: usize, edges: &[(usize, usize)], priorities: &[i64]) -> Vec<Node> {
        let node = |at: usize| Node {
            key: key(at),
            priority: priorities[at],
            needs: edges
                .iter()
                .filter(|(from, to)| *from == at && to < from && priorities[*to] <= priorities[at])
                .map(|(_, to)| key(*to))
                .collect(),
        };
        (0..count).map(node).collect()
    }

    /// How a run went, in events counted from 1.
    struct Simulated {
        started: Vec<usize>,
        ended: Vec<usize>,
        /// For each moment with a free place, what had not started.
        idle: Vec<(usize, Vec<usize>)>,
    }

    /// Runs the schedule with `parallel` places; `pick` says which of the running ones ends next.
    fn simulate(turns: &[Turn], parallel: usize, pick: &[usize]) -> Simulated {
        let mut schedule = Schedule::new(turns);
        let (mut started, mut ended) = (vec![0; turns.len()], vec![0; turns.len()]);
        let mut running: Vec<usize> = Vec::new();
        let mut idle = Vec::new();
        let mut now = 0;
        for step in 0.. {
            while running.len() < parallel {
                let Some(at) = schedule.start() else { break };
                now += 1;
                started[at] = now;
                running.push(at);
            }
            if running.is_empty() {
                break;
            }
            if running.len() < parallel {
                idle.push((now, (0..turns.len()).filter(|at| started[*at] == 0).collect()));
            }
            let at = running.remove(pick[step % pick.len()] % running.len());
            now += 1;
            ended[at] = now;
            schedule.end(at);
        }
        Simulated { started, ended, idle }
    }

    fn order_of(nodes: &[Node], reverse: bool) -> Order {
        let mut order = Order::default();
        order.append(nodes, reverse);
        order
    }

    #[test]
    fn a_slow_release_holds_only_what_waits_for_it() {
        // 1 needs 0, 3 needs 2; when 2 ends while 0 still runs, 3 starts.
        let nodes = nodes(4, &[(1, 0), (3, 2)], &[0; 4]);
        let order = order_of(&nodes, false);
        let place = |at: usize| order.turns.iter().position(|turn| turn.release == key(at)).unwrap();
        let mut schedule = Schedule::new(&order.turns);
        assert_eq!(
            [schedule.start(), schedule.start(), schedule.start()],
            [Some(place(0)), Some(place(2)), None]
        );
        schedule.end(place(2));
        assert_eq!([schedule.start(), schedule.start()], [Some(place(3)), None]);
        schedule.end(place(0));
        assert_eq!(schedule.start(), Some(place(1)));
    }

    #[test]
    fn removals_wait_for_everything_else_and_go_in_reverse() {
        let mut order = order_of(&nodes(2, &[(1, 0)], &[0; 2]), false);
        let gone: Vec<Node> = nodes(3, &[(1, 0), (2, 0)], &[0; 3])
            .into_iter()
            .map(|node| Node {
                key: ReleaseKey::new("old", &node.key.name),
                needs: node.needs.iter().map(|need| ReleaseKey::new("old", &need.name)).collect(),
                ..node
            })
            .collect();
        order.append(&gone, true);
        let told: Vec<(String, usize, usize, Vec<usize>)> = order
            .turns
            .iter()
            .map(|turn| (turn.release.to_string(), turn.batch, turn.gate, turn.after.clone()))
            .collect();
        let expected = [
            ("n/r00", 0, 0, vec![]),
            ("n/r01", 1, 0, vec![0]),
            ("old/r01", 2, 2, vec![]),
            ("old/r02", 2, 2, vec![]),
            ("old/r00", 3, 2, vec![2, 3]),
        ];
        assert_eq!(told, expected.map(|(name, batch, gate, after)| (name.to_owned(), batch, gate, after)));
    }

    proptest! {
        #[test]
        fn nothing_starts_early_and_no_place_stays_empty(
            edges in proptest::collection::vec((0usize..12, 0usize..12), 0..30),
            priorities in proptest::collection::vec(-1i64..2, 12),
            parallel in 1usize..6,
            pick in proptest::collection::vec(0usize..6, 1..8),
            reverse in any::<bool>(),
        ) {
            let nodes = nodes(12, &edges, &priorities);
            let order = order_of(&nodes, reverse);
            prop_assert!(order.notes.is_empty());
            prop_assert_eq!(&order.turns, &order_of(&nodes, reverse).turns, "the same input gives the same turns");
            let Simulated { started, ended, idle } = simulate(&order.turns, parallel, &pick);
            let at = |wanted: &ReleaseKey| order.turns.iter().position(|turn| turn.release == *wanted).unwrap();
            let node = |turn: usize| nodes.iter().find(|node| node.key == order.turns[turn].release).unwrap();
            // What a release waits for, told anew from the nodes: the needs, and every lower priority.
            let waits = |turn: usize| -> Vec<usize> {
                (0..12).filter(|other| {
                    let (later, earlier) = if reverse { (node(*other), node(turn)) } else { (node(turn), node(*other)) };
                    later.needs.contains(&earlier.key) || earlier.priority < later.priority
                }).collect()
            };
            for turn in 0..12 {
                prop_assert!(started[turn] > 0 && ended[turn] > started[turn], "each runs once");
                for before in waits(turn) {
                    prop_assert!(ended[before] < started[turn], "{} started early", order.turns[turn].release);
                }
                let batch = order.batches.iter().position(|batch| batch.contains(&order.turns[turn].release));
                prop_assert_eq!(batch, Some(order.turns[turn].batch));
                prop_assert_eq!(at(&order.turns[turn].release), turn, "each has one turn");
            }
            // Wherever a place was free, whatever had not started was waiting for something that had not ended.
            for (moment, waiting) in &idle {
                for turn in waiting {
                    let held = waits(*turn).iter().any(|before| ended[*before] > *moment);
                    prop_assert!(held, "{} could have started", order.turns[*turn].release);
                }
            }
        }
    }
}
