//! The same check on a GPU. Nodes with many located neighbours, and those where a descent gains more than the tolerance, the GPU
//! leaves to the host, with their neighbours.

use super::globe::Direction;
use super::{
    Asking, Check, GeoCheck, MOST, NEVER, Oracle, TOGETHER, WORK, check_lengths, share, stretches,
};
use crate::device::DeviceBuffer;
use crate::device::kernels::arcs::Rows;
use crate::device::kernels::check_geo::{EarlierArgs, GeoArgs, LONG, Oracle as Found, OracleArgs};
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen, prefix_sums};
use bytemuck::Zeroable;
use rayon::prelude::*;
use std::time::Instant;

/// Nodes from which the host descends, at most; with more of them it checks everything.
const MOST_LEFT: u64 = 1 << 18;
/// Nodes that are listed for the oracle, at most: hashes deviate from their share by less.
const MOST_ASKED: u64 = MOST + (1 << 16);

impl Checker<'_> {
    /// What [`super::geo`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn geo(
        &self,
        graph: &Graph,
        given: [&[f64]; 2],
        answer: [&[f64]; 2],
        wave: &[u32],
        waves: Option<u32>,
        tolerance: f64,
    ) -> Result<GeoCheck> {
        check_lengths(graph, given, answer, wave)?;
        let limit = waves.unwrap_or(NEVER - 1);
        let check = Check { graph, given, answer, wave, limit, tolerance, at: Vec::new() };
        self.certify(
            Some(graph),
            |gpu| on_gpu(gpu, &check),
            || super::geo(graph, given, answer, wave, waves, tolerance),
        )
    }
}

fn on_gpu(gpu: &Gpu, check: &Check<'_>) -> Result<Seen<GeoCheck>> {
    let (begin, graph) = (Instant::now(), check.graph);
    let nodes = graph.nodes();
    let longs = (graph.arcs() / u64::from(LONG)) as usize + 1;
    // Places that are given and found, waves, directions, numbers of neighbours; lists.
    let lists = 4 * longs as u64 + 8 * (MOST_LEFT + MOST_ASKED) + 16 * TOGETHER;
    let arcs = gpu.arcs(graph, false, 80 * nodes as u64 + lists)?;
    let Some(rows) = arcs.as_ref().and_then(|arcs| arcs.all()) else { return Ok(Seen::NoRoom) };
    let [given_north, given_east] = check.given;
    let [north, east] = check.answer;
    let degrees = [given_north, given_east, north, east].map(|part| gpu.copy("degrees", part));
    let [given_north, given_east, north, east] = degrees;
    let (given_north, given_east, north, east) = (given_north?, given_east?, north?, east?);
    let wave = gpu.copy("waves", check.wave)?;
    let at = gpu.alloc::<f64>("directions", 4 * nodes)?;
    let earlier = gpu.alloc::<u32>("earlier neighbours", nodes)?;
    let longs = gpu.alloc::<u32>("long rows", longs)?;
    let doubtful = gpu.alloc::<u64>("doubtful nodes", nodes)?;
    let left = gpu.alloc::<u64>("nodes to descend from", MOST_LEFT as usize)?;
    let asked = gpu.alloc::<u64>("nodes to ask about", MOST_ASKED as usize)?;
    let lengths = gpu.alloc::<u64>("lengths of lists", 4)?;
    let findings = gpu.findings()?;
    let args = GeoArgs {
        rows,
        given_north: given_north.pointer(),
        given_east: given_east.pointer(),
        north: north.pointer(),
        east: east.pointer(),
        wave: wave.pointer(),
        at: at.pointer(),
        earlier: earlier.pointer(),
        longs: longs.pointer(),
        doubtful: doubtful.pointer(),
        asked: asked.pointer(),
        left: left.pointer(),
        lengths: lengths.pointer(),
        findings: findings.pointer(),
        tolerance: check.tolerance,
        limit: check.limit,
        most_doubtful: nodes as u32,
        most_left: MOST_LEFT as u32,
        most_asked: MOST_ASKED as u32,
        ..GeoArgs::zeroed()
    };
    let kernel = |name| gpu.function("check_geo.cu", name);
    gpu.over_nodes(kernel("check_geo_places")?, nodes as u64, &args)?;
    // A warp a row, a block a long row.
    gpu.over_nodes(kernel("check_geo_rows")?, 32 * nodes as u64, &args)?;
    gpu.over(kernel("check_geo_long_rows")?, longs.len() as u64, 1, &args)?;
    let found = findings.element(0)?;
    if found.wrong != 0 {
        return Ok(Seen::Wrong);
    }
    let mut seen = GeoCheck {
        given: found.reached,
        located: found.arcs,
        checked: found.others,
        waves: found.most as u32,
        ..GeoCheck::default()
    };
    let args = GeoArgs { share: share(&seen), ..args };
    gpu.over_nodes(kernel("check_geo_descents")?, 32 * lengths.element(1)?, &args)?;
    gpu.over_nodes(kernel("check_geo_asked")?, nodes as u64, &args)?;
    let lengths = lengths.to_vec()?;
    if lengths[3] > MOST_LEFT || lengths[2] > MOST_ASKED {
        return Ok(Seen::NoRoom);
    }
    let listed = |list: &DeviceBuffer<u64>, length: u64| -> Result<Vec<Asking>> {
        let nodes = list.part(0..length as usize)?.into_par_iter();
        let one = |one: u64| Asking::new((one >> 32) as u32, one & u64::from(u32::MAX));
        Ok(nodes.map(one).collect())
    };
    let bring = Bring { gpu, check, rows, wave };
    if !bring.are_minima(&listed(&left, lengths[3])?)? {
        return Ok(Seen::Wrong);
    }
    let asked = listed(&asked, lengths[2])?;
    check.medians(&mut seen, WORK, asked, |batch| bring.least(&args, batch))?;
    seen.ms = begin.elapsed().as_secs_f64() * 1e3;
    Ok(Seen::Right(seen))
}

/// Brings located neighbours to the host.
struct Bring<'a> {
    gpu: &'a Gpu<'a>,
    check: &'a Check<'a>,
    rows: Rows,
    wave: DeviceBuffer<u32>,
}

impl Bring<'_> {
    /// Whether descents from all of these nodes gain no more than the tolerance.
    fn are_minima(&self, nodes: &[Asking]) -> Result<bool> {
        for part in stretches(nodes) {
            let gains = |(one, near): (&Asking, Vec<Direction>)| {
                self.check.descends(one.node as usize, near).is_some()
            };
            if part.par_iter().zip(self.near(part)?).any(gains) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The least sums of `nodes`: from the GPU where a warp has room for their neighbours.
    fn least(&self, args: &GeoArgs, nodes: &[Asking]) -> Result<Vec<Oracle>> {
        let listed: Vec<u64> =
            nodes.iter().map(|one| u64::from(one.node) << 32 | one.neighbors).collect();
        let listed = self.gpu.copy("nodes", &listed)?;
        let found = self.gpu.alloc::<Found>("least sums", nodes.len())?;
        let count = nodes.len() as u64;
        let args = OracleArgs { g: *args, nodes: listed.pointer(), found: found.pointer(), count };
        let kernel = self.gpu.function("check_geo.cu", "check_geo_oracle")?;
        self.gpu.over_nodes(kernel, 32 * count, &args)?;
        let found = found.to_vec()?;
        let large = |found: &Found| found.neighbors == 0;
        let others = nodes.iter().zip(&found).filter(|(_, found)| large(found));
        let others: Vec<Asking> = others.map(|(one, _)| *one).collect();
        let mut others = self.check.search(&others, |part| self.near(part))?.into_iter();
        let of = |found: &Found| {
            let Found { sum, least, x, y, z, work, .. } = *found;
            Oracle { sum, least, median: [x, y, z], work }
        };
        // One for each that the GPU left out.
        let one = |found: &Found| if large(found) { others.next() } else { Some(of(found)) };
        Ok(found.iter().filter_map(one).collect())
    }

    /// The located neighbours of each of `nodes`, one for each arc.
    fn near(&self, nodes: &[Asking]) -> Result<Vec<Vec<Direction>>> {
        let begins = prefix_sums(nodes.iter().map(|one| one.neighbors).collect());
        let nodes: Vec<u32> = nodes.iter().map(|one| one.node).collect();
        let total = begins[nodes.len()] as usize;
        let to = self.gpu.alloc::<u32>("located neighbours", total)?;
        let (on_device, device_begins) =
            (self.gpu.copy("nodes", &nodes)?, self.gpu.copy("their neighbours", &begins)?);
        let args = EarlierArgs {
            rows: self.rows,
            wave: self.wave.pointer(),
            nodes: on_device.pointer(),
            begins: device_begins.pointer(),
            to: to.pointer(),
            count: nodes.len() as u64,
        };
        let kernel = self.gpu.function("check_geo.cu", "check_geo_earlier")?;
        self.gpu.over_nodes(kernel, 32 * args.count, &args)?;
        let to = to.to_vec()?;
        let near = |pair: &[u64]| {
            let others = &to[pair[0] as usize..pair[1] as usize];
            others.iter().map(|v| self.check.direction(*v as usize)).collect()
        };
        Ok(begins.par_windows(2).map(near).collect())
    }
}
