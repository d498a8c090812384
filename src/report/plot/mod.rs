//! Plots, written as SVG.

mod axis;
mod bars;
mod curves;
mod ink;
mod marker;
mod strips;
mod svg;
mod trace;
mod words;

pub(crate) use bars::{Bar, BarGroup, bars};
pub(crate) use curves::{Curve, Measure, Point, curves};
pub(crate) use ink::{Ink, all_inks};
pub(crate) use strips::{Dot, Strip, strips};
pub(crate) use svg::{Plot, escape};
pub(crate) use trace::trace;

/// Most lines in one plot: as many as there are inks for them.
pub(crate) const MOST_CURVES: usize = 8;
