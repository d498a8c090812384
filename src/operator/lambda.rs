//! Users' functions: CUDA C++ text for GPUs, a Rust closure for the host, named and typed arguments for both. The attribute
//! `lambda` (`macros/`, `text.rs`) makes both of one function.

use super::code::{Form, On, Operator, unit};
use super::host::Bound;
use super::text::{Functions, Number, Way, Written};
use crate::collective::{Dtype, Element};
use crate::device::kernels::hive::OP_SUM;
use crate::error::{Error, Result};
use std::any::TypeId;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a lambda may return.
pub trait Value: Copy + Send + Sync + 'static {
    /// The type's name in CUDA C++.
    const C: &'static str;
}

macro_rules! value {
    ($($type:ty = $c:literal),+) => { $(impl Value for $type { const C: &'static str = $c; })+ };
}
value!(() = "void", bool = "bool", u32 = "u32", u64 = "u64", i32 = "i32", f32 = "f32", f64 = "f64");

/// How an argument is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Reads(Dtype),
    Writes(Dtype),
    Scalar(Dtype),
    ReadsSet,
    WritesSet,
}

impl Kind {
    /// As messages put it.
    pub fn words(self) -> String {
        match self {
            Kind::Reads(dtype) => format!("reads an array of {}", dtype.c()),
            Kind::Writes(dtype) => format!("writes an array of {}", dtype.c()),
            Kind::Scalar(dtype) => format!("scalar {}", dtype.c()),
            Kind::ReadsSet => "reads a set".into(),
            Kind::WritesSet => "writes a set".into(),
        }
    }
}

/// A declared argument.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Param {
    pub name: String,
    pub kind: Kind,
}

/// What a lambda is, whatever it is called with.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub name: String,
    pub params: Vec<Param>,
    pub cuda: Option<String>,
    /// Device functions that stand before the lambda.
    pub functions: String,
    /// The functions and constants that a lambda uses which was written once.
    pub known: Functions,
    /// The arrays that it writes elsewhere than at its element, and whether at the places of arcs.
    pub elsewhere: Vec<(&'static str, bool)>,
    /// How it writes each array and set, if what it leaves depends on its arguments alone; and a number that differs from that of
    /// every lambda that may leave something else.
    pub ways: Option<(&'static [(&'static str, Way)], u64)>,
    /// `src/heat.rs:12`, where such a lambda is.
    pub place: Option<String>,
    /// The type of the Rust closure, which differs from that of any other closure.
    pub closure: Option<TypeId>,
    pub unchecked: bool,
    /// Differs from every other lambda's of this process.
    pub id: u64,
    /// What is wrong with the declaration, told when it is first used.
    pub wrong: Option<String>,
}

/// The type of `g` in CUDA text where the launch has no graph: the compiler's errors name it.
pub(super) const NO_GRAPH_TYPE: &str = "NoGraph";

/// What a lambda is told that asks for the graph where there is none.
pub(super) const NO_GRAPH: &str = "asks for the graph, and this launch has none; run it over nodes, arcs or a frontier, \
or give the range a graph: Over::elements(n).with(&graph)";

/// Names that lambdas find in scope.
const RESERVED: &[&str] = &["g", "u", "v", "w", "e", "i", "folded"];

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Body {
    /// A lambda that was written once has one number; it is another one after this.
    fn changes(&mut self) {
        self.ways = None;
        if self.place.is_some() {
            self.id = NEXT.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn new(name: &str) -> Body {
        let mut body = Body {
            name: name.into(),
            params: Vec::new(),
            cuda: None,
            functions: String::new(),
            known: Functions::default(),
            elsewhere: Vec::new(),
            ways: None,
            place: None,
            closure: None,
            unchecked: false,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            wrong: None,
        };
        if !is_identifier(name) {
            body.wrong = Some("its name is none; use letters, digits and _".into());
        }
        body
    }

    fn declare(&mut self, name: &str, kind: Kind) {
        let taken = self.params.iter().any(|param| param.name == name);
        let why = if RESERVED.contains(&name) {
            "is a name that lambdas find in scope (g u v w e i folded); choose another"
        } else if taken {
            "is declared twice; declare it once"
        } else if !is_identifier(name) {
            "is no name: use letters, digits and _"
        } else {
            self.params.push(Param { name: name.into(), kind });
            return;
        };
        self.wrong.get_or_insert(format!("argument '{name}' {why}"));
    }

    /// Takes in functions and constants.
    pub fn uses(&mut self, take: impl FnOnce(&mut Functions)) {
        take(&mut self.known);
        if let Some(wrong) = &self.known.wrong {
            self.wrong.get_or_insert(wrong.clone());
        }
    }

    /// Its name, and where it is, if that is known.
    pub fn shown(&self) -> String {
        match &self.place {
            Some(place) => format!("{} ({place})", self.name),
            None => self.name.clone(),
        }
    }

    /// The error of a declaration that cannot be used.
    pub fn check(&self) -> Result<()> {
        match &self.wrong {
            Some(wrong) => Err(self.error(wrong)),
            None => Ok(()),
        }
    }

    /// A number that differs where what is declared or what runs differs.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let text = (&self.cuda, &self.functions, self.known.text(), self.unchecked);
        (&self.name, &self.params, text, self.closure).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether it writes anything.
    pub fn writes_any(&self) -> bool {
        let writes = |kind: &Kind| matches!(kind, Kind::Writes(_) | Kind::WritesSet);
        self.params.iter().any(|param| writes(&param.kind))
    }

    /// The same for all lambdas of its name.
    pub fn name_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish()
    }

    /// An input error that names the lambda.
    pub fn error(&self, what: &str) -> Error {
        Error::input(format!("lambda {}: {what}", self.shown()))
    }

    /// The text, or what to say where there is none.
    pub fn text(&self) -> Result<&str> {
        self.cuda.as_deref().ok_or_else(|| {
            self.error("has no CUDA text, so it runs on the host only; add .cuda(..) or use --devices host")
        })
    }

    /// What to say where there is no closure.
    pub fn hostless(&self) -> Error {
        self.error(
            "has no Rust closure, so it runs on GPUs only; add .host(..) or use --devices cuda",
        )
    }
}

fn is_identifier(name: &str) -> bool {
    let mut all = name.chars();
    all.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && all.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A function of one element, bound to its arguments.
pub type OnElement<'a, R> = Box<dyn Fn(usize) -> R + Sync + 'a>;
/// A function of an arc: source, neighbour, place of the arc in the rows, weight; bound to its arguments.
pub type OnArc<'a, R> = Box<dyn Fn(usize, usize, usize, f32) -> R + Sync + 'a>;

/// A function of a node and the fold of its arcs' values, bound to its arguments.
pub type OnFolded<'a, T> = Box<dyn Fn(usize, T) + Sync + 'a>;

type BindElement<R> = Box<dyn for<'a> Fn(&'a Bound<'a>) -> OnElement<'a, R> + Send + Sync>;
type BindArc<R> = Box<dyn for<'a> Fn(&'a Bound<'a>) -> OnArc<'a, R> + Send + Sync>;
type BindFolded<T> = Box<dyn for<'a> Fn(&'a Bound<'a>) -> OnFolded<'a, T> + Send + Sync>;

/// A function of an element: a node, an arc, or an index of an array.
///
/// The CUDA text sees its arguments by name, the element as `v` (u32) and `i` (u64), and the graph as `g`;
/// `docs/operators.md` lists what else there is. The Rust closure binds its arguments once and returns what is
/// called for each element.
///
/// ```
/// use hivegraph::operator::Lambda;
/// let double = Lambda::<()>::new("double")
///     .reads::<f32>("x")
///     .writes::<f32>("y")
///     .cuda("y[i] = 2 * x[i];")
///     .host(|a| {
///         let (x, y) = (a.reads::<f32>("x"), a.writes::<f32>("y"));
///         Box::new(move |i| y.set(i, 2.0 * x.at(i)))
///     });
/// ```
pub struct Lambda<R: Value = ()> {
    pub(crate) body: Body,
    pub(crate) bind: Option<BindElement<R>>,
}

/// A function of an arc: in CUDA C++ `u` (source, u32), `v` (neighbour, u32), `e` (its place in the rows, u64)
/// and `w` (weight, f32; 1 where the graph has none).
pub struct ArcLambda<R: Value = ()> {
    pub(crate) body: Body,
    pub(crate) bind: Option<BindArc<R>>,
}

/// A function of a node and the fold of its arcs' values, for [`super::Fold::then`]: in CUDA C++ `v` (u32) and `folded`.
pub struct FoldLambda<T: Value> {
    pub(crate) body: Body,
    pub(crate) bind: Option<BindFolded<T>>,
}

macro_rules! declarations {
    ($lambda:ident, $on:ident) => {
        impl<R: Value> $lambda<R> {
            /// A lambda without arguments yet. Its name is seen in messages, traces and profilers.
            pub fn new(name: &str) -> Self {
                $lambda { body: Body::new(name), bind: None }
            }

            /// It reads an array, which nothing writes meanwhile.
            pub fn reads<T: Element>(mut self, name: &str) -> Self {
                self.body.declare(name, Kind::Reads(T::DTYPE));
                self
            }

            /// It writes (and may read) an array.
            pub fn writes<T: Element>(mut self, name: &str) -> Self {
                self.body.declare(name, Kind::Writes(T::DTYPE));
                self
            }

            /// It takes a number.
            pub fn scalar<T: Element>(mut self, name: &str) -> Self {
                self.body.declare(name, Kind::Scalar(T::DTYPE));
                self
            }

            /// It reads a set of nodes: `name.contains(v)`.
            pub fn reads_set(mut self, name: &str) -> Self {
                self.body.declare(name, Kind::ReadsSet);
                self
            }

            /// It writes a set of nodes: `name.insert(v)`, `name.erase(v)`.
            pub fn writes_set(mut self, name: &str) -> Self {
                self.body.declare(name, Kind::WritesSet);
                self
            }

            /// What runs on GPUs: statements of CUDA C++.
            pub fn cuda(mut self, text: &str) -> Self {
                self.body.changes();
                self.body.cuda = Some(text.into());
                // It is not what the macro has made any more.
                self.body.place = None;
                self
            }

            /// Device functions and types that the CUDA text uses.
            pub fn functions(mut self, text: &str) -> Self {
                self.body.changes();
                self.body.functions = text.into();
                self
            }

            /// Leaves out the checks of indices on GPUs: a bad one then reads and writes whatever is there.
            pub fn unchecked(mut self) -> Self {
                self.body.changes();
                self.body.unchecked = true;
                self
            }

            /// What runs on the host: binds the arguments, and returns what is called for each element.
            pub fn host<F>(mut self, bind: F) -> Self
            where
                F: for<'a> Fn(&'a Bound<'a>) -> $on<'a, R> + Send + Sync + 'static,
            {
                self.body.closure = Some(TypeId::of::<F>());
                self.body.ways = None;
                self.bind = Some(Box::new(bind));
                self
            }

            /// The lambda's name.
            pub fn name(&self) -> &str {
                &self.body.name
            }
        }
    };
}
declarations!(Lambda, OnElement);
declarations!(ArcLambda, OnArc);
declarations!(FoldLambda, OnFolded);

// What the macro `lambda` writes.
macro_rules! written {
    ($lambda:ident) => {
        impl<R: Value> $lambda<R> {
            #[doc(hidden)]
            pub fn written(written: &'static Written) -> Self {
                let mut lambda = $lambda::new(written.name).cuda(written.text);
                lambda.body.id = *written.id.get_or_init(|| lambda.body.id);
                lambda.body.unchecked = written.unchecked;
                lambda.body.place = Some(written.place());
                lambda
            }

            #[doc(hidden)]
            pub fn constant<T: Number>(mut self, name: &'static str, value: T) -> Self {
                self.body.uses(|functions| functions.constant(name, value));
                self
            }

            #[doc(hidden)]
            pub fn writes_at_arcs(mut self, array: &'static str) -> Self {
                self.body.elsewhere.push((array, true));
                self
            }

            #[doc(hidden)]
            pub fn deterministic(
                mut self,
                exact: bool,
                written: &'static Written,
                ways: &'static [(&'static str, Way)],
            ) -> Self {
                let number = || *written.number.get_or_init(|| self.body.fingerprint());
                self.body.ways = exact.then(|| (ways, number()));
                self
            }

            #[doc(hidden)]
            pub fn writes_anywhere(mut self, array: &'static str) -> Self {
                self.body.elsewhere.push((array, false));
                self
            }

            #[doc(hidden)]
            pub fn calls(
                mut self,
                text: fn(&mut Functions),
                name: &'static str,
                called: &'static str,
            ) -> Self {
                self.body.uses(|functions| {
                    text(functions);
                    functions.is_called(name, called);
                });
                self
            }
        }
    };
}
written!(Lambda);
written!(ArcLambda);
written!(FoldLambda);

impl<R: Value> Lambda<R> {
    /// Compiles the CUDA text for an architecture, as in `sm_90`, for every operator that takes such a lambda.
    /// Needs NVRTC, but no GPU: for tests.
    ///
    /// # Errors
    /// What is wrong with the declaration or the text, with the line; NVRTC is not here.
    pub fn compile(&self, arch: &str) -> Result<()> {
        let operators: &[Operator] = match R::C {
            "void" => &[Operator::Elements, Operator::Nodes, Operator::Set],
            "bool" => &[Operator::FilterAny, Operator::Filter],
            "u32" => &[Operator::Reduce, Operator::Histogram],
            _ => &[Operator::Reduce],
        };
        compile(&self.body, &On::element(R::C), operators, arch)?;
        if R::C != "bool" {
            return Ok(());
        }
        // As a filter that is fused with an advance.
        let any = ArcLambda::<bool>::new("any").cuda("return true;");
        let bodies = (&any.body, &On::arc("bool"));
        fused(bodies, (&self.body, &On::element("bool")), Operator::PushOnly, arch)
    }
}

impl<R: Value> ArcLambda<R> {
    /// Compiles the CUDA text for an architecture, as in `sm_90`, for every operator that takes such a lambda.
    /// Needs NVRTC, but no GPU: for tests.
    ///
    /// # Errors
    /// What is wrong with the declaration or the text, with the line; NVRTC is not here.
    pub fn compile(&self, arch: &str) -> Result<()> {
        let operators: &[Operator] = match R::C {
            "void" => &[Operator::Arcs],
            // `Either` is a push and a pull.
            "bool" => &[Operator::Either, Operator::Pull],
            _ => &[Operator::Fold],
        };
        compile(&self.body, &On::arc(R::C), operators, arch)?;
        if R::C != "bool" {
            return Ok(());
        }
        let all = Lambda::<bool>::new("all").cuda("return true;");
        let (own, all) = ((&self.body, &On::arc("bool")), (&all.body, &On::element("bool")));
        fused(own, all, Operator::EitherOnly, arch)
    }
}

impl<T: Value> FoldLambda<T> {
    /// Compiles the CUDA text for an architecture, as in `sm_90`. Needs NVRTC, but no GPU: for tests.
    ///
    /// # Errors
    /// What is wrong with the declaration or the text, with the line; NVRTC is not here.
    pub fn compile(&self, arch: &str) -> Result<()> {
        let any = ArcLambda::<T>::new("any").cuda("return 0;");
        let bodies = (&any.body, &On::arc(T::C));
        fused(bodies, (&self.body, &On::folded(T::C)), Operator::FoldThen, arch)
    }
}

/// What lambdas are compiled for.
const FORM: Form =
    Form { parts: [0; 2], wide: false, graph: true, set: false, backward: false, fold: OP_SUM };

/// Compiles an operator on two lambdas.
fn fused(own: (&Body, &On), other: (&Body, &On), operator: Operator, arch: &str) -> Result<()> {
    other.0.check()?;
    let set = operator == Operator::EitherOnly;
    let form = Form { set, ..FORM };
    crate::device::check_unit(&unit(operator, own, Some(other), form)?, arch)
}

fn compile(body: &Body, on: &On, operators: &[Operator], arch: &str) -> Result<()> {
    body.check()?;
    let spans = body.params.iter().map(|p| matches!(p.kind, Kind::Reads(_) | Kind::Writes(_)));
    let parts = spans.enumerate().fold(0, |all, (at, span)| all | u64::from(span) << at);
    let plain = |operator: &Operator| {
        let set = matches!(operator, Operator::Set | Operator::Either);
        Form { set, ..FORM }
    };
    // Arrays in parts, long offsets, and arcs backward with one operator: the others do not see them otherwise.
    let form = Form { parts: [parts, 0], wide: true, set: true, backward: true, ..FORM };
    let other = operators.iter().take(1).map(|operator| (operator, form));
    let tried = operators.iter().map(|operator| (operator, plain(operator))).chain(other);
    for (operator, form) in tried {
        crate::device::check_unit(&unit(*operator, (body, on), None, form)?, arch)?;
    }
    Ok(())
}

/// Whether lambdas can be compiled; says loudly where they cannot.
#[cfg(test)]
pub(crate) fn has_nvrtc() -> bool {
    let found = crate::device::probe().nvrtc.found;
    if !found {
        let required = std::env::var_os("HIVE_REQUIRE_NVRTC").is_some();
        assert!(!required, "HIVE_REQUIRE_NVRTC is set, but NVRTC was not found");
        crate::skips::skipped("NVRTC is not here, lambdas were NOT compiled");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a GPU too: what a launch without a graph compiles.
    #[test]
    fn text_that_uses_the_graph_does_not_compile_without_one() {
        if !has_nvrtc() {
            return;
        }
        let compiled = |text: &str, functions: &str, graph: bool| {
            let lambda = Lambda::<()>::new("asks").writes::<u32>("x").cuda(text);
            let body = lambda.functions(functions).body;
            let form = Form { graph, ..FORM };
            let unit = unit(Operator::Elements, (&body, &On::element("void")), None, form)?;
            crate::device::check_unit(&unit, "sm_90")
        };
        let helper = "__device__ u64 twice(const Graph& g, u64 v) { return 2 * g.degree(v); }";
        let asking = ["x[i] = g.degree(v);", "x[i] = g.nodes;", "x[i] = twice(g, v);"];
        for text in asking {
            compiled(text, helper, true).unwrap();
            let told = compiled(text, helper, false).unwrap_err().to_string();
            assert!(told.contains(NO_GRAPH_TYPE), "{told}");
        }
        for text in ["x[i] = v;", "u32 g = v; x[i] = g;"] {
            compiled(text, helper, false).unwrap();
        }
    }
}
