//! Functions in CUDA C++ as GPUs launch them.

use crate::copies::{
    Copies, Copy, Held, Values, each, gather, interned, merge_all, operation, run, typed,
};
use crate::error::raised;
use crate::place::Place;
use crate::wait::{at_once, wait};
use hivegraph::layout::Resident;
use hivegraph::operator::{Advance, ArcLambda, Args, Fold, Lambda as Each, Over};
use hivegraph::prelude::{MergeOp, Replica};
use hivegraph::{Error, Result};
use pyo3::prelude::*;
use std::sync::Arc;

/// A function in CUDA C++, with types.
#[pyclass(frozen, module = "hivegraph._core")]
pub struct Lambda(Arc<Made>);

struct Made {
    label: &'static str,
    what: What,
}

enum What {
    Each(Each<()>),
    EachArc(ArcLambda<()>),
    Along(ArcLambda<bool>),
    U32(ArcLambda<u32>),
    U64(ArcLambda<u64>),
    I32(ArcLambda<i32>),
    F32(ArcLambda<f32>),
    F64(ArcLambda<f64>),
}

#[pymethods]
impl Lambda {
    /// Of an element or, with `arcs`, of an arc. Arguments are names, how they are used, and types.
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        text: (String, String),
        arcs: bool,
        returns: &str,
        arguments: Vec<(String, String, String)>,
    ) -> PyResult<Lambda> {
        macro_rules! declared {
            ($lambda:expr) => {{
                let mut lambda = $lambda.cuda(&text.0).functions(&text.1);
                for (name, used, dtype) in &arguments {
                    lambda = match used.as_str() {
                        "reads_set" => lambda.reads_set(name),
                        "writes_set" => lambda.writes_set(name),
                        "reads" => typed!(dtype.as_str(), T, wrap => Ok(lambda.reads::<T>(name)))?,
                        "writes" => typed!(dtype.as_str(), T, wrap => Ok(lambda.writes::<T>(name)))?,
                        _ => typed!(dtype.as_str(), T, wrap => Ok(lambda.scalar::<T>(name)))?,
                    };
                }
                lambda
            }};
        }
        let made = || -> Result<What> {
            Ok(match (arcs, returns) {
                (false, _) => What::Each(declared!(Each::new(name))),
                (true, "void") => What::EachArc(declared!(ArcLambda::new(name))),
                (true, "bool") => What::Along(declared!(ArcLambda::new(name))),
                (true, "u32") => What::U32(declared!(ArcLambda::new(name))),
                (true, "u64") => What::U64(declared!(ArcLambda::new(name))),
                (true, "i32") => What::I32(declared!(ArcLambda::new(name))),
                (true, "f32") => What::F32(declared!(ArcLambda::new(name))),
                (true, "f64") => What::F64(declared!(ArcLambda::new(name))),
                (_, other) => {
                    return Err(Error::input(format!("{other} is nothing that a fold takes")));
                }
            })
        };
        let what = made().map_err(|error| raised(py, &error))?;
        Ok(Lambda(Arc::new(Made { label: interned(name), what })))
    }

    /// Compiles it for an architecture, as in sm_90. Needs NVRTC, and no GPU.
    fn compile(&self, py: Python<'_>, arch: String) -> PyResult<()> {
        let made = self.0.clone();
        wait(py, move || match &made.what {
            What::Each(lambda) => lambda.compile(&arch),
            What::EachArc(lambda) => lambda.compile(&arch),
            What::Along(lambda) => lambda.compile(&arch),
            What::U32(lambda) => lambda.compile(&arch),
            What::U64(lambda) => lambda.compile(&arch),
            What::I32(lambda) => lambda.compile(&arch),
            What::F32(lambda) => lambda.compile(&arch),
            What::F64(lambda) => lambda.compile(&arch),
        })
    }

    /// Launches it on all replicas of a place, each on its part of `over` ("nodes", "arcs", a set, or so many indices), and merges
    /// what it wrote. Numbers are given as their type and bytes.
    #[expect(clippy::too_many_arguments, reason = "what an operator takes")]
    fn launch(
        &self,
        py: Python<'_>,
        place: &Place,
        over: (String, Option<PyRef<'_, Copies>>, usize),
        reads: Vec<(String, PyRef<'_, Copies>)>,
        writes: Vec<(String, PyRef<'_, Copies>)>,
        numbers: Vec<(String, String, Vec<u8>)>,
        output: Option<PyRef<'_, Copies>>,
        fold: &str,
        backward: bool,
    ) -> PyResult<()> {
        let held = |given: Vec<(String, PyRef<'_, Copies>)>| {
            given.into_iter().map(|(name, copies)| (name, copies.0.clone())).collect::<Vec<_>>()
        };
        let step = Step {
            lambda: self.0.clone(),
            over: match (over.0.as_str(), over.1, over.2) {
                ("nodes", ..) => Range::Nodes,
                ("arcs", ..) => Range::Arcs,
                (_, Some(set), _) => Range::Set(set.0.clone()),
                (_, None, count) => Range::Elements(count),
            },
            resident: place.resident.clone(),
            reads: held(reads),
            writes: held(writes),
            numbers,
            output: output.map(|output| output.0.clone()),
            fold: operation(fold).map_err(|error| raised(py, &error))?,
            backward,
        };
        let (name, fleet) = (place.name.clone(), place.fleet.clone());
        at_once(py, move || run((&name, &fleet), move |r| step.on(r)).map(drop))
    }
}

/// What a step runs over.
enum Range {
    Nodes,
    Arcs,
    Set(Arc<Held>),
    Elements(usize),
}

/// One launch on all replicas, and the merge after it.
struct Step {
    lambda: Arc<Made>,
    over: Range,
    resident: Arc<Resident>,
    /// By name; those that are written are not among those that are read.
    reads: Vec<(String, Arc<Held>)>,
    writes: Vec<(String, Arc<Held>)>,
    numbers: Vec<(String, String, Vec<u8>)>,
    /// Where an advance puts nodes, or a fold its results.
    output: Option<Arc<Held>>,
    fold: MergeOp,
    backward: bool,
}

impl Step {
    fn on(&self, r: &mut Replica) -> Result<()> {
        let (rank, label, graph) = (r.rank(), self.lambda.label, &*self.resident);
        let read: Vec<_> = self.reads.iter().map(|(_, held)| held.read(rank)).collect();
        let mut written: Vec<_> = self.writes.iter().map(|(_, held)| held.write(rank)).collect();
        let set = match &self.over {
            Range::Set(held) => Some(held.read(rank)),
            _ => None,
        };
        let over = match (&self.over, set.as_ref().map(|copy| &copy.values)) {
            (_, Some(Values::Set(set))) => Over::frontier(graph, set),
            (Range::Arcs, _) => Over::arcs(graph),
            (Range::Elements(count), _) => Over::elements(*count).with(graph),
            _ => Over::nodes(graph),
        };
        let mut args = Args::new();
        for ((name, _), copy) in self.reads.iter().zip(&read) {
            args = each!(&copy.values, array => args.reads(name, array), set => args.reads_set(name, set));
        }
        for ((name, _), copy) in self.writes.iter().zip(&mut written) {
            args = each!(copy.written(), array => args.writes(name, array), set => args.writes_set(name, set));
        }
        for (name, dtype, bytes) in &self.numbers {
            args = typed!(dtype.as_str(), T, wrap => {
                let bytes = bytes.as_slice().try_into().map_err(|_| Error::machine("a number of another size; a bug"))?;
                Ok(args.scalar(name, T::from_ne_bytes(bytes)))
            })?;
        }
        let mut output = self.output.as_ref().map(|held| held.write(rank));
        let to = output.as_mut().map(|copy| &mut copy.values);
        macro_rules! fold {
            ($lambda:expr, $variant:ident) => {{
                let Some(Values::$variant(out)) = to else {
                    return Err(Error::machine("a fold into another type; this is a bug"));
                };
                let fold = Fold::to(out, self.fold);
                let fold = if self.backward { fold.backward() } else { fold };
                r.neighbor_reduce(label, over, $lambda, args, fold)?;
            }};
        }
        match &self.lambda.what {
            What::Each(lambda) => r.for_all(label, over, lambda, args)?,
            What::EachArc(lambda) => r.for_all(label, over, lambda, args)?,
            What::Along(lambda) => {
                let Some(Values::Set(set)) = to else {
                    return Err(Error::machine("an advance without a set; this is a bug"));
                };
                let how = Advance { backward: self.backward, ..Advance::default() };
                r.advance(label, over, lambda, args, how.output(set))?;
            }
            What::U32(lambda) => fold!(lambda, U32),
            What::U64(lambda) => fold!(lambda, U64),
            What::I32(lambda) => fold!(lambda, I32),
            What::F32(lambda) => fold!(lambda, F32),
            What::F64(lambda) => fold!(lambda, F64),
        }
        let advanced = matches!(self.lambda.what, What::Along(_));
        written.extend(output.take_if(|_| advanced));
        merge_all(r, &mut written)?;
        drop(output);
        if let (false, Some(held)) = (advanced, &self.output) {
            gather(r, held, graph)?;
        }
        written.iter_mut().try_for_each(|copy| add_up(r, copy))
    }
}

/// Adds what a step has added to an array that is merged by sum.
fn add_up(r: &mut Replica, copy: &mut Copy) -> Result<()> {
    let Copy { values, added: Some(added), .. } = copy else { return Ok(()) };
    macro_rules! add {
        ($($variant:ident, $type:ty;)+) => {
            match (values, added) {
                $((Values::$variant(values), Values::$variant(added)) => {
                    static ADD: std::sync::LazyLock<Each<()>> = std::sync::LazyLock::new(|| {
                        let add = Each::new("add_up").reads::<$type>("added").writes::<$type>("values");
                        add.cuda("values[i] += added[i];")
                    });
                    let (all, args) = (Over::elements(values.len()).whole(), Args::new());
                    r.for_all("add up", all, &*ADD, args.reads("added", added).writes("values", values))?;
                    r.fill("add up", added, <$type>::default())
                })+
                _ => Ok(()),
            }
        };
    }
    add! { U8, u8; U32, u32; U64, u64; I32, i32; F32, f32; F64, f64; }
}
