//! Numbers, operators, casts, indices, names.

use super::statements::{NO_MACROS, path_ident};
use super::{Access, Named, Order, Piece, Translator, argument, error, expect, together};
use crate::signature::Role;
use crate::types::{Number, Type, named};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Block, Expr, ExprIf, Lit, Stmt, UnOp};

impl Translator<'_> {
    /// An expression; `hint` is the type that is wanted of it, for numbers that do not say theirs.
    pub(super) fn piece(&mut self, expr: &Expr, hint: Option<Type>) -> syn::Result<Piece> {
        let span = expr.span();
        match expr {
            Expr::Lit(literal) => self.literal(&literal.lit, hint),
            Expr::Paren(inner) => {
                let piece = self.piece(&inner.expr, hint)?;
                Ok(Piece { cuda: format!("({})", piece.cuda), ..piece })
            }
            Expr::Group(inner) => self.piece(&inner.expr, hint),
            Expr::Path(path) => self.name(path),
            Expr::Unary(unary) => self.unary(unary, hint),
            Expr::Binary(binary) => self.binary(binary, hint),
            Expr::Cast(cast) => {
                let to = named(&cast.ty)?;
                // 1 as u64: the number has that type; 1.5 as u64 has not.
                let whole = is_whole_bare(&cast.expr);
                let takes = is_literal(&cast.expr)
                    && matches!(to, Type::Number(number) if number.is_float() != whole);
                let from = self.piece(&cast.expr, takes.then_some(to))?;
                let Type::Number(number) = to else {
                    return error(
                        cast.ty.span(),
                        "`as` makes numbers; compare with 0 for a bool: x != 0",
                    );
                };
                let counts = from.ty.is_number() || (from.ty == Type::Bool && !number.is_float());
                if !counts {
                    return error(span, format!("this is {}, which is no number", from.ty.words()));
                }
                let (value, ty) = (from.rust, ident(number.name()));
                let cuda = format!("text::cast<{}>({})", number.name(), from.cuda);
                Ok(Piece {
                    ty: to,
                    rust: quote_spanned!(span=> ((#value) as #ty)),
                    cuda,
                    order: from.order,
                })
            }
            Expr::Index(place) => self.element(place),
            Expr::Field(field) => self.field(field),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method(call, hint),
            Expr::If(branch) => self.chosen(branch, hint),
            Expr::Block(block) if block.label.is_none() => match alone(&block.block) {
                Some(inner) => self.piece(inner, hint),
                None => error(span, BIND_FIRST),
            },
            Expr::Match(_) | Expr::Block(_) | Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_) => {
                error(span, BIND_FIRST)
            }
            Expr::Assign(_) => error(span, "an assignment is a statement of its own"),
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => {
                error(span, "this is a statement of its own")
            }
            Expr::Macro(_) => error(span, NO_MACROS),
            Expr::Closure(_) => {
                error(span, "closures cannot be translated; write a function with #[device]")
            }
            Expr::Reference(_) | Expr::RawAddr(_) => {
                error(span, "references cannot be translated; numbers are copied")
            }
            Expr::Struct(_) | Expr::Tuple(_) | Expr::Array(_) | Expr::Repeat(_) => {
                error(span, "lambdas have numbers alone; use a variable for each")
            }
            Expr::Range(_) => error(span, "ranges belong to loops: for k in 0..n"),
            Expr::Let(_) => {
                error(span, "`let` in a condition cannot be translated; compare numbers")
            }
            Expr::Unsafe(_) => error(span, "`unsafe` cannot be translated; remove it"),
            Expr::Try(_) => error(span, "`?` cannot be translated: lambdas do not fail"),
            Expr::Await(_) | Expr::Async(_) => error(span, "lambdas are not async; remove it"),
            _ => error(span, "this cannot be translated; docs/operators.md lists what can"),
        }
    }

    /// A literal number or bool.
    pub(super) fn literal(&self, literal: &Lit, hint: Option<Type>) -> syn::Result<Piece> {
        let span = literal.span();
        let hinted = match hint {
            Some(Type::Number(number)) => Some(number),
            _ => None,
        };
        let unknown = || {
            let example = match literal {
                Lit::Float(value) => format!("{}_f32", value.base10_digits()),
                _ => format!("{}_u32", quote!(#literal)),
            };
            error(span, format!("say the type of this number: {example}, say"))
        };
        match literal {
            Lit::Bool(value) => {
                let cuda = value.value.to_string();
                Ok(Piece { ty: Type::Bool, rust: quote!(#literal), cuda, order: Order::Free })
            }
            Lit::Int(value) => {
                let number = match value.suffix() {
                    "" => hinted,
                    suffix => Some(number_of(suffix, span)?),
                };
                let Some(number) = number else { return unknown() };
                if number.is_float() && !value.suffix().is_empty() {
                    let float = format!("{}.0_{}", value.base10_digits(), number.name());
                    return self.literal(&Lit::Float(syn::LitFloat::new(&float, span)), hint);
                }
                if number.is_float() {
                    let what = format!(
                        "{} is wanted here; write {}.0",
                        number.name(),
                        value.base10_digits()
                    );
                    return error(span, what);
                }
                let digits = value.base10_digits();
                let parsed: i128 = digits
                    .parse()
                    .map_err(|_| syn::Error::new(span, "this number is too large"))?;
                let (low, high) = match number {
                    Number::U8 => (0, 0xff),
                    Number::U32 => (0, u32::MAX.into()),
                    Number::U64 => (0, u64::MAX.into()),
                    // -2147483648 is read as the negative of this.
                    _ => (i128::from(i32::MIN), 1 << 31),
                };
                if parsed < low || parsed > high {
                    return error(span, format!("this number is outside of {}", number.name()));
                }
                let name = number.name();
                let rust: TokenStream = format!("{digits}{name}").parse().unwrap_or_default();
                let cuda = match parsed < 0 {
                    false => format!("(({name}){parsed}ull)"),
                    true => format!("(({name})-{}ll)", -parsed),
                };
                let ty = Type::Number(number);
                Ok(Piece { ty, rust: spanned(rust, span), cuda, order: Order::Free })
            }
            Lit::Float(value) => {
                let number = match value.suffix() {
                    "" => hinted,
                    suffix => Some(number_of(suffix, span)?),
                };
                let Some(number) = number else { return unknown() };
                // 1. is a number, 1.f32 is none.
                let digits = value.base10_digits().trim_end_matches('.');
                let bad = |_| syn::Error::new(span, "this is no number");
                let cuda = match number {
                    Number::F32 => format!(
                        "text::bits(0x{:08x}u)",
                        digits.parse::<f32>().map_err(bad)?.to_bits()
                    ),
                    Number::F64 => format!(
                        "text::bits(0x{:016x}ull)",
                        digits.parse::<f64>().map_err(bad)?.to_bits()
                    ),
                    whole => {
                        let what =
                            format!("{} is wanted here, and this is a fraction", whole.name());
                        return error(span, what);
                    }
                };
                let rust: TokenStream =
                    format!("{digits}{}", number.name()).parse().unwrap_or_default();
                let ty = Type::Number(number);
                Ok(Piece { ty, rust: spanned(rust, span), cuda, order: Order::Free })
            }
            _ => error(span, "lambdas have numbers and bool alone"),
        }
    }

    /// A variable, an argument, a number's constant or one of Rust's.
    fn name(&mut self, path: &syn::ExprPath) -> syn::Result<Piece> {
        let span = path.span();
        let Some(ident) = path.path.get_ident() else { return self.constant(&path.path) };
        let rust = quote!(#ident);
        match self.find(&ident.to_string()) {
            Named::Local { cuda, ty, .. } => Ok(Piece { ty, rust, cuda, order: Order::Free }),
            Named::Argument(Role::Element, ty) => {
                Ok(Piece { ty, rust, cuda: ident.to_string(), order: Order::Free })
            }
            Named::Argument(Role::Scalar, ty) => {
                let cuda = argument(&ident.to_string());
                Ok(Piece { ty, rust, cuda, order: Order::Free })
            }
            Named::Argument(Role::Graph, _) => {
                error(span, "`g` is the graph; ask it something: g.degree(v)")
            }
            Named::Argument(Role::ReadsSet | Role::WritesSet, _) => {
                error(span, format!("`{ident}` is a set; ask for a node: {ident}.contains(v)"))
            }
            Named::Argument(..) => {
                error(span, format!("`{ident}` is an array; ask for an element: {ident}[v]"))
            }
            Named::Nothing if ident.to_string().starts_with(char::is_uppercase) => {
                self.constant(&path.path)
            }
            Named::Nothing => {
                let what = match ident.to_string().as_str() {
                    "g" => "; make it a parameter: g: GraphView",
                    "u" | "v" => "; make it a parameter: v: u32",
                    "i" | "e" => "; make it a parameter: i: u64",
                    "w" => "; make it a parameter: w: f32",
                    _ => "; lambdas capture nothing, so make it a parameter",
                };
                error(span, format!("there is no variable `{ident}`{what}"))
            }
        }
    }

    fn constant(&mut self, path: &syn::Path) -> syn::Result<Piece> {
        let span = path.span();
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let order = Order::Free;
        if let [.., ty, name] = names.as_slice()
            && let Some(number) = Number::of(ty)
        {
            let cuda = match (number, name.as_str()) {
                (Number::F32, _) => format!(
                    "text::bits({:#010x}u)",
                    match name.as_str() {
                        "MAX" => f32::MAX,
                        "MIN" => f32::MIN,
                        "INFINITY" => f32::INFINITY,
                        "NEG_INFINITY" => f32::NEG_INFINITY,
                        "EPSILON" => f32::EPSILON,
                        "MIN_POSITIVE" => f32::MIN_POSITIVE,
                        "NAN" => f32::from_bits(0x7fc0_0000),
                        _ => return error(span, "lambdas do not know this constant"),
                    }
                    .to_bits()
                ),
                (Number::F64, _) => format!(
                    "text::bits({:#018x}ull)",
                    match name.as_str() {
                        "MAX" => f64::MAX,
                        "MIN" => f64::MIN,
                        "INFINITY" => f64::INFINITY,
                        "NEG_INFINITY" => f64::NEG_INFINITY,
                        "EPSILON" => f64::EPSILON,
                        "MIN_POSITIVE" => f64::MIN_POSITIVE,
                        "NAN" => f64::from_bits(0x7ff8_0000_0000_0000),
                        _ => return error(span, "lambdas do not know this constant"),
                    }
                    .to_bits()
                ),
                (Number::U8 | Number::U32 | Number::U64, "MIN") => format!("(({ty})0)"),
                (Number::U8 | Number::U32 | Number::U64, "MAX") => format!("(({ty})~0ull)"),
                (Number::U8, "BITS") => "((u32)8)".into(),
                (Number::U32 | Number::I32, "BITS") => "((u32)32)".into(),
                (Number::U64, "BITS") => "((u32)64)".into(),
                (Number::I32, "MIN") => "((i32)0x80000000u)".into(),
                (Number::I32, "MAX") => "((i32)0x7fffffffu)".into(),
                _ => return error(span, "lambdas do not know this constant"),
            };
            let ty = if name == "BITS" { Number::U32 } else { number };
            return Ok(Piece { ty: Type::Number(ty), rust: quote!(#path), cuda, order });
        }
        for segment in &path.segments {
            crate::types::free(&segment.ident.to_string(), segment.span())?;
        }
        let known = names.join("_");
        let cuda = format!("constant_{known}");
        if !self.constants.iter().any(|(name, _)| *name == cuda) {
            self.constants.push((cuda.clone(), path.clone()));
        }
        Ok(Piece { ty: Type::Unknown, rust: quote!(#path), cuda, order })
    }

    fn unary(&mut self, unary: &syn::ExprUnary, hint: Option<Type>) -> syn::Result<Piece> {
        let span = unary.span();
        let Piece { ty, rust, cuda, order } = match (&unary.op, &*unary.expr) {
            (UnOp::Deref(_), _) => {
                return error(span, "there are no references in lambdas; remove the *");
            }
            (_, inner) => self.piece(inner, hint)?,
        };
        match &unary.op {
            UnOp::Not(_) if ty == Type::Bool => Ok(Piece {
                ty,
                rust: quote_spanned!(span=> (!#rust)),
                cuda: format!("!{cuda}"),
                order,
            }),
            UnOp::Not(_) if matches!(ty, Type::Number(number) if !number.is_float()) => {
                let cuda = format!("(({})~{cuda})", ty.cuda());
                Ok(Piece { ty, rust: quote_spanned!(span=> (!#rust)), cuda, order })
            }
            UnOp::Neg(_) if ty.is_number() => {
                if matches!(ty, Type::Number(Number::U8 | Number::U32 | Number::U64)) {
                    let name = ty.words();
                    return error(
                        span,
                        format!("{name} has no negative numbers; use i32 or a float"),
                    );
                }
                let cuda = format!("text::neg({cuda})");
                // A literal keeps its sign: -2147483648 is an i32.
                let rust = match matches!(*unary.expr, Expr::Lit(_)) {
                    true => quote_spanned!(span=> (-#rust)),
                    false => quote_spanned!(span=> ::hivegraph::operator::text::Signed::neg(#rust)),
                };
                Ok(Piece { ty, rust, cuda, order })
            }
            UnOp::Not(_) => {
                error(span, format!("`!` is for whole numbers and bool; this is {}", ty.words()))
            }
            _ => error(span, format!("`-` is for numbers; this is {}", ty.words())),
        }
    }

    /// Two expressions of one type: a number that does not say its own takes the other's.
    pub(super) fn pair(
        &mut self,
        left: &Expr,
        right: &Expr,
        hint: Option<Type>,
    ) -> syn::Result<(Piece, Piece)> {
        if is_bare(left) && !is_bare(right) {
            let right = self.piece(right, hint)?;
            let left = self.piece(left, Some(right.ty))?;
            return Ok((left, right));
        }
        let left = self.piece(left, hint)?;
        let right = self.piece(right, Some(left.ty))?;
        Ok((left, right))
    }

    fn binary(&mut self, binary: &syn::ExprBinary, hint: Option<Type>) -> syn::Result<Piece> {
        let (op, span) = (&binary.op, binary.span());
        match op {
            BinOp::And(_) | BinOp::Or(_) => {
                let left = self.piece(&binary.left, Some(Type::Bool))?;
                let right = self.piece(&binary.right, Some(Type::Bool))?;
                expect(binary.left.span(), left.ty, Type::Bool)?;
                expect(binary.right.span(), right.ty, Type::Bool)?;
                // The left side comes first in both languages.
                let order = left.order.max(right.order);
                let (a, b) = (left.rust, right.rust);
                let (rust, word) = match op {
                    BinOp::And(_) => (quote_spanned!(span=> (#a && #b)), "&&"),
                    _ => (quote_spanned!(span=> (#a || #b)), "||"),
                };
                let cuda = format!("({} {word} {})", left.cuda, right.cuda);
                Ok(Piece { ty: Type::Bool, rust, cuda, order })
            }
            BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Gt(_)
            | BinOp::Ge(_) => {
                let (left, right) = self.pair(&binary.left, &binary.right, None)?;
                expect(binary.right.span(), right.ty, left.ty)?;
                let compared = left.ty.is_number()
                    || (left.ty == Type::Bool && matches!(op, BinOp::Eq(_) | BinOp::Ne(_)));
                if !compared {
                    return error(
                        span,
                        format!("this compares numbers; it is given {}", left.ty.words()),
                    );
                }
                let order = together(span, &[left.order, right.order])?;
                let (a, b, word) = (left.rust, right.rust, quote!(#op).to_string());
                let cuda = format!("({} {word} {})", left.cuda, right.cuda);
                Ok(Piece { ty: Type::Bool, rust: quote_spanned!(span=> (#a #op #b)), cuda, order })
            }
            _ if matches!(op, BinOp::Shl(_) | BinOp::Shr(_)) => {
                let left = self.piece(&binary.left, hint)?;
                self.operated(span, *op, left, &binary.right)
            }
            _ if is_bare(&binary.left) && !is_bare(&binary.right) => {
                let right = self.piece(&binary.right, hint)?;
                let left = self.piece(&binary.left, Some(right.ty))?;
                combined(span, *op, left, right)
            }
            _ => {
                let left = self.piece(&binary.left, hint)?;
                self.operated(span, *op, left, &binary.right)
            }
        }
    }

    /// `left op right`, for an operator that makes a number.
    pub(super) fn operated(
        &mut self,
        span: Span,
        op: BinOp,
        left: Piece,
        right: &Expr,
    ) -> syn::Result<Piece> {
        let shifts = matches!(op, BinOp::Shl(_) | BinOp::Shr(_));
        let hint = if shifts { Type::Number(Number::U32) } else { left.ty };
        let right = self.piece(right, Some(hint))?;
        combined(span, op, left, right)
    }

    /// What indexes an array or names a node: any whole number; `usize` in Rust, `u64` in CUDA C++.
    pub(super) fn index(&mut self, expr: &Expr) -> syn::Result<Piece> {
        let piece = self.piece(expr, Some(Type::Number(Number::U64)))?;
        if !piece.ty.is_whole() {
            let what = format!("this is {}; nodes and indices are whole numbers", piece.ty.words());
            return error(expr.span(), what);
        }
        let (value, cuda) = (piece.rust, format!("(u64)({})", piece.cuda));
        // A number whose type is not known here is found to be whole by Rust's compiler.
        let rust = quote_spanned!(expr.span()=> (::hivegraph::operator::text::Whole::wide(#value) as usize));
        Ok(Piece { ty: Type::Number(Number::U64), rust, cuda, order: piece.order })
    }

    fn element(&mut self, place: &syn::ExprIndex) -> syn::Result<Piece> {
        let span = place.span();
        let array = path_ident(&place.expr);
        let role = array.as_ref().map(|ident| self.find(&ident.to_string()));
        let (Some(array), Some(Named::Argument(role, _))) = (array, role) else {
            return error(place.expr.span(), "an array is a parameter: Reads<..> or Writes<..>");
        };
        let index = self.index(&place.index)?;
        let (at, order) = (index.rust, index.order);
        let rust = quote_spanned!(span=> #array.at(#at));
        match role {
            Role::Reads(number) => {
                let cuda = format!("a_{array}[{}]", index.cuda);
                Ok(Piece { ty: Type::Number(number), rust, cuda, order })
            }
            Role::Writes(number) => {
                self.accesses(&array, Some(&place.index), Access::Plain);
                let cuda = format!("fresh_value(a_{array}[{}])", index.cuda);
                Ok(Piece { ty: Type::Number(number), rust, cuda, order: order.max(Order::Reads) })
            }
            Role::ReadsSet | Role::WritesSet => {
                error(span, format!("`{array}` is a set; ask {array}.contains(v)"))
            }
            _ => error(span, format!("`{array}` is no array")),
        }
    }

    fn field(&mut self, field: &syn::ExprField) -> syn::Result<Piece> {
        let span = field.span();
        let base = self.piece(&field.base, None)?;
        let syn::Member::Named(member) = &field.member else {
            return error(span, "there are no tuples in lambdas");
        };
        let (ty, to) = match (base.ty, member.to_string().as_str()) {
            (Type::Edge, "node") => (Number::U32, "u32"),
            (Type::Edge, "arc") => (Number::U64, "u64"),
            (Type::Edge, "weight") => (Number::F32, "f32"),
            (Type::Edge, _) => return error(member.span(), "an arc has node, arc and weight"),
            _ => return error(span, "only arcs have fields: node, arc and weight"),
        };
        let (from, to) = (base.rust, ident(to));
        let rust = quote_spanned!(span=> (#from.#member as #to));
        Ok(Piece {
            ty: Type::Number(ty),
            rust,
            cuda: format!("{}.{member}", base.cuda),
            order: base.order,
        })
    }

    /// `if a { b } else { c }` within an expression.
    fn chosen(&mut self, branch: &ExprIf, hint: Option<Type>) -> syn::Result<Piece> {
        let span = branch.span();
        let (Some(first), Some((_, other))) = (alone(&branch.then_branch), &branch.else_branch)
        else {
            return error(span, BIND_FIRST);
        };
        let second = match &**other {
            Expr::Block(block) => match alone(&block.block) {
                Some(inner) => inner,
                None => return error(other.span(), BIND_FIRST),
            },
            other => other,
        };
        let condition = self.piece(&branch.cond, Some(Type::Bool))?;
        expect(branch.cond.span(), condition.ty, Type::Bool)?;
        let (first, last) = self.pair(first, second, hint)?;
        expect(other.span(), last.ty, first.ty)?;
        let (test, yes, no) = (condition.rust, first.rust, last.rust);
        let cuda = format!("({} ? {} : {})", condition.cuda, first.cuda, last.cuda);
        let rust = quote_spanned!(span=> (if #test { #yes } else { #no }));
        let order = condition.order.max(first.order).max(last.order);
        Ok(Piece { ty: first.ty.with(last.ty), rust, cuda, order })
    }
}

const BIND_FIRST: &str =
    "statements within an expression cannot be translated; bind the value first: let x = ..";

/// `left op right`.
fn combined(span: Span, op: BinOp, left: Piece, right: Piece) -> syn::Result<Piece> {
    let order = together(span, &[left.order, right.order])?;
    let whole = || match left.ty.is_whole() {
        true => Ok(()),
        false => error(
            span,
            format!("this operator is for whole numbers; it is given {}", left.ty.words()),
        ),
    };
    let word = match op {
        BinOp::Add(_) => "add",
        BinOp::Sub(_) => "sub",
        BinOp::Mul(_) => "mul",
        BinOp::Div(_) => "div",
        BinOp::Rem(_) => "rem",
        BinOp::Shl(_) => "shl",
        BinOp::Shr(_) => "shr",
        BinOp::BitXor(_) => "xor_of",
        BinOp::BitAnd(_) => "and_of",
        BinOp::BitOr(_) => "or_of",
        _ => return error(span, "this operator cannot be translated"),
    };
    let function = ident(word);
    if matches!(word, "shl" | "shr") {
        whole()?;
        if !right.ty.is_whole() {
            return error(span, "a shift is by a whole number");
        }
        let (a, b) = (left.rust, right.rust);
        let rust = quote_spanned!(span=> ::hivegraph::operator::text::Whole::#function(#a, ::hivegraph::operator::text::Whole::wide(#b) as u32));
        let cuda = format!("text::{word}({}, (u32)({}))", left.cuda, right.cuda);
        return Ok(Piece { ty: left.ty, rust, cuda, order });
    }
    expect(span, right.ty, left.ty)?;
    let ty = left.ty.with(right.ty);
    let bits = matches!(word, "xor_of" | "and_of" | "or_of");
    if bits && ty != Type::Bool {
        whole()?;
    } else if !bits && !ty.is_number() {
        return error(span, format!("this operator is for numbers; it is given {}", ty.words()));
    }
    let (a, b) = (left.rust, right.rust);
    let (rust, more) = match word {
        _ if bits => (quote_spanned!(span=> (#a #op #b)), ""),
        // A division by zero is reported.
        "div" | "rem" => (quote_spanned!(span=> __faults.#function(#a, #b)), "bad, "),
        _ => (quote_spanned!(span=> ::hivegraph::operator::text::Number::#function(#a, #b)), ""),
    };
    let cuda = format!("text::{word}({more}{}, {})", left.cuda, right.cuda);
    Ok(Piece { ty, rust, cuda, order })
}

pub(super) fn ident(name: &str) -> syn::Ident {
    syn::Ident::new(name, Span::call_site())
}

fn spanned(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

fn number_of(suffix: &str, span: Span) -> syn::Result<Number> {
    Number::of(suffix)
        .ok_or_else(|| syn::Error::new(span, "lambdas have u8, u32, u64, i32, f32 and f64"))
}

/// The name that an expression is, widened or not.
pub(super) fn plain_name(expr: &Expr) -> Option<syn::Ident> {
    match expr {
        Expr::Cast(cast) if named(&cast.ty).ok() == Some(Type::Number(Number::U64)) => {
            plain_name(&cast.expr)
        }
        Expr::Paren(inner) => plain_name(&inner.expr),
        expr => path_ident(expr),
    }
}

/// A number that does not say its type, or several of them.
fn is_bare(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(value) => value.suffix().is_empty(),
            Lit::Float(value) => value.suffix().is_empty(),
            _ => false,
        },
        Expr::Paren(inner) => is_bare(&inner.expr),
        Expr::Unary(unary) => is_bare(&unary.expr),
        Expr::Binary(binary) => {
            let compares = matches!(
                binary.op,
                BinOp::Eq(_)
                    | BinOp::Ne(_)
                    | BinOp::Lt(_)
                    | BinOp::Le(_)
                    | BinOp::Gt(_)
                    | BinOp::Ge(_)
            );
            !compares && is_bare(&binary.left) && is_bare(&binary.right)
        }
        _ => false,
    }
}

/// A literal, with a minus perhaps.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Unary(unary) => matches!((&unary.op, &*unary.expr), (UnOp::Neg(_), Expr::Lit(_))),
        other => matches!(other, Expr::Lit(_)),
    }
}

/// A literal without a fraction.
fn is_whole_bare(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(literal) => matches!(&literal.lit, Lit::Int(_)),
        Expr::Paren(inner) => is_whole_bare(&inner.expr),
        Expr::Unary(unary) => is_whole_bare(&unary.expr),
        _ => false,
    }
}

/// The expression that a block consists of.
fn alone(block: &Block) -> Option<&Expr> {
    match block.stmts.as_slice() {
        [Stmt::Expr(expr, None)] => Some(expr),
        _ => None,
    }
}
