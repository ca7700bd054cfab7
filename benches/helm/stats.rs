//! Medians and ratios.

use std::time::{Duration, Instant};

/// Returns the time that `run` takes, and what it returns.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed(), result)
}

/// Returns the middle one; the list must not be empty.
pub(crate) fn median<T: Ord + Copy>(times: &mut [T]) -> T {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How many times faster, or smaller, statectl is, chart by chart.
#[derive(Default)]
pub(crate) struct Ratios(Vec<f64>);

impl Ratios {
    /// Notes Helm's number and that of statectl, and returns their ratio.
    pub(crate) fn add(&mut self, helm: f64, own: f64) -> f64 {
        self.0.push(helm / own);
        helm / own
    }

    /// Prints the distribution.
    pub(crate) fn print(&mut self, title: &str) {
        self.0.sort_unstable_by(f64::total_cmp);
        let Self(all) = self;
        let (Some(least), Some(most)) = (all.first(), all.last()) else {
            println!("{title}: nothing to compare");
            return;
        };
        let at = |part: usize| all[(all.len() - 1) * part / 10];
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let mean = (all.iter().map(|ratio| ratio.ln()).sum::<f64>() / all.len() as f64).exp();
        println!(
            "{title}: geometric mean {mean:.2} × (min {least:.2}, p10 {:.2}, median {:.2}, p90 {:.2}, max {most:.2}; {} charts)",
            at(1),
            at(5),
            at(9),
            all.len()
        );
    }
}

/// Prints the sum of times of both, for scale.
pub(crate) fn print_sums(title: &str, helm: Duration, own: Duration) {
    println!("{title}: Helm {:.1} ms, statectl {:.1} ms", helm.as_secs_f64() * 1e3, own.as_secs_f64() * 1e3);
}
