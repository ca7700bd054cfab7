//! The graph of `needs`: finds circles.

use std::collections::HashMap;

/// More circles than this are not worth reading, and in a dense graph their number explodes.
const MOST_CIRCLES: usize = 20;

/// Returns the first circles of a graph, each once, as the nodes on it in order; none only if there is none.
/// `edges[n]` are the nodes that `n` needs. Works without recursion, so the length of a chain does not matter.
pub(super) fn circles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut state = vec![State::New; edges.len()];
    let mut found = Vec::new();
    for start in 0..edges.len() {
        if state[start] != State::New {
            continue;
        }
        // The path from `start`, and for each node on it the next edge to follow.
        let mut path = vec![(start, 0)];
        let mut on_path = HashMap::from([(start, 0)]);
        state[start] = State::Open;
        while let Some((node, next)) = path.last_mut() {
            let Some(&target) = edges[*node].get(*next) else {
                state[*node] = State::Done;
                on_path.remove(node);
                path.pop();
                continue;
            };
            *next += 1;
            match state[target] {
                State::New => {
                    state[target] = State::Open;
                    on_path.insert(target, path.len());
                    path.push((target, 0));
                }
                State::Open if found.len() < MOST_CIRCLES => {
                    let from = on_path.get(&target).copied().unwrap_or(0);
                    found.push(path[from..].iter().map(|(node, _)| *node).collect());
                }
                State::Open | State::Done => {}
            }
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[&[usize]], expected: &[&[usize]]) {
        let edges: Vec<Vec<usize>> = edges.iter().map(|targets| targets.to_vec()).collect();
        assert_eq!(circles(&edges), expected);
    }

    #[test]
    fn circles_are_found_once_each() {
        check(&[], &[]);
        check(&[&[1], &[2], &[]], &[]);
        check(&[&[1, 2], &[2], &[]], &[]);
        check(&[&[0]], &[&[0]]);
        check(&[&[1], &[2], &[0]], &[&[0, 1, 2]]);
        check(&[&[1], &[0], &[3], &[2]], &[&[0, 1], &[2, 3]]);
        check(&[&[1], &[2], &[1]], &[&[1, 2]]);
    }

    #[test]
    fn a_very_long_chain_is_no_problem() {
        let edges: Vec<Vec<usize>> = (0..200_000).map(|n| vec![(n + 1) % 200_000]).collect();
        assert_eq!(circles(&edges).len(), 1);
    }
}
