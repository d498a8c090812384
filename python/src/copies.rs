//! Arrays and sets with a copy on every replica, and their merges. On the host `hivegraph/_operators.py` calls functions of NumPy on
//! what lies here; on GPUs `lambda.rs` launches them.

use crate::answer::Column;
use crate::arrays::Lent;
use crate::error::{bug, raised};
use crate::fleets::{Shared, forget, is_open, lock};
use crate::wait::at_once;
use hivegraph::collective::{Mergeable, Shares, Split};
use hivegraph::fleet::Fleet;
use hivegraph::layout::Resident;
use hivegraph::operator::Over;
use hivegraph::prelude::{Frontier, MergeOp, Replica, Replicated};
use hivegraph::{Error, Result};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A graph on a fleet.
#[pyclass(frozen, module = "hivegraph._core")]
pub struct Place {
    pub name: String,
    pub fleet: Shared,
    pub resident: Arc<Resident>,
    pub on_gpus: bool,
    pub shares: Shares,
}

/// A replica's copy.
pub enum Values {
    U8(Replicated<u8>),
    U32(Replicated<u32>),
    U64(Replicated<u64>),
    I32(Replicated<i32>),
    F32(Replicated<f32>),
    F64(Replicated<f64>),
    Set(Frontier),
}

/// `$do` with `$array` for the array that it is, `$set` for the set.
macro_rules! each {
    ($values:expr, $array:ident => $do:expr, $set:ident => $other:expr) => {
        match $values {
            Values::U8($array) => $do,
            Values::U32($array) => $do,
            Values::U64($array) => $do,
            Values::I32($array) => $do,
            Values::F32($array) => $do,
            Values::F64($array) => $do,
            Values::Set($set) => $other,
        }
    };
}

/// `$do` with `$T` for the type of that name, with a `$wrap` for its values.
macro_rules! typed {
    ($name:expr, $T:ident, $wrap:ident => $do:expr) => {
        match $name {
            "u8" => typed!(@ u8, U8, $T, $wrap, $do),
            "u32" => typed!(@ u32, U32, $T, $wrap, $do),
            "u64" => typed!(@ u64, U64, $T, $wrap, $do),
            "i32" => typed!(@ i32, I32, $T, $wrap, $do),
            "f32" => typed!(@ f32, F32, $T, $wrap, $do),
            "f64" => typed!(@ f64, F64, $T, $wrap, $do),
            other => Err(Error::input(format!("{other} is no type of an element"))),
        }
    };
    (@ $type:ty, $variant:ident, $T:ident, $wrap:ident, $do:expr) => {{
        type $T = $type;
        #[allow(unused_variables)]
        let $wrap = Values::$variant;
        $do
    }};
}

pub(crate) use {each, typed};

/// What a replica holds of an array.
pub struct Copy {
    pub values: Values,
    /// What a step adds to an array that is merged by sum, until it is merged.
    pub added: Option<Values>,
    /// Of a set that is gathered: who owns which words.
    owned: Option<Split>,
}

impl Copy {
    /// What a step writes.
    pub fn written(&mut self) -> &mut Values {
        self.added.as_mut().unwrap_or(&mut self.values)
    }
}

/// The copies of an array or a set on all replicas of a fleet.
#[pyclass(frozen, module = "hivegraph._core")]
pub struct Copies(pub Arc<Held>);

pub struct Held {
    of: Vec<RwLock<Copy>>,
    name: String,
    fleet: Shared,
    /// Given back after the copies.
    _labels: [Label; 2],
}

/// A label that no other array has.
struct Label(&'static str);

static LABELS: Mutex<(usize, Vec<&'static str>)> = Mutex::new((0, Vec::new()));

impl Label {
    fn new() -> Label {
        let mut labels = lock(&LABELS);
        let free = labels.1.pop();
        Label(free.unwrap_or_else(|| {
            labels.0 += 1;
            format!("array {}", labels.0).leak()
        }))
    }
}

impl Drop for Label {
    fn drop(&mut self) {
        lock(&LABELS).1.push(self.0);
    }
}

/// A name as steps are labelled.
pub fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = lock(&NAMES);
    let names = names.get_or_insert_default();
    match names.get(name) {
        Some(name) => name,
        None => {
            let name: &'static str = name.to_string().leak();
            names.insert(name);
            name
        }
    }
}

pub fn operation(name: &str) -> Result<MergeOp> {
    let all = [MergeOp::Or, MergeOp::Min, MergeOp::Max, MergeOp::Sum, MergeOp::Gather];
    let found = all.into_iter().find(|op| op.name() == name);
    found.ok_or_else(|| {
        Error::input(format!("{name} is no operation; use or, min, max, sum or gather"))
    })
}

/// Runs a program; after a failure the fleet is of no use.
pub fn run<T: Send + 'static>(
    (name, fleet): (&str, &Shared),
    program: impl Fn(&mut Replica) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>> {
    let open: &Fleet = &lock(fleet);
    open.run(program).inspect_err(|_| forget(name, fleet))
}

impl Held {
    fn run<T: Send + 'static>(
        &self,
        program: impl Fn(&mut Replica) -> Result<T> + Send + Sync + 'static,
    ) -> Result<Vec<T>> {
        run((&self.name, &self.fleet), program)
    }

    pub fn read(&self, rank: usize) -> RwLockReadGuard<'_, Copy> {
        self.of[rank].read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self, rank: usize) -> RwLockWriteGuard<'_, Copy> {
        self.of[rank].write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Place {
    /// How many replicas there are.
    #[getter]
    fn replicas(&self) -> usize {
        self.resident.chunks().bounds().len() - 1
    }

    #[getter]
    fn on_gpus(&self) -> bool {
        self.on_gpus
    }

    /// Whether the fleet is there: it was not closed, and nothing on it has failed.
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| is_open(&self.name, &self.fleet))
    }

    /// Whether rows backward are there.
    #[getter]
    fn backward(&self) -> bool {
        self.resident.has_backward()
    }

    /// Where the nodes of each replica begin, and where the last one's end.
    fn chunks(&self) -> Vec<u64> {
        self.resident.chunks().bounds().to_vec()
    }

    /// The same of the indices below `count`.
    fn slices(&self, count: usize) -> Vec<u64> {
        Over::slices(count, &self.shares).bounds().to_vec()
    }

    /// Where each node's row backward begins, its neighbours, and the weights of these arcs. On the host.
    fn rows_backward(&self) -> PyResult<(Column, Column, Option<Column>)> {
        let resident = self.resident.clone();
        let Some(rows) = self.resident.rows_in() else { return Err(bug("no rows backward")) };
        let column = |at, length, kind| Column::new(resident.clone(), at, length, kind);
        let (offsets, columns) = (rows.offsets(), rows.columns());
        Ok((
            column(offsets.as_ptr() as usize, offsets.len(), "<u8"),
            column(columns.as_ptr() as usize, columns.len(), "<u4"),
            rows.weights().map(|all| column(all.as_ptr() as usize, all.len(), "<f4")),
        ))
    }

    /// An array of zeros with an element a node, an arc, or an index below `length`, or an empty set of nodes.
    fn array(
        &self,
        py: Python<'_>,
        of: String,
        length: usize,
        dtype: String,
        op: &str,
    ) -> PyResult<Copies> {
        let op = operation(op).map_err(|error| raised(py, &error))?;
        let (name, fleet) = (self.name.clone(), self.fleet.clone());
        let (graph, on_gpus) = (self.resident.clone(), self.on_gpus);
        at_once(py, move || {
            let labels = [Label::new(), Label::new()];
            let (own, sum) = (labels[0].0, labels[1].0);
            let make = move |r: &mut Replica| {
                if of == "set" {
                    let set = r.frontier(own, graph.graph().nodes(), op)?;
                    let owned = (op == MergeOp::Gather).then(|| words(graph.chunks()));
                    return Ok(Copy { values: Values::Set(set), added: None, owned });
                }
                typed!(dtype.as_str(), T, wrap => {
                    let make = |r: &mut Replica, label| match of.as_str() {
                        "nodes" => r.node_array::<T>(label, &graph, op),
                        "arcs" => r.arc_array::<T>(label, &graph, op),
                        _ => r.replicated::<T>(label, length, op),
                    };
                    let values = wrap(make(r, own)?);
                    let added = (op == MergeOp::Sum).then(|| make(r, sum)).transpose()?.map(wrap);
                    Ok(Copy { values, added, owned: None })
                })
            };
            // Host replicas meet nobody for an array: one that has no room leaves the others as they are.
            let made = run((&name, &fleet), move |r| match make(r) {
                Err(error) if !on_gpus => Ok(Err(error)),
                made => made.map(Ok),
            })?;
            let made = made.into_iter().collect::<Result<Vec<Copy>>>()?;
            let of = made.into_iter().map(RwLock::new).collect();
            Ok(Copies(Arc::new(Held { of, name, fleet, _labels: labels })))
        })
    }

    /// Merges what host replicas have written: arrays and sets by their operations, and what `gathered` holds by owners of nodes.
    fn merge(
        &self,
        py: Python<'_>,
        written: Vec<PyRef<'_, Copies>>,
        gathered: Option<PyRef<'_, Copies>>,
    ) -> PyResult<()> {
        let written: Vec<Arc<Held>> = written.iter().map(|copies| copies.0.clone()).collect();
        let gathered = gathered.map(|copies| copies.0.clone());
        let (name, fleet, resident) =
            (self.name.clone(), self.fleet.clone(), self.resident.clone());
        at_once(py, move || {
            let merge = move |r: &mut Replica| {
                let mut all: Vec<_> = written.iter().map(|held| held.write(r.rank())).collect();
                merge_all(r, &mut all)?;
                gathered.as_ref().map_or(Ok(()), |held| gather(r, held, &resident))
            };
            run((&name, &fleet), merge).map(drop)
        })
    }
}

#[pymethods]
impl Copies {
    /// Whether its fleet is there.
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| is_open(&self.0.name, &self.0.fleet))
    }

    /// Replica 0's values, or a set's words.
    fn read(&self, py: Python<'_>) -> PyResult<Column> {
        let held = self.0.clone();
        at_once(py, move || {
            let of = held.clone();
            let mut read = held.run(move |r| {
                if r.rank() > 0 {
                    return Ok(None);
                }
                macro_rules! column {
                    ($array:expr, $kind:literal) => {{
                        let values = Arc::new(r.read($array)?);
                        let (at, length) = (values.as_ptr() as usize, values.len());
                        Ok(Some(Column::new(values, at, length, $kind).writable()))
                    }};
                }
                match &of.read(0).values {
                    Values::U8(array) => column!(array, "|u1"),
                    Values::U32(array) => column!(array, "<u4"),
                    Values::U64(array) => column!(array, "<u8"),
                    Values::I32(array) => column!(array, "<i4"),
                    Values::F32(array) => column!(array, "<f4"),
                    Values::F64(array) => column!(array, "<f8"),
                    Values::Set(set) => column!(set.words(), "<u8"),
                }
            })?;
            read.swap_remove(0).ok_or_else(|| Error::machine("nothing was read; this is a bug"))
        })
    }

    /// Gives all copies these values (a set: its words), as many as there are and of the array's type.
    fn assign(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let held = self.0.clone();
        macro_rules! taken {
            ($($variant:ident, $type:ty;)+) => {
                match &held.read(0).values {
                    $(Values::$variant(_) => {
                        let given: Vec<$type> = Lent::<$type>::of(values)?.as_ref().to_vec();
                        Given::$variant(given)
                    })+
                    Values::Set(_) => Given::U64(Lent::<u64>::of(values)?.as_ref().to_vec()),
                }
            };
        }
        let given = taken! { U8, u8; U32, u32; U64, u64; I32, i32; F32, f32; F64, f64; };
        at_once(py, move || {
            let of = held.clone();
            held.run(move |r| {
                let copy = &mut *of.write(r.rank());
                if let Some(added) = &mut copy.added {
                    each!(added, array => r.fill("assign", array, Default::default())?, _set => ());
                }
                match (&mut copy.values, &given) {
                    (Values::U8(array), Given::U8(given)) => array.assign(given),
                    (Values::U32(array), Given::U32(given)) => array.assign(given),
                    (Values::U64(array), Given::U64(given)) => array.assign(given),
                    (Values::I32(array), Given::I32(given)) => array.assign(given),
                    (Values::F32(array), Given::F32(given)) => array.assign(given),
                    (Values::F64(array), Given::F64(given)) => array.assign(given),
                    (Values::Set(set), Given::U64(given)) => set.words_mut().assign(given),
                    _ => Err(Error::machine("values of another type; this is a bug")),
                }
            })?;
            Ok(())
        })
    }

    /// The number of nodes in a set.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let held = self.0.clone();
        at_once(py, move || {
            let of = held.clone();
            let counts = held.run(move |r| match &of.read(r.rank()).values {
                Values::Set(set) => r.count("count", set),
                _ => Err(Error::machine("an array is counted; this is a bug")),
            })?;
            Ok(counts[0])
        })
    }

    /// Takes all nodes out of a set.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let held = self.0.clone();
        at_once(py, move || {
            let of = held.clone();
            held.run(move |r| match &mut of.write(r.rank()).values {
                Values::Set(set) => r.clear("clear", set),
                _ => Err(Error::machine("an array is cleared; this is a bug")),
            })?;
            Ok(())
        })
    }

    /// What the host's replica `rank` holds: its values (a set: its words), and, of an array that is merged by sum, what was
    /// added to them. Whoever `writes` to them has no other step or merge under way.
    fn host(&self, rank: usize, writes: bool) -> PyResult<(Column, Option<Column>)> {
        let column = |values: &mut Values| -> Option<Column> {
            macro_rules! seen {
                ($array:expr, $kind:literal) => {{
                    let values = $array.host_mut()?;
                    (values.as_mut_ptr() as usize, values.len(), $kind)
                }};
            }
            let (at, length, kind) = match values {
                Values::U8(array) => seen!(array, "|u1"),
                Values::U32(array) => seen!(array, "<u4"),
                Values::U64(array) => seen!(array, "<u8"),
                Values::I32(array) => seen!(array, "<i4"),
                Values::F32(array) => seen!(array, "<f4"),
                Values::F64(array) => seen!(array, "<f8"),
                Values::Set(set) => seen!(set.words_mut(), "<u8"),
            };
            let column = Column::new(self.0.clone(), at, length, kind);
            Some(if writes { column.writable() } else { column })
        };
        let copy = &mut *self.0.write(rank);
        let values =
            column(&mut copy.values).ok_or_else(|| bug("an array of a GPU on the host"))?;
        Ok((values, copy.added.as_mut().and_then(column)))
    }
}

/// Values for an array.
enum Given {
    U8(Vec<u8>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Who owns which words of sets of nodes.
fn words(chunks: &Split) -> Split {
    let ends = chunks.bounds().iter().map(|node| node.div_ceil(64)).collect::<Vec<u64>>();
    Split::of_lengths(ends.windows(2).map(|ends| ends[1] - ends[0]))
}

/// Merges what a step wrote of arrays and sets.
pub fn merge_all(r: &mut Replica, all: &mut [RwLockWriteGuard<'_, Copy>]) -> Result<()> {
    let mut parts: Vec<&mut dyn Mergeable> = Vec::new();
    for copy in all {
        if let Copy { values: Values::Set(set), owned: Some(owned), .. } = &mut **copy {
            r.gather(set.words_mut(), owned)?;
            continue;
        }
        each!(copy.written(), array => parts.push(array), set => parts.push(set));
    }
    r.merge_all(&mut parts)
}

/// Gives everybody what owners of nodes wrote, whatever the array's operation is.
pub fn gather(r: &mut Replica, held: &Held, resident: &Resident) -> Result<()> {
    each!(&mut held.write(r.rank()).values, array => r.gather(array, resident.chunks()),
        _set => Err(Error::machine("a set is gathered; this is a bug")))
}
