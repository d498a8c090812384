//! Arrays and sets with a copy on every replica, and their merges. On the host `hivegraph/_steps.py` calls functions of NumPy on
//! what lies here; on GPUs `lambda.rs` launches them.

use crate::answer::{Column, kind_of};
use crate::arrays::Lent;
use crate::error::bug;
use crate::fleets::{Shared, forget, is_open, lock};
use crate::place::Place;
use crate::wait::at_once;
use hivegraph::collective::{Element, Mergeable, Split};
use hivegraph::fleet::Fleet;
use hivegraph::layout::Resident;
use hivegraph::prelude::{Frontier, MergeOp, Replica, Replicated};
use hivegraph::{Error, Result};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
    /// Copies of an array of zeros with an element of each of "nodes" or "arcs", or `length` elements, or of an empty "set" of nodes.
    pub fn new(
        place: &Place,
        of: String,
        length: usize,
        dtype: String,
        op: MergeOp,
    ) -> Result<Held> {
        let (name, fleet) = (place.name.clone(), place.fleet.clone());
        let (graph, on_gpus) = (place.resident.clone(), place.on_gpus);
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
        Ok(Held { of, name, fleet, _labels: labels })
    }

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
                let copy = of.read(0);
                each!(&copy.values, array => read_out(r, array), set => read_out(r, set.words()))
                    .map(Some)
            })?;
            read.swap_remove(0).ok_or_else(|| Error::machine("nothing was read; this is a bug"))
        })
    }

    /// Where replica 0's copy is on its GPU.
    fn address(&self) -> Option<u64> {
        let copy = self.0.read(0);
        each!(&copy.values, array => array.device_address(), set => set.words().device_address())
    }

    /// Gives all copies values (a set: its words), as many as there are, of which these are the bytes.
    fn assign(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let held = self.0.clone();
        let given: Vec<u8> = Lent::<u8>::of(values)?.as_ref().to_vec();
        at_once(py, move || {
            let of = held.clone();
            held.run(move |r| {
                let copy = &mut *of.write(r.rank());
                if let Some(added) = &mut copy.added {
                    each!(added, array => r.fill("assign", array, Default::default())?, _set => ());
                }
                each!(&mut copy.values, array => assigned(array, &given), set => assigned(set.words_mut(), &given))
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
            let (at, length, kind) =
                each!(values, array => seen(array), set => seen(set.words_mut()))?;
            let column = Column::new(self.0.clone(), at, length, kind);
            Some(if writes { column.writable() } else { column })
        };
        let copy = &mut *self.0.write(rank);
        let values =
            column(&mut copy.values).ok_or_else(|| bug("an array of a GPU on the host"))?;
        Ok((values, copy.added.as_mut().and_then(column)))
    }
}

/// The values of a copy, copied.
fn read_out<T: Element>(r: &mut Replica, array: &Replicated<T>) -> Result<Column> {
    let values = Arc::new(r.read(array)?);
    let (at, length) = (values.as_ptr() as usize, values.len());
    Ok(Column::new(values, at, length, kind_of(T::DTYPE)).writable())
}

/// Where the values of a copy on the host are, how many, and of which type.
fn seen<T: Element>(array: &mut Replicated<T>) -> Option<(usize, usize, &'static str)> {
    let values = array.host_mut()?;
    Some((values.as_mut_ptr() as usize, values.len(), kind_of(T::DTYPE)))
}

/// Gives a copy the values of which these are the bytes.
fn assigned<T: Element>(array: &mut Replicated<T>, bytes: &[u8]) -> Result<()> {
    array.assign(&bytemuck::pod_collect_to_vec(bytes))
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
