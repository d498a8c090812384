//! What a distance is kept in.

use crate::collective::Element;

/// A distance: f32, or f64 where f32 does not hold the sums. Sums are taken forward from the source, to nearest.
pub(crate) trait Length: Element {
    /// Not reached.
    const INFINITE: Self;
    /// Distance 0.
    const ZERO: Self;

    /// The distance over an arc of `weight` from here.
    fn plus(self, weight: f32) -> Self;

    /// A threshold `delta` further on; the next number at least, also where `delta` is lost in rounding.
    fn ahead(self, delta: f64) -> Self;

    /// Whether a seed reaches the node.
    fn is_reached(self) -> bool {
        self < Self::INFINITE
    }
}

impl Length for f32 {
    const INFINITE: f32 = f32::INFINITY;
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn plus(self, weight: f32) -> f32 {
        self + weight
    }

    fn ahead(self, delta: f64) -> f32 {
        (self + delta as f32).max(self.next_up())
    }
}

impl Length for f64 {
    const INFINITE: f64 = f64::INFINITY;
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn plus(self, weight: f32) -> f64 {
        self + f64::from(weight)
    }

    fn ahead(self, delta: f64) -> f64 {
        (self + delta).max(self.next_up())
    }
}
