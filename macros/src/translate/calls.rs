//! Calls: of methods of numbers, arrays, sets, the graph and random numbers; of other functions.

use super::expressions::ident;
use super::statements::path_ident;
use super::{Access, Named, Order, Piece, Translator, error, expect, together};
use crate::signature::Role;
use crate::types::{Number, Type};
use proc_macro2::Span;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprCall, ExprMethodCall};

/// Methods of one number, and what they give: the same, bool, u32 or as many bits. The functions of analysis need not give the same bits on
/// the host and on GPUs.
const OF_FLOATS: &[&str] = &[
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "round",
    "exp",
    "ln",
    "log2",
    "sin",
    "cos",
    "is_nan",
    "is_finite",
    "to_bits",
];
const OF_WHOLE: &[&str] = &["count_ones", "leading_zeros", "trailing_zeros"];

impl Translator<'_> {
    pub(super) fn method(
        &mut self,
        call: &ExprMethodCall,
        hint: Option<Type>,
    ) -> syn::Result<Piece> {
        if let Some(turbofish) = &call.turbofish {
            return error(turbofish.span(), "lambdas are not generic");
        }
        let unused = std::mem::take(&mut self.unused);
        if let Some(receiver) = path_ident(&call.receiver) {
            match self.find(&receiver.to_string()) {
                Named::Argument(Role::Graph, _) => return self.of_graph(call),
                Named::Argument(Role::Reads(number), _) => {
                    return self.of_array(call, (&receiver, number), (false, unused));
                }
                Named::Argument(Role::Writes(number), _) => {
                    return self.of_array(call, (&receiver, number), (true, unused));
                }
                Named::Argument(Role::ReadsSet, _) => {
                    return self.of_set(call, &receiver, (false, unused));
                }
                Named::Argument(Role::WritesSet, _) => {
                    return self.of_set(call, &receiver, (true, unused));
                }
                Named::Local { ty: Type::Random, cuda, mutable } => {
                    return self.of_random(call, &receiver, &cuda, mutable);
                }
                _ => {}
            }
        }
        self.of_number(call, hint)
    }

    /// So many arguments.
    fn counted(&self, call: &ExprMethodCall, count: usize) -> syn::Result<()> {
        match call.args.len() == count {
            true => Ok(()),
            false => {
                let (name, given) = (&call.method, call.args.len());
                error(call.span(), format!("`{name}` takes {count} arguments and is given {given}"))
            }
        }
    }

    fn of_graph(&mut self, call: &ExprMethodCall) -> syn::Result<Piece> {
        let (span, method) = (call.span(), &call.method);
        let graph = &call.receiver;
        let whole = |rust, cuda, order| Piece { ty: Type::Number(Number::U64), rust, cuda, order };
        match method.to_string().as_str() {
            name @ ("nodes" | "arcs") => {
                self.counted(call, 0)?;
                let rust = quote_spanned!(span=> (#graph.#method() as u64));
                Ok(whole(rust, format!("g.{name}"), Order::Free))
            }
            name @ ("degree" | "in_degree") => {
                self.counted(call, 1)?;
                let node = self.index(&call.args[0])?;
                let at = node.rust;
                let rust = quote_spanned!(span=> (#graph.#method(#at) as u64));
                Ok(whole(rust, format!("g.{name}({})", node.cuda), node.order))
            }
            "id" => {
                self.counted(call, 1)?;
                let node = self.index(&call.args[0])?;
                let at = node.rust;
                let rust = quote_spanned!(span=> #graph.id(#at));
                let cuda = format!("g.id({})", node.cuda);
                Ok(Piece { ty: Type::Number(Number::U32), rust, cuda, order: node.order })
            }
            name @ ("edge" | "in_edge") => {
                self.counted(call, 2)?;
                let (node, place) = (self.index(&call.args[0])?, self.index(&call.args[1])?);
                let order = together(span, &[node.order, place.order])?;
                let (at, k) = (node.rust, place.rust);
                let rust = quote_spanned!(span=> #graph.#method(#at, #k));
                let cuda = format!("g.{name}({}, {})", node.cuda, place.cuda);
                Ok(Piece { ty: Type::Edge, rust, cuda, order })
            }
            "edges" | "in_edges" => error(span, "rows belong to loops: for e in g.edges(v)"),
            _ => error(
                method.span(),
                "the graph has nodes(), arcs(), id(v), degree(v), in_degree(v), edges(v), in_edges(v), edge(v, k) and in_edge(v, k)",
            ),
        }
    }

    /// What a loop over arcs goes over.
    pub(super) fn row(&mut self, expr: &Expr) -> syn::Result<Piece> {
        let what = "a loop goes over a range, 0..n, or over arcs, g.edges(v) or g.in_edges(v)";
        let Expr::MethodCall(call) = expr else { return error(expr.span(), what) };
        let graph = path_ident(&call.receiver).map(|receiver| self.find(&receiver.to_string()));
        let name = call.method.to_string();
        if !matches!(graph, Some(Named::Argument(Role::Graph, _)))
            || !matches!(name.as_str(), "edges" | "in_edges")
        {
            return error(expr.span(), what);
        }
        self.counted(call, 1)?;
        let node = self.index(&call.args[0])?;
        let (graph, method, at) = (&call.receiver, &call.method, node.rust);
        let rust = quote_spanned!(expr.span()=> #graph.#method(#at));
        Ok(Piece {
            ty: Type::Unknown,
            rust,
            cuda: format!("g.{name}({})", node.cuda),
            order: node.order,
        })
    }

    fn of_array(
        &mut self,
        call: &ExprMethodCall,
        (array, number): (&syn::Ident, Number),
        (written, unused): (bool, bool),
    ) -> syn::Result<Piece> {
        let (span, method) = (call.span(), &call.method);
        let name = method.to_string();
        if name == "len" {
            self.counted(call, 0)?;
            let rust = quote_spanned!(span=> (#array.len() as u64));
            let ty = Type::Number(Number::U64);
            return Ok(Piece { ty, rust, cuda: format!("a_{array}.size()"), order: Order::Free });
        }
        let known = matches!(name.as_str(), "add" | "min" | "max" | "or" | "cas");
        if !known {
            let what = "an array has len() and, where it is written, add(k, x), min(k, x), max(k, x), or(k, x) and cas(k, from, to); its elements are x[k]";
            return error(method.span(), what);
        }
        if !written {
            let ty = number.name();
            return error(span, format!("`{array}` is read only; declare {array}: Writes<{ty}>"));
        }
        let bits = matches!(number, Number::U32 | Number::U64);
        let has = match name.as_str() {
            "or" | "cas" => bits,
            _ => number != Number::U8,
        };
        if !has {
            let ty = number.name();
            return error(
                method.span(),
                format!("there is no atomic `{name}` of {ty}; use u32 or u64"),
            );
        }
        self.counted(call, if name == "cas" { 3 } else { 2 })?;
        let index = self.index(&call.args[0])?;
        let access = if unused { Access::Blind(name.clone()) } else { Access::Seen };
        self.writes(array, Some(&call.args[0]), access);
        let (mut orders, mut rust, mut cuda) =
            (vec![index.order], index.rust, format!("a_{array}, {}", index.cuda));
        let ty = Type::Number(number);
        for value in call.args.iter().skip(1) {
            let piece = self.piece(value, Some(ty))?;
            expect(value.span(), piece.ty, ty)?;
            orders.push(piece.order);
            let more = piece.rust;
            rust = quote!(#rust, #more);
            cuda += &format!(", {}", piece.cuda);
        }
        if together(span, &orders)? == Order::Changes {
            return error(span, "an argument of this changes something; bind it first: let x = ..");
        }
        let rust = quote_spanned!(span=> #array.#method(#rust));
        Ok(Piece { ty, rust, cuda: format!("{name}_at({cuda})"), order: Order::Changes })
    }

    fn of_set(
        &mut self,
        call: &ExprMethodCall,
        set: &syn::Ident,
        (written, unused): (bool, bool),
    ) -> syn::Result<Piece> {
        let (span, method) = (call.span(), &call.method);
        let (ty, order) = match (method.to_string().as_str(), written) {
            ("contains", false) => (Type::Bool, Order::Free),
            ("contains", true) => (Type::Bool, Order::Reads),
            ("insert", true) => (Type::Bool, Order::Changes),
            ("erase", true) => (Type::Unit, Order::Changes),
            ("insert" | "erase", false) => {
                return error(
                    span,
                    format!("`{set}` is read only; declare {set}: Writes<NodeSet>"),
                );
            }
            _ => return error(method.span(), "a set has contains(v), insert(v) and erase(v)"),
        };
        self.counted(call, 1)?;
        if written {
            let access = match order {
                Order::Changes if unused => Access::Blind(method.to_string()),
                Order::Changes => Access::Seen,
                _ => Access::Plain,
            };
            self.accesses(set, Some(&call.args[0]), access);
        }
        let node = self.index(&call.args[0])?;
        if node.order == Order::Changes {
            return error(span, "the node changes something; bind it first: let x = ..");
        }
        let at = node.rust;
        let rust = quote_spanned!(span=> #set.#method(#at));
        Ok(Piece {
            ty,
            rust,
            cuda: format!("a_{set}.{method}({})", node.cuda),
            order: order.max(node.order),
        })
    }

    fn of_random(
        &mut self,
        call: &ExprMethodCall,
        random: &syn::Ident,
        cuda: &str,
        mutable: bool,
    ) -> syn::Result<Piece> {
        let (span, method) = (call.span(), &call.method);
        if !mutable {
            let what = format!("drawing changes `{random}`; declare it: let mut {random} = ..");
            return error(span, what);
        }
        let order = Order::Changes;
        match method.to_string().as_str() {
            name @ ("bits" | "unit") => {
                self.counted(call, 0)?;
                let ty = Type::Number(if name == "bits" { Number::U64 } else { Number::F32 });
                let rust = quote_spanned!(span=> #random.#method());
                Ok(Piece { ty, rust, cuda: format!("{cuda}.{name}()"), order })
            }
            "below" => {
                self.counted(call, 1)?;
                let most = self.whole(&call.args[0])?;
                if most.order == Order::Changes {
                    return error(span, "the limit changes something; bind it first: let x = ..");
                }
                let n = most.rust;
                let rust = quote_spanned!(span=> #random.below(#n));
                let ty = Type::Number(Number::U64);
                Ok(Piece { ty, rust, cuda: format!("{cuda}.below({})", most.cuda), order })
            }
            _ => error(method.span(), "random numbers have bits(), unit() and below(n)"),
        }
    }

    /// A whole number of any type, as u64.
    fn whole(&mut self, expr: &Expr) -> syn::Result<Piece> {
        let piece = self.piece(expr, Some(Type::Number(Number::U64)))?;
        if !piece.ty.is_whole() {
            return error(
                expr.span(),
                format!("this is {}; a whole number is wanted", piece.ty.words()),
            );
        }
        let value = piece.rust;
        let rust = quote_spanned!(expr.span()=> ::hivegraph::operator::text::Whole::wide(#value));
        Ok(Piece {
            ty: Type::Number(Number::U64),
            rust,
            cuda: format!("(u64)({})", piece.cuda),
            order: piece.order,
        })
    }

    fn of_number(&mut self, call: &ExprMethodCall, hint: Option<Type>) -> syn::Result<Piece> {
        let (span, method) = (call.span(), &call.method);
        let name = method.to_string();
        let receiver = self.piece(&call.receiver, hint)?;
        let ty = receiver.ty;
        if ty == Type::Random {
            return error(span, "bind it first: let mut r = Random::new(seed, v);");
        }
        if name.starts_with("wrapping_") {
            return error(method.span(), "+, -, * and << wrap already; write the operator");
        }
        if !ty.is_number() {
            return error(span, format!("this is {}, which has no `{name}`", ty.words()));
        }
        let float = !matches!(ty, Type::Number(number) if !number.is_float());
        self.exact &= !matches!(name.as_str(), "exp" | "ln" | "log2" | "sin" | "cos" | "powf");
        let from = receiver.rust;
        if matches!(name.as_str(), "min" | "max" | "powf") {
            self.counted(call, 1)?;
            if name == "powf" && !float {
                return error(span, format!("{} has no `powf`; convert it with `as`", ty.words()));
            }
            let other = self.piece(&call.args[0], Some(ty))?;
            expect(call.args[0].span(), other.ty, ty)?;
            let order = together(span, &[receiver.order, other.order])?;
            let to = other.rust;
            let kind = ident(if name == "powf" { "Float" } else { "Number" });
            let rust =
                quote_spanned!(span=> ::hivegraph::operator::text::#kind::#method(#from, #to));
            let cuda = format!("text::{name}_of({}, {})", receiver.cuda, other.cuda);
            return Ok(Piece { ty: ty.with(other.ty), rust, cuda, order });
        }
        if !(OF_FLOATS.contains(&name.as_str())
            || OF_WHOLE.contains(&name.as_str())
            || name == "abs")
        {
            let what = "numbers have min, max, abs, sqrt, floor, ceil, trunc, round, exp, ln, log2, sin, cos, powf, \
                        is_nan, is_finite, to_bits, count_ones, leading_zeros and trailing_zeros";
            return error(method.span(), what);
        }
        if OF_FLOATS.contains(&name.as_str()) && !float
            || OF_WHOLE.contains(&name.as_str()) && !ty.is_whole()
        {
            return error(span, format!("{} has no `{name}`; convert it with `as`", ty.words()));
        }
        self.counted(call, 0)?;
        let returned = match name.as_str() {
            "is_nan" | "is_finite" => Type::Bool,
            "count_ones" | "leading_zeros" | "trailing_zeros" => Type::Number(Number::U32),
            "to_bits" => match ty {
                Type::Number(Number::F32) => Type::Number(Number::U32),
                Type::Number(_) => Type::Number(Number::U64),
                other => other,
            },
            _ => ty,
        };
        let kind = ident(match name.as_str() {
            "abs" => "Number",
            _ if OF_WHOLE.contains(&name.as_str()) => "Whole",
            _ => "Float",
        });
        let rust = quote_spanned!(span=> ::hivegraph::operator::text::#kind::#method(#from));
        Ok(Piece {
            ty: returned,
            rust,
            cuda: format!("text::{name}_of({})", receiver.cuda),
            order: receiver.order,
        })
    }

    /// A call of another function.
    pub(super) fn call(&mut self, call: &ExprCall) -> syn::Result<Piece> {
        let span = call.span();
        let Expr::Path(function) = &*call.func else {
            return error(span, "only functions can be called");
        };
        let path = &function.path;
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [.., "Random", "new"] => {
                if call.args.len() != 2 {
                    return error(
                        span,
                        "random numbers have a seed and a stream: Random::new(seed, v)",
                    );
                }
                let (seed, stream) = (self.whole(&call.args[0])?, self.whole(&call.args[1])?);
                let order = together(span, &[seed.order, stream.order])?;
                let (a, b) = (seed.rust, stream.rust);
                let rust = quote_spanned!(span=> ::hivegraph::operator::Random::new(#a, #b));
                let cuda = format!("Random({}, {})", seed.cuda, stream.cuda);
                Ok(Piece { ty: Type::Random, rust, cuda, order })
            }
            [.., "Random", "mix"] => {
                if call.args.len() != 1 {
                    return error(span, "Random::mix takes one number");
                }
                let Piece { rust: bits, cuda, order, .. } = self.whole(&call.args[0])?;
                let rust = quote_spanned!(span=> ::hivegraph::operator::Random::mix(#bits));
                Ok(Piece {
                    ty: Type::Number(Number::U64),
                    rust,
                    cuda: format!("mix({cuda})"),
                    order,
                })
            }
            _ => self.function(call, path),
        }
    }

    /// A call of a function with `#[device]`.
    fn function(&mut self, call: &ExprCall, path: &syn::Path) -> syn::Result<Piece> {
        let span: Span = call.span();
        let Some(last) = path.segments.last() else {
            return error(span, "only functions can be called");
        };
        let name = last.ident.to_string();
        let first = path.segments.first().map(|first| first.ident.to_string()).unwrap_or_default();
        if Number::of(&first).is_some() {
            let advice =
                if name == "from" { "use `as`".into() } else { format!("write a.{name}(..)") };
            return error(span, format!("functions of types cannot be translated; {advice}"));
        }
        if name.starts_with(char::is_uppercase) {
            return error(span, "lambdas make no values but numbers");
        }
        if last.ident == self.signature.name && path.segments.len() == 1 {
            return error(span, "a lambda cannot call itself; use a loop");
        }
        let (mut rust, mut cuda) = (quote!(__faults), String::from("bad"));
        let (mut orders, mut changes) = (Vec::new(), Order::Free);
        for value in &call.args {
            // An array, a set or the graph is handed on as it is.
            if let Some(name) = path_ident(value)
                && let Named::Argument(role, _) = self.find(&name.to_string())
                && !matches!(role, Role::Element | Role::Scalar)
            {
                let writes = matches!(role, Role::Writes(_) | Role::WritesSet);
                changes = if writes { Order::Changes } else { changes };
                if let Role::Writes(_) = role {
                    self.writes(&name, None, Access::Plain);
                } else if writes {
                    self.accesses(&name, None, Access::Plain);
                }
                rust = quote!(#rust, #name);
                cuda += &match role {
                    Role::Graph => ", g".into(),
                    _ => format!(", a_{name}"),
                };
                continue;
            }
            let piece = self.piece(value, None)?;
            if !piece.ty.is_number() && piece.ty != Type::Bool {
                return error(
                    value.span(),
                    format!("this is {}; functions take numbers and bool", piece.ty.words()),
                );
            }
            orders.push(piece.order);
            let more = piece.rust;
            rust = quote!(#rust, #more);
            cuda += &format!(", {}", piece.cuda);
        }
        let order = together(span, &orders)?.max(changes);
        let known = |other: &syn::Path| quote!(#other).to_string() == quote!(#path).to_string();
        if !self.calls.iter().any(known) {
            self.calls.push(path.clone());
        }
        let rust = quote_spanned!(span=> #path::call(#rust));
        Ok(Piece { ty: Type::Unknown, rust, cuda: format!("f_{name}({cuda})"), order })
    }
}
