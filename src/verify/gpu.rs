//! Where answers are checked: on a GPU of the fleet, against the input's arcs in its memory, or on the host.
//!
//! A GPU says whether an answer is right, and what the host would have found then. The host is asked where the GPU has no room,
//! and where the answer is wrong: to name the node and the value that belongs there. The kernels are in `kernels/verify/`.

use crate::device::kernels::arcs::{Findings, Rows, THREADS, TILE};
use crate::device::{DeviceBuffer, DeviceCsr, Function, Side};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::generate::{DeviceArcs, Drawn};
use crate::graph::{Graph, milliseconds};
use bytemuck::{Pod, Zeroable};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Device memory that is left alone.
const RESERVE: u64 = 64 << 20;
/// Arcs of a part, at least, where not all fit: with fewer the host is faster.
const FEWEST: u64 = 1 << 22;
/// Arcs of a part that is drawn, at most; and device bytes that one takes, keys and columns.
const DRAWN: u64 = 1 << 31;
const DRAWN_BYTES: u64 = 22;

/// Who checks answers.
#[derive(Default)]
pub struct Checker<'f> {
    gpu: Option<Gpu<'f>>,
    /// Whether the host has checked something.
    by_host: Cell<bool>,
}

/// What a GPU says of an answer.
pub(super) enum Seen<T> {
    Right(T),
    Wrong,
    NoRoom,
}

impl<'f> Checker<'f> {
    /// The host alone.
    pub fn host() -> Checker<'f> {
        Checker::default()
    }

    /// The first GPU of `fleet`, if it has any. `kept` says where the arcs of the graph are, if not on the host.
    ///
    /// # Errors
    /// [`Error::Machine`] when the fleet has failed.
    pub(crate) fn of(fleet: &'f Fleet, kept: Option<DeviceArcs>) -> Result<Checker<'f>> {
        let (input, drawn) = match kept {
            Some(DeviceArcs::Rows(rows)) => (rows.into_iter().next(), None),
            Some(DeviceArcs::Drawn(drawn)) => (None, Some(drawn)),
            None => (None, None),
        };
        let gpu = fleet.side()?.map(|side| Gpu {
            side,
            input: RefCell::new(input),
            drawn: drawn.map(|drawn| (fleet, drawn)),
            copy_ms: Cell::new(0.0),
        });
        Ok(Checker { gpu, by_host: Cell::new(false) })
    }

    /// Where answers were checked so far.
    pub fn place(&self) -> String {
        match &self.gpu {
            Some(gpu) if !self.by_host.get() => gpu.side.info().device.clone(),
            _ => "host".into(),
        }
    }

    /// Milliseconds in which the input was copied to the GPU.
    pub fn copy_ms(&self) -> f64 {
        self.gpu.as_ref().map_or(0.0, |gpu| gpu.copy_ms.get())
    }

    /// What the host finds, where no GPU checks such answers.
    pub(crate) fn by_host<T>(&self, check: impl FnOnce() -> Result<T>) -> Result<T> {
        self.by_host.set(true);
        check()
    }

    /// What the GPU finds, or the host where the GPU cannot say; that looks at the arcs of `graph`, if there is one.
    pub(super) fn certify<T>(
        &self,
        graph: Option<&Graph>,
        on_gpu: impl FnOnce(&Gpu) -> Result<Seen<T>>,
        on_host: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let on_host = || {
            graph.map_or(Ok(()), Graph::load)?;
            on_host()
        };
        let Some(gpu) = &self.gpu else { return on_host() };
        gpu.side.bind()?;
        match on_gpu(gpu)? {
            Seen::Right(found) => Ok(found),
            Seen::NoRoom => self.by_host(on_host),
            Seen::Wrong => {
                on_host()?;
                let place = &gpu.side.info().device;
                Err(Error::Verify(format!(
                    "{place} finds the answer wrong, and the host finds it right; report it"
                )))
            }
        }
    }
}

/// A GPU that checks, and the input in its memory.
pub(super) struct Gpu<'f> {
    side: Side,
    input: RefCell<Option<Arc<DeviceCsr>>>,
    /// A graph whose arcs are nowhere, and the fleet whose first GPU draws them.
    drawn: Option<(&'f Fleet, Arc<Drawn>)>,
    copy_ms: Cell<f64>,
}

impl Gpu<'_> {
    /// A zeroed array.
    pub fn alloc<T: Pod>(&self, label: &str, length: usize) -> Result<DeviceBuffer<T>> {
        self.side.alloc(label, length)
    }

    /// An array with these values.
    pub fn copy<T: Pod>(&self, label: &str, values: &[T]) -> Result<DeviceBuffer<T>> {
        self.side.copy(label, values)
    }

    /// `[nodes]` the place of each node's id among all ids; `None` where ids rise with nodes.
    pub fn ranks(&self, graph: &Graph) -> Result<Option<DeviceBuffer<u32>>> {
        if graph.names_rise() {
            return Ok(None);
        }
        let ranks: Vec<u32> = (0..graph.nodes() as u32).map(|v| graph.rank(v)).collect();
        self.copy("ranks of ids", &ranks).map(Some)
    }

    pub fn findings(&self) -> Result<DeviceBuffer<Findings>> {
        self.alloc("findings", 1)
    }

    pub fn function(&self, source: &'static str, kernel: &'static str) -> Result<Function> {
        self.function_with(source, "", kernel)
    }

    /// A kernel that is compiled with `option`.
    pub fn function_with(
        &self,
        source: &'static str,
        option: &'static str,
        kernel: &'static str,
    ) -> Result<Function> {
        self.side.function(source, option, kernel)
    }

    /// Bytes that arrays can have.
    pub fn room(&self) -> Result<u64> {
        Ok(self.side.room()?.saturating_sub(RESERVE))
    }

    /// Queues a kernel whose blocks take so many items at a time.
    pub fn over<A: Pod>(&self, kernel: Function, items: u64, each: u32, args: &A) -> Result<()> {
        self.side.launch(kernel, items, [each, THREADS], args)
    }

    /// Queues a kernel that strides over nodes, or other items.
    pub fn over_nodes<A: Pod>(&self, kernel: Function, items: u64, args: &A) -> Result<()> {
        self.side.launch(kernel, items, [THREADS, THREADS], args)
    }

    /// The warps of such a kernel.
    pub fn warps_over_nodes(&self, items: u64) -> usize {
        (self.side.blocks(items, [THREADS, THREADS]) * THREADS / 32) as usize
    }

    /// Queues a kernel that goes over the arcs of `rows`.
    pub fn over_arcs<A: Pod>(&self, kernel: Function, rows: &Rows, args: &A) -> Result<()> {
        self.side.launch(kernel, rows.stop - rows.begin, [TILE, THREADS], args)
    }

    /// The arcs of `graph`, with weights or without, beside which `scratch` bytes are needed; `None` where there is no room.
    /// What fits stays for the next answer.
    pub fn arcs<'a>(
        &'a self,
        graph: &'a Graph,
        weights: bool,
        scratch: u64,
    ) -> Result<Option<Arcs<'a>>> {
        let weights = weights && graph.is_weighted();
        let fits = |csr: &&Arc<DeviceCsr>| csr.has_weights() || !weights;
        if let Some(csr) = self.input.borrow().as_ref().filter(fits) {
            let free = self.side.room()?.saturating_sub(RESERVE);
            return Ok((scratch <= free).then(|| Arcs::Whole { csr: csr.clone(), weights }));
        }
        self.input.replace(None);
        let (nodes, arcs) = (graph.nodes(), graph.arcs());
        let own = 8 * (nodes as u64 + 1) + scratch;
        let free = self.side.room()?.saturating_sub(RESERVE);
        if let Some((fleet, drawn)) = self.drawn.as_ref().filter(|_| !weights) {
            return self.drawn(graph, (*fleet, drawn), free.saturating_sub(own));
        }
        let each = if weights { 8 } else { 4 };
        let most = free.saturating_sub(own) / each;
        if most < arcs.min(FEWEST) {
            return Ok(None);
        }
        let length = most.min(arcs) as usize;
        let begin = Instant::now();
        let csr = DeviceCsr {
            offsets: self.copy("row offsets", graph.offsets())?,
            columns: self.alloc("columns", length)?,
            weights: weights.then(|| self.alloc("weights", length)).transpose()?,
            pair_key: None,
            nodes: nodes as u64,
            arcs: length as u64,
        };
        let part = Arcs::Parts { gpu: self, graph, csr };
        if (length as u64) < arcs {
            return Ok(Some(part));
        }
        let Arcs::Parts { csr, .. } = &part else { return Ok(None) };
        fill(csr, graph, 0, arcs)?;
        self.copy_ms.set(self.copy_ms.get() + milliseconds(begin));
        let Arcs::Parts { csr, .. } = part else { return Ok(None) };
        let csr = Arc::new(csr);
        self.input.replace(Some(csr.clone()));
        Ok(Some(Arcs::Whole { csr, weights }))
    }
}

impl Gpu<'_> {
    /// The arcs of a graph that is drawn, in parts that take at most so many bytes.
    fn drawn<'a>(
        &'a self,
        graph: &'a Graph,
        (fleet, drawn): (&'a Fleet, &'a Arc<Drawn>),
        bytes: u64,
    ) -> Result<Option<Arcs<'a>>> {
        let keys = (bytes / DRAWN_BYTES).min(DRAWN);
        if keys < graph.arcs().min(FEWEST) {
            return Ok(None);
        }
        let shared = drawn.clone();
        let parts = fleet.alone(move |r| match r.leads() {
            true => shared.parts(r, keys).map(Some),
            false => Ok(None),
        })?;
        let parts = parts.into_iter().flatten().next().unwrap_or_default();
        let most = parts.iter().map(|(_, arcs)| *arcs).max().unwrap_or(0);
        if most > keys {
            return Ok(None);
        }
        let csr = DeviceCsr {
            offsets: self.copy("row offsets", graph.offsets())?,
            columns: self.alloc("columns", most as usize)?,
            weights: None,
            pair_key: None,
            nodes: graph.nodes() as u64,
            arcs: most,
        };
        Ok(Some(Arcs::Drawn { gpu: self, fleet, drawn, graph, parts, csr: Arc::new(csr) }))
    }
}

/// Copies the arcs from `begin` to `stop` to the front of `csr`.
fn fill(csr: &DeviceCsr, graph: &Graph, begin: u64, stop: u64) -> Result<()> {
    let range = begin as usize..stop as usize;
    csr.columns.upload(&graph.columns()[range.clone()])?;
    match (&csr.weights, graph.weights()) {
        (Some(to), Some(weights)) => to.upload(&weights[range]),
        _ => Ok(()),
    }
}

/// The input's arcs on a GPU.
pub(super) enum Arcs<'a> {
    /// All of them. Their weights may be there although the graph is one without.
    Whole { csr: Arc<DeviceCsr>, weights: bool },
    /// As many at a time as there is room for.
    Parts { gpu: &'a Gpu<'a>, graph: &'a Graph, csr: DeviceCsr },
    /// The rows of some nodes at a time, for which so many arcs are drawn.
    Drawn {
        gpu: &'a Gpu<'a>,
        fleet: &'a Fleet,
        drawn: &'a Arc<Drawn>,
        graph: &'a Graph,
        parts: Vec<(Range<u32>, u64)>,
        csr: Arc<DeviceCsr>,
    },
}

impl Arcs<'_> {
    fn csr(&self) -> &DeviceCsr {
        match self {
            Arcs::Whole { csr, .. } | Arcs::Drawn { csr, .. } => csr,
            Arcs::Parts { csr, .. } => csr,
        }
    }

    /// What kernels over nodes are told: offsets, and no arcs.
    pub fn nodes(&self) -> Rows {
        let csr = self.csr();
        Rows { offsets: csr.offsets.pointer(), nodes: csr.nodes as u32, ..Rows::zeroed() }
    }

    /// All arcs, if they are there at once.
    pub fn all(&self) -> Option<Rows> {
        match self {
            Arcs::Whole { csr, .. } => Some(self.part(csr, 0, csr.arcs)),
            Arcs::Parts { .. } | Arcs::Drawn { .. } => None,
        }
    }

    fn part(&self, csr: &DeviceCsr, begin: u64, stop: u64) -> Rows {
        let weighted = !matches!(self, Arcs::Whole { weights: false, .. });
        let (weights, pair_key) =
            (csr.weights.as_ref().filter(|_| weighted), csr.pair_key.filter(|_| weighted));
        Rows {
            columns: csr.columns.pointer(),
            weights: weights.map_or(0, DeviceBuffer::pointer),
            pair_key: pair_key.unwrap_or(0),
            paired: u32::from(pair_key.is_some()),
            begin,
            stop,
            ..self.nodes()
        }
    }

    /// Does `work` with all arcs, part by part; it queues kernels.
    pub fn each(&self, mut work: impl FnMut(&Rows) -> Result<()>) -> Result<()> {
        match self {
            Arcs::Whole { csr, .. } if csr.arcs == 0 => Ok(()),
            Arcs::Whole { csr, .. } => work(&self.part(csr, 0, csr.arcs)),
            Arcs::Parts { gpu, graph, csr } => {
                let parts = (0..graph.arcs()).step_by(csr.arcs as usize);
                for (begin, stop) in parts.map(|at| (at, graph.arcs().min(at + csr.arcs))) {
                    let start = Instant::now();
                    // It waits for the kernels that read the part before.
                    fill(csr, graph, begin, stop)?;
                    gpu.copy_ms.set(gpu.copy_ms.get() + milliseconds(start));
                    work(&self.part(csr, begin, stop))?;
                }
                Ok(())
            }
            Arcs::Drawn { gpu, fleet, drawn, graph, parts, csr } => {
                for (rows, arcs) in parts {
                    let start = Instant::now();
                    // Kernels read the part before until then.
                    gpu.side.wait()?;
                    let (shared, to, own, arcs) =
                        ((*drawn).clone(), csr.clone(), rows.clone(), *arcs);
                    let found = fleet.alone(move |r| match r.leads() {
                        true => shared.columns(r, own.clone(), arcs, &to.columns).map(Some),
                        false => Ok(None),
                    })?;
                    gpu.side.bind()?;
                    let ends = [rows.start, rows.end].map(|v| graph.offsets()[v as usize]);
                    let found = found.into_iter().flatten().next();
                    if found != Some(ends[1] - ends[0]) {
                        return Err(Error::Verify(format!(
                            "nodes {} to {} have {} arcs, and {} are drawn for them; report it",
                            rows.start,
                            rows.end - 1,
                            ends[1] - ends[0],
                            found.unwrap_or(0)
                        )));
                    }
                    gpu.copy_ms.set(gpu.copy_ms.get() + milliseconds(start));
                    work(&self.part(csr, ends[0], ends[1]))?;
                }
                Ok(())
            }
        }
    }
}

/// `[n + 1]` sums of the first numbers.
pub(super) fn prefix_sums(numbers: Vec<u64>) -> Vec<u64> {
    let mut sums = Vec::with_capacity(numbers.len() + 1);
    let mut sum = 0;
    sums.push(0);
    sums.extend(numbers.into_iter().map(|number| {
        sum += number;
        sum
    }));
    sums
}
