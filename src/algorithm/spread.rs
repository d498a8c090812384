//! Median, extremes and mean of repeated timings.

use super::measure::{Measured, RunTime};

/// How repeated runs spread, in milliseconds. With no runs all are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Spread {
    /// The middle run, or the mean of the two middle ones.
    pub median: f64,
    /// The fastest.
    pub min: f64,
    /// The slowest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Spread {
    /// Of these values, in any order.
    pub fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        Spread {
            median: (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
            min: sorted[0],
            max: sorted[n - 1],
            mean: sorted.iter().sum::<f64>() / n as f64,
        }
    }

    /// Of the total times of the timed runs.
    pub fn of_runs(measured: &Measured) -> Spread {
        let totals: Vec<f64> = measured.runs.iter().map(|run| run.total_ms).collect();
        Spread::of(&totals)
    }
}

/// The middle reset before a run, ms.
pub(crate) fn median_reset(measured: &Measured) -> f64 {
    let resets: Vec<f64> = measured.runs.iter().map(|run| run.reset_ms).collect();
    Spread::of(&resets).median
}

/// The run whose split stands for all: the (lower) middle one by total time.
pub(crate) fn median_run(measured: &Measured) -> RunTime {
    let mut runs = measured.runs.clone();
    runs.sort_by(|a, b| a.total_ms.total_cmp(&b.total_ms));
    runs.get(runs.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_of_runs_is_the_mean_of_the_middle_two() {
        let spread = Spread::of(&[4.0, 1.0, 2.0, 9.0]);
        assert_eq!(spread, Spread { median: 3.0, min: 1.0, max: 9.0, mean: 4.0 });
        assert_eq!(Spread::of(&[5.0, 1.0, 2.0]).median, 2.0);
    }

    #[test]
    fn no_runs_spread_to_zero_rather_than_to_nan() {
        assert_eq!(Spread::of(&[]), Spread::default());
        assert_eq!(median_run(&Measured::default()).total_ms, 0.0);
    }
}
