//! What workloads need of a GPU's memory.

use crate::layout::memory::{DeviceArray, GraphShape, placed, total};
use crate::layout::{Form, Placement};
use crate::results::grouped;
use crate::run::{WORKLOADS, Workload};
use crate::table::Table;
use crate::units::bytes;
use serde::Serialize;
use serde_json::Map;

/// Device memory of one workload on one replica.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Need {
    pub workload: &'static str,
    /// Bytes in all, without the CUDA context.
    pub bytes: u64,
    pub arrays: Vec<DeviceArray>,
}

/// What each workload on a graph needs on each of `world` replicas under `placement`, of a graph that has the
/// shape `shape` in the workload's form.
pub(crate) fn needs(
    shape: &dyn Fn(Form) -> GraphShape,
    world: usize,
    placement: Placement,
) -> Vec<Need> {
    let need = |workload: &Workload| {
        if workload.form == Form::Array {
            return None;
        }
        let arrays = workload.of.arrays(&shape(workload.form), &Map::new(), world);
        let arrays = placed(arrays, placement, world);
        Some(Need { workload: workload.name, bytes: total(&arrays), arrays })
    };
    WORKLOADS.iter().filter_map(need).collect()
}

/// A row a workload, its largest arrays named; arrays of one label are taken together.
pub(crate) fn needs_table(needs: &[Need]) -> Table {
    let mut table = Table::new(&["workload", "a GPU", "most of it"], &[0, 2]);
    for need in needs {
        let groups = grouped(&need.arrays, |array| array.label);
        let all = |arrays: &Vec<&DeviceArray>| arrays.iter().map(|array| array.bytes).sum::<u64>();
        let mut groups: Vec<_> =
            groups.iter().map(|arrays| (arrays[0].label, arrays.len(), all(arrays))).collect();
        groups.sort_by_key(|(.., all)| std::cmp::Reverse(*all));
        let named = groups.iter().take(3).map(|(label, many, all)| match many {
            1 => format!("{label} {}", bytes(*all)),
            many => format!("{label} ({many} arrays) {}", bytes(*all)),
        });
        table.row([need.workload.into(), bytes(need.bytes), named.collect::<Vec<_>>().join(", ")]);
    }
    table
}
