//! All workloads.

use super::workload::Workload;
use super::{
    bc, bfs, cc, cdlp, closeness, cluster, distances, filter, geo, hops, katz, kcore, lcc, leiden,
    louvain, mst, pagerank, ppr, project, sample, scan, scc, similar, sssp, triangles, vn, walk,
};

/// One line a workload. Subcommands, help, configuration keys, checks, the sweep, records, summaries and
/// `hive estimate` follow from it.
pub static WORKLOADS: &[Workload] = &[
    Workload::new::<vn::Vn>(),
    Workload::new::<sssp::Sssp>(),
    Workload::new::<geo::Geo>(),
    Workload::new::<bfs::Bfs>(),
    Workload::new::<cc::Cc>(),
    Workload::new::<scc::Scc>(),
    Workload::new::<cdlp::Cdlp>(),
    Workload::new::<louvain::Louvain>(),
    Workload::new::<leiden::Leiden>(),
    Workload::new::<cluster::LocalClustering>(),
    Workload::new::<kcore::Kcore>(),
    Workload::new::<triangles::TriangleCounting>(),
    Workload::new::<lcc::Lcc>(),
    Workload::new::<scan::Scan>(),
    Workload::new::<similar::Similarity>(),
    Workload::new::<project::BipartiteProjection>(),
    Workload::new::<mst::Mst>(),
    Workload::new::<filter::Filter>(),
    Workload::new::<bc::Bc>(),
    Workload::new::<closeness::ClosenessCentrality>(),
    Workload::new::<hops::HopMatrix>(),
    Workload::new::<distances::WeightMatrix>(),
    Workload::new::<pagerank::PageRank>(),
    Workload::new::<ppr::PersonalPagerank>(),
    Workload::new::<katz::Katz>(),
    Workload::new::<walk::RandomWalk>(),
    Workload::new::<sample::NeighborSampling>(),
];

/// The workload of a sweep that names none.
pub(crate) const DEFAULT: &str = <sssp::Sssp as super::Algorithm>::NAME;

/// The workload of that name or alias.
pub fn workload(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name || w.aliases.contains(&name))
}
