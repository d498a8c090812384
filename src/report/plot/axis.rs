//! Scales from values to pixels, and where their ticks are.

/// Values on a stretch of pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub log: bool,
    /// Least and greatest value.
    pub values: (f64, f64),
    /// Where they lie.
    pub pixels: (f32, f32),
}

impl Axis {
    /// Where a value lies; what is outside lies at the end.
    pub(super) fn at(&self, value: f64) -> f32 {
        let of = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let (low, high) = (of(self.values.0), of(self.values.1));
        let share = if high > low { (of(value) - low) / (high - low) } else { 0.5 };
        self.pixels.0 + (self.pixels.1 - self.pixels.0) * share.clamp(0.0, 1.0) as f32
    }
}

/// Powers of 2 (or of 4, 16, ...) that enclose the values: at most some nine.
pub(crate) fn powers(least: f64, most: f64) -> Vec<f64> {
    let (mut low, mut high) = (least.log2().floor() as i32, most.log2().ceil() as i32);
    if low == high {
        (low, high) = (low - 1, high + 1);
    }
    let step = ((high - low) as f64 / 8.0).ceil().max(1.0) as i32;
    let low = low.div_euclid(step) * step;
    let high = -(-high).div_euclid(step) * step;
    (low..=high).step_by(step as usize).map(|power| 2f64.powi(power)).collect()
}

/// Powers of 10 that enclose the values, every second, third, ... where there are many.
pub(crate) fn decades(least: f64, most: f64) -> Vec<f64> {
    let (low, high) = (least.log10().floor() as i32, (most.log10().ceil() as i32).max(1));
    let (low, high) = if low == high { (low, high + 1) } else { (low, high) };
    let step = ((high - low) as f64 / 5.0).ceil().max(1.0) as i32;
    let high = low + (high - low + step - 1) / step * step;
    (low..=high).step_by(step as usize).map(|power| 10f64.powi(power)).collect()
}

/// Round numbers from 0 to at least `most`.
pub(crate) fn round(most: f64) -> Vec<f64> {
    let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
    let unit = 10f64.powf((most / 4.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * unit).into_iter().find(|s| most / s <= 5.0);
    let step = step.unwrap_or(10.0 * unit);
    (0..=(most / step - 1e-9).ceil() as i32).map(|i| f64::from(i) * step).collect()
}

/// Of these numbers of replicas, those to write under an axis: powers of 2 first, then what has room.
pub(crate) fn spaced(numbers: &[u64], axis: &Axis, room: f32) -> Vec<u64> {
    let mut order: Vec<u64> = numbers.to_vec();
    order.sort_by_key(|n| (!n.is_power_of_two(), *n));
    let mut kept: Vec<u64> = Vec::new();
    for n in order {
        let free = |other: &u64| (axis.at(*other as f64) - axis.at(n as f64)).abs() >= room;
        if kept.iter().all(free) {
            kept.push(n);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_enclose_the_values_and_are_few() {
        for (least, most) in [(0.006, 16.0), (1.0, 1.0), (0.9, 2.1), (1.0, 8.0)] {
            let ticks = powers(least, most);
            assert!(ticks[0] <= least && ticks[ticks.len() - 1] >= most, "{ticks:?}");
            assert!((2..=10).contains(&ticks.len()), "{ticks:?}");
        }
        for most in [0.003, 1.0, 1.83, 99.0, 104.0] {
            let ticks = round(most);
            assert!(
                ticks[ticks.len() - 1] >= most && (2..=7).contains(&ticks.len()),
                "{most}: {ticks:?}"
            );
        }
        for (least, most) in [(1.0, 1.0), (1.0, 1e9), (3.0, 700.0)] {
            let ticks = decades(least, most);
            assert!(
                ticks[0] <= least && ticks[ticks.len() - 1] >= most && ticks.len() <= 7,
                "{ticks:?}"
            );
        }
    }

    #[test]
    fn numbers_under_an_axis_do_not_touch() {
        let axis = Axis { log: true, values: (1.0, 16.0), pixels: (0.0, 300.0) };
        let kept = spaced(&(1..=16).collect::<Vec<_>>(), &axis, 24.0);
        assert!([1, 2, 4, 8, 16].iter().all(|n| kept.contains(n)), "{kept:?}");
        assert!(kept.contains(&3) && !kept.contains(&15), "{kept:?}");
    }
}
