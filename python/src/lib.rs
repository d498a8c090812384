//! The module `hivegraph._core`: graphs, runs and what they answer. The package in `python/hivegraph/` is what people use.

mod answer;
mod arrays;
mod copies;
mod dlpack;
mod error;
mod fleets;
mod graph;
mod lambda;
mod order;
mod place;
mod stage;
mod wait;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::answer::{Answer, Column};
    #[pymodule_export]
    use crate::copies::Copies;
    #[pymodule_export]
    use crate::fleets::close;
    #[pymodule_export]
    use crate::graph::{Graph, run_on_array};
    #[pymodule_export]
    use crate::lambda::Lambda;
    #[pymodule_export]
    use crate::order::{bfs_order, leaving_order, meeting_path};
    #[pymodule_export]
    use crate::place::Place;

    use hivegraph::run::{WORKLOADS, Workload};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    /// What there is to run: for each workload a dict of its name, aliases, what it is, whether it can leave its answer on a GPU,
    /// whether it wants a graph, and its options as (name, kind of value, what it is, group).
    #[pyfunction]
    fn workloads(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let command = hivegraph::cli::command();
        let run = command.find_subcommand("run");
        let described = |workload: &Workload| {
            let own = PyDict::new(py);
            own.set_item("name", workload.name)?;
            own.set_item("aliases", workload.aliases.to_vec())?;
            own.set_item("about", workload.about)?;
            own.set_item("leaves", workload.leaves)?;
            own.set_item("of_graph", workload.takes_shared_option("graph"))?;
            let mut options = Vec::new();
            for arg in run
                .and_then(|run| run.find_subcommand(workload.name))
                .into_iter()
                .flat_map(|command| command.get_arguments())
                .filter(|arg| !arg.is_hide_set())
            {
                let Some(name) = arg.get_long() else { continue };
                let value = arg.get_value_names().and_then(|names| names.first());
                options.push((
                    name.to_string(),
                    value.map(ToString::to_string).unwrap_or_default(),
                    arg.get_help().map(ToString::to_string).unwrap_or_default(),
                    arg.get_help_heading().unwrap_or_default().to_string(),
                ));
            }
            own.set_item("options", options)?;
            Ok(own)
        };
        WORKLOADS.iter().map(described).collect()
    }

    /// What `hive doctor` finds, as text.
    #[pyfunction]
    fn doctor(py: Python<'_>) -> PyResult<String> {
        crate::wait::wait(py, || Ok(hivegraph::cli::doctor_report()))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
