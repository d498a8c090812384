//! Reading results back: records of ours and of HIVE's phase 2, alone or in folders and archives, and what
//! follows from many of them: families, speed-ups, means, ablations, comparisons.

mod ablation;
mod case;
mod compare;
mod family;
mod fields;
mod means;
mod published;
mod read;
mod record;
mod set;
mod settings;

pub use crate::algorithm::Spread;
pub(crate) use crate::algorithm::{median_reset, median_run};
pub use ablation::{Ablation, AblationRow, ablations};
pub use case::{Case, Done, Iteration, Outcome, Scaling, Split, Times};
pub use compare::{Comparison, Pair, RatioMean, compare};
pub use family::{Family, Kind, Member, families};
pub use means::{Mean, geometric_mean, means};
pub use published::published_tables;
pub use read::read;
pub(crate) use record::median_split;
pub use set::ResultSet;
pub use settings::{Known, Settings};
