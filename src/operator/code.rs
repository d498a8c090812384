//! From a lambda to CUDA C++: the struct that holds its arguments, and the kernels of an operator.

use super::lambda::{Body, Kind, Param};
use crate::device::ArrayAddress;
use crate::device::Unit;
use crate::device::kernels::lambda::{Parts, Set, Span};
use crate::error::Result;
use bytemuck::Pod;

/// Kernels that an operator consists of, in the order in which it names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operator {
    /// One element a thread.
    Elements,
    Nodes,
    Set,
    /// For every arc, without a result: rows, then hubs.
    Arcs,
    /// Push: rows, then hubs.
    Push,
    /// Push into wanted nodes only.
    PushOnly,
    /// Pull: rows, then hubs.
    Pull,
    /// Pull into wanted nodes only.
    PullOnly,
    /// The sum of the arcs out of the set; push or pull, as it says.
    Either,
    EitherOnly,
    FilterAny,
    /// Marks, prefix sums, writing.
    Filter,
    /// Rows; these and slices of hubs; what joins slices.
    Fold,
    /// The same, each fold handed to a second lambda.
    FoldThen,
    /// Tiles, then their results.
    Reduce,
    Histogram,
}

/// Threads of a block, for every operator.
pub(crate) const THREADS: u32 = 256;

/// What the compiler is told beside the lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// Bit k: argument k of the lambda, and of the second one, lies in parts.
    pub parts: [u64; 2],
    /// Offsets are 64-bit words.
    pub wide: bool,
    /// The launch has a graph.
    pub graph: bool,
    /// It is run over a set.
    pub set: bool,
    /// It goes along arcs against their direction.
    pub backward: bool,
    /// The operation of a fold, as in kernels.
    pub fold: u32,
}

impl Operator {
    /// As users know it.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Elements | Operator::Nodes | Operator::Set | Operator::Arcs => "for_all",
            Operator::Push | Operator::PushOnly => "advance_push",
            Operator::Pull | Operator::PullOnly => "advance_pull",
            Operator::Either | Operator::EitherOnly => "advance",
            Operator::FilterAny | Operator::Filter => "filter",
            Operator::Fold | Operator::FoldThen => "neighbor_reduce",
            Operator::Reduce => "reduce",
            Operator::Histogram => "histogram",
        }
    }

    /// Whether it may go into nodes, over arcs out of the range or set.
    pub fn pulls(self) -> bool {
        use Operator::{Either, EitherOnly, Pull, PullOnly};
        matches!(self, Pull | PullOnly | Either | EitherOnly)
    }

    /// Whether the lambda, and the second one, may write at its element for an owner that is another replica.
    pub fn strangers(self) -> [bool; 2] {
        match self {
            Operator::PushOnly => [false, true],
            Operator::Pull | Operator::Either => [true, false],
            Operator::PullOnly | Operator::EitherOnly => [true, true],
            _ => [false, false],
        }
    }

    /// (suffix of the kernel's name, parameters behind Shape and the lambda, statement).
    fn kernels(self) -> &'static [(&'static str, &'static str, &'static str)] {
        const FOLD: &str = ", const R identity, Span<R> out";
        const THEN: &str = ", const R identity, const O then_";
        const OUT: &str = ", Set out";
        const OUT_ONLY: &str = ", Set out, const O only_";
        const OUT_FROM: &str = ", Set out, const u32* from";
        const OUT_FROM_ONLY: &str = ", Set out, const u32* from, const O only_";
        match self {
            Operator::Elements => &[("", "", "for_elements(s, f);")],
            Operator::Nodes => &[("", "", "for_nodes(s, f);")],
            Operator::Set => &[("", "", "for_set(s, f);")],
            Operator::Arcs => &[
                ("", "", "row_arcs(s, f.g.out, Each<F>{f, f.g});"),
                ("_hubs", "", "hub_arcs(s, f.g.out, Each<F>{f, f.g});"),
            ],
            Operator::Push => &[
                ("", OUT, "row_arcs(s, rows_out(f.g), Push<F, All>{f, f.g, out, All()});"),
                ("_hubs", OUT, "hub_arcs(s, rows_out(f.g), Push<F, All>{f, f.g, out, All()});"),
            ],
            Operator::PushOnly => &[
                ("", OUT_ONLY, "row_arcs(s, rows_out(f.g), Push<F, O>{f, f.g, out, only});"),
                ("_hubs", OUT_ONLY, "hub_arcs(s, rows_out(f.g), Push<F, O>{f, f.g, out, only});"),
            ],
            Operator::Pull => &[
                ("", OUT_FROM, "pull(s, f.g, f, All(), from, out);"),
                ("_hubs", OUT_FROM, "pull_hubs(s, f.g, f, All(), from, out);"),
            ],
            Operator::PullOnly => &[
                ("", OUT_FROM_ONLY, "pull(s, f.g, f, only, from, out);"),
                ("_hubs", OUT_FROM_ONLY, "pull_hubs(s, f.g, f, only, from, out);"),
            ],
            Operator::Either => &[
                ("_arcs", "", "set_arcs(s, rows_out(f.g));"),
                ("", OUT, "either(s, f.g, f, All(), out);"),
            ],
            Operator::EitherOnly => &[
                ("_arcs", "", "set_arcs(s, rows_out(f.g));"),
                ("", OUT_ONLY, "either(s, f.g, f, only, out);"),
            ],
            Operator::FilterAny => &[("", "", "filter_any(s, f);")],
            Operator::Filter => &[
                ("_mark", "", "filter_mark(s, f);"),
                ("_scan", "", "filter_scan(s);"),
                ("_write", "", "filter_write(s);"),
            ],
            Operator::Fold => &[
                ("", FOLD, "neighbor_fold(s, rows_out(f.g), f, identity, Into<R>{out});"),
                ("_hubs", FOLD, "neighbor_fold_all(s, rows_out(f.g), f, identity, Into<R>{out});"),
                ("_join", FOLD, "neighbor_fold_join(s, rows_out(f.g), identity, Into<R>{out});"),
            ],
            Operator::FoldThen => &[
                ("", THEN, "neighbor_fold(s, rows_out(f.g), f, identity, then);"),
                ("_hubs", THEN, "neighbor_fold_all(s, rows_out(f.g), f, identity, then);"),
                ("_join", THEN, "neighbor_fold_join(s, rows_out(f.g), identity, then);"),
            ],
            Operator::Reduce => &[
                ("", ", const R identity", "reduce_tiles(s, f, identity);"),
                ("_partials", ", const R identity, R* to", "reduce_partials(s, identity, to);"),
            ],
            Operator::Histogram => &[("", ", Span<u64> counts", "histogram(s, f, counts);")],
        }
    }
}

/// The struct of a lambda: its arguments are members, so that the text finds them by name.
fn lambda_struct(
    out: &mut String,
    which: &str,
    body: &Body,
    (parts, graph): (u64, bool),
    on: &On,
) -> Result<()> {
    *out += &format!("struct {which} {{\n    Graph g;\n");
    // Names in text that was made from Rust are none of its own.
    let prefix = if body.place.is_some() { "a_" } else { "" };
    for (at, Param { name, kind }) in body.params.iter().enumerate() {
        let span = if parts >> at & 1 != 0 { "Parts" } else { "Span" };
        let member = match kind {
            Kind::Reads(dtype) => format!("{span}<const {}>", dtype.c()),
            Kind::Writes(dtype) => format!("{span}<{}>", dtype.c()),
            Kind::Scalar(dtype) => dtype.c().into(),
            Kind::ReadsSet | Kind::WritesSet => "Set".into(),
        };
        *out += &format!("    {member} {prefix}{name};\n");
    }
    *out += "    __device__ __forceinline__ void attach_all(Bad* bad) {\n        g.bad = bad;\n";
    for Param { name, .. } in body.params.iter().filter(|p| !matches!(p.kind, Kind::Scalar(_))) {
        *out += &format!("        attach({prefix}{name}, bad);\n");
    }
    *out += "    }\n";
    let On { returns, parameters, prologue } = on;
    // Without a graph, whatever the text does with `g` is an error that names this type.
    let hidden = if graph { "" } else { "const NoGraph g{}; (void)g; " };
    // What text that was made from Rust reports to.
    let bad = if body.place.is_some() { "Bad* const bad = this->g.bad; (void)bad; " } else { "" };
    // The text has a scope of its own, so that it may use the names of its parameters again.
    *out += &format!(
        "    __device__ __forceinline__ {returns} operator()({parameters}) const {{ {prologue}{bad}{hidden}{{\n"
    );
    *out += &format!(
        "#line 1 \"{}\"\n{}\n#line 1 \"hivegraph\"\n    }} }}\n}};\n",
        body.name,
        body.text()?
    );
    Ok(())
}

/// A copy of a lambda's parameters, member by member: compilers keep a struct of more than 128 bytes that is copied as a whole,
/// and hoist nothing that is read from it out of loops.
fn copied(which: &str, name: &str, body: &Body) -> String {
    let prefix = if body.place.is_some() { "a_" } else { "" };
    let members = body.params.iter().map(|param| format!(", {name}_.{prefix}{}", param.name));
    format!("{which} {name}{{{name}_.g{}}}; ", members.collect::<String>())
}

/// How a lambda is called.
pub(crate) struct On {
    pub returns: &'static str,
    parameters: String,
    prologue: &'static str,
}

const NODE: &str = "const u32 v = (u32)i; (void)v; ";

impl On {
    pub fn element(returns: &'static str) -> On {
        On { returns, parameters: "const u64 i".into(), prologue: NODE }
    }

    /// Of a node, and what its arcs come to.
    pub fn folded(number: &str) -> On {
        let parameters = format!("const u64 i, const {number} folded");
        On { returns: "void", parameters, prologue: NODE }
    }

    pub fn arc(returns: &'static str) -> On {
        On {
            returns,
            parameters: "const u32 u, const u32 v, const u64 e, const f32 w".into(),
            prologue: "",
        }
    }
}

/// The translation unit of an operator on a lambda, and on a second one: it says which nodes are wanted, or takes a fold.
pub(crate) fn unit(
    operator: Operator,
    (body, on): (&Body, &On),
    other: Option<(&Body, &On)>,
    form: Form,
) -> Result<Unit> {
    let written_once =
        body.place.is_some() || other.is_some_and(|(other, _)| other.place.is_some());
    let header = if written_once { "#include \"text.cuh\"\n" } else { "" };
    let mut text = format!("#include \"operators.cuh\"\n{header}");
    text += &body.functions;
    text += "\n";
    text += &body.known.text();
    lambda_struct(&mut text, "F", body, (form.parts[0], form.graph), on)?;
    if let Some((other, on)) = other {
        if other.functions != body.functions {
            text += &other.functions;
            text += "\n";
        }
        text += &other.known.beyond(&body.known).map_err(|what| other.error(&what))?;
        lambda_struct(&mut text, "O", other, (form.parts[1], form.graph), on)?;
    }
    if on.returns != "void" {
        text += &format!("typedef {} R;\n", on.returns);
    }
    let mut kernels = Vec::new();
    for (suffix, parameters, statement) in operator.kernels() {
        let name = format!("{}_{}{suffix}", operator.name(), body.name);
        let mut own = copied("F", "f", body) + "f.attach_all(&bad); ";
        for (part, attach) in [
            ("Set out", "attach(out, &bad); "),
            ("Span<R> out", "attach(out, &bad); "),
            ("Span<u64> counts", "attach(counts, &bad); "),
        ] {
            own += if parameters.contains(part) { attach } else { "" };
        }
        for (part, name) in [("O only_", "only"), ("O then_", "then")] {
            if let Some((other, _)) = other.filter(|_| parameters.contains(part)) {
                own += &copied("O", name, other);
                own += &format!("{name}.attach_all(&bad); ");
            }
        }
        text += &format!(
            "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}(const Shape s, const F f_{parameters}) {{\n\
             Bad bad{{f_.g.sink, 0, NONE, f_.g.argument}};\n{own}\n{statement}\nbad.report();\n}}\n"
        );
        kernels.push(name);
    }
    let unchecked = u8::from(body.unchecked && other.is_none_or(|(other, _)| other.unchecked));
    let mut options = vec![
        format!("-DHIVE_WIDE={}", u8::from(form.wide)),
        format!("-DHIVE_UNCHECKED={unchecked}"),
        format!("-DHIVE_FOLD={}", form.fold),
        format!("-DHIVE_SET={}", u8::from(form.set)),
        format!("-DHIVE_BACKWARD={}", u8::from(form.backward)),
        // A lambda that promises a value and forgets it is a mistake, not a warning.
        "--diag-error=940".into(),
    ];
    if written_once {
        // The host does not contract floats either.
        options.push("-fmad=false".into());
    }
    Ok(Unit { name: body.name.clone(), shown: body.shown(), text, kernels, options })
}

const _: () = assert!(size_of::<Span>() == size_of::<Parts>());
const _: () = assert!(size_of::<Set>() == size_of::<Parts>());

/// A kernel's parameter of several members, laid out as C++ does.
#[derive(Default)]
pub(crate) struct Bytes {
    bytes: Vec<u8>,
}

impl Bytes {
    pub fn push(&mut self, value: &[u8]) {
        let size = value.len();
        self.bytes.resize(self.bytes.len().next_multiple_of(size), 0);
        self.bytes.extend_from_slice(value);
    }

    /// A struct whose alignment is that of a word.
    pub fn put<T: Pod>(&mut self, value: &T) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.extend_from_slice(bytemuck::bytes_of(value));
    }

    /// An array or a set, which have one layout, and the address of its marks or 0. `sink` is memory that an empty array may be
    /// read at.
    pub fn span(
        &mut self,
        array: ArrayAddress,
        (length, marks): (u64, u64),
        sink: u64,
        argument: u32,
    ) {
        let (pointer, last) = match array {
            ArrayAddress::Flat(pointer) => (pointer, 0),
            ArrayAddress::Parts { table, part_length } => (table, part_length),
        };
        let parts = if length == 0 { sink } else { pointer };
        // `bad` is each thread's own.
        self.put(&Parts { parts, length, bad: 0, marks, argument, part_length: last });
    }

    /// The bytes, as words, so that they are aligned.
    pub fn words(mut self) -> Vec<u64> {
        self.bytes.resize(self.bytes.len().next_multiple_of(8).max(8), 0);
        bytemuck::pod_collect_to_vec(&self.bytes)
    }
}
