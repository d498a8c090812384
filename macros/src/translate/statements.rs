//! Blocks, declarations, assignments, branches and loops.

use super::{Access, Lines, Named, Order, Piece, Sink, Translator, error, expect, together};
use crate::signature::Role;
use crate::types::{Type, named};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Arm, BinOp, Block, Expr, ExprAssign, ExprBinary, ExprForLoop, ExprIf, ExprMatch, Local, Pat,
    Stmt,
};

impl Translator<'_> {
    /// A block whose value goes to `sink`, without its braces in CUDA C++.
    pub(super) fn block(&mut self, block: &Block, wanted: Type, sink: &Sink) -> syn::Result<Lines> {
        self.scoped(|t| {
            let (mut rust, mut cuda, mut ty) = (TokenStream::new(), String::new(), Type::Unit);
            let mut wrong: Option<syn::Error> = None;
            for (at, statement) in block.stmts.iter().enumerate() {
                let last = at + 1 == block.stmts.len();
                let made = match statement {
                    Stmt::Expr(expr, None) if last => t.sunk(expr, wanted, sink),
                    other => t.statement(other),
                };
                match made {
                    Ok(lines) => {
                        cuda += &t.at(statement.span());
                        cuda += &lines.cuda;
                        rust.extend(lines.rust);
                        ty = match (last, statement) {
                            (true, Stmt::Expr(_, None)) => lines.ty,
                            _ if lines.ty == Type::Never => Type::Never,
                            _ => Type::Unit,
                        };
                    }
                    Err(error) => {
                        // Its uses are not wrong, too.
                        if let Stmt::Local(syn::Local { pat, .. }) = statement {
                            for name in names_of(pat) {
                                let _ = t.declare(name, Type::Unknown, true);
                            }
                        }
                        match &mut wrong {
                            Some(all) => all.combine(error),
                            None => wrong = Some(error),
                        }
                    }
                }
            }
            if let Some(wrong) = wrong {
                return Err(wrong);
            }
            if !matches!(sink, Sink::Nothing) || ty != Type::Unit {
                let end = block.stmts.last().map_or_else(|| block.span(), Spanned::span);
                expect(end, ty, wanted)?;
            }
            Ok(Lines { ty, rust: quote!({ #rust }), cuda })
        })
    }

    fn statement(&mut self, statement: &Stmt) -> syn::Result<Lines> {
        match statement {
            Stmt::Local(local) => self.local(local),
            Stmt::Expr(expr, semi) => {
                let lines = self.sunk(expr, Type::Unit, &Sink::Nothing)?;
                let rust = &lines.rust;
                let rust = if semi.is_some() { quote!(#rust;) } else { quote!(#rust) };
                Ok(Lines { rust, ..lines })
            }
            Stmt::Item(item) => {
                error(item.span(), "an item cannot stand in a lambda; move it out of the function")
            }
            Stmt::Macro(stmt) => error(stmt.span(), NO_MACROS),
        }
    }

    /// An expression as a statement, whose value goes to `sink`.
    pub(super) fn sunk(&mut self, expr: &Expr, wanted: Type, sink: &Sink) -> syn::Result<Lines> {
        match expr {
            Expr::If(branch) => self.branch(branch, wanted, sink),
            Expr::Match(choice) => self.choice(choice, wanted, sink),
            Expr::Block(block) if block.label.is_none() => {
                let lines = self.block(&block.block, wanted, sink)?;
                Ok(Lines { cuda: format!("{{ {} }}", lines.cuda), ..lines })
            }
            Expr::ForLoop(each) if each.label.is_none() => self.for_loop(each),
            Expr::While(again) if again.label.is_none() => {
                let condition = self.condition(&again.cond)?;
                let body = self.looped(&again.body)?;
                let (test, rust) = (condition.rust, body.rust);
                let cuda = format!("while ({}) {{ {} }}", condition.cuda, body.cuda);
                Ok(Lines {
                    ty: Type::Unit,
                    rust: quote_spanned!(expr.span()=> while #test #rust),
                    cuda,
                })
            }
            Expr::Loop(again) if again.label.is_none() => {
                let body = self.looped(&again.body)?;
                let (rust, cuda) = (body.rust, format!("for (;;) {{ {} }}", body.cuda));
                // It ends in a `return`, or not at all.
                let ty = if cuda.contains("break;") { Type::Unit } else { Type::Never };
                Ok(Lines { ty, rust: quote_spanned!(expr.span()=> loop #rust), cuda })
            }
            Expr::Return(back) => self.back(back.expr.as_deref(), expr),
            Expr::Break(stop) => match (&stop.label, &stop.expr) {
                (None, None) => self.jump(expr, "break"),
                _ => error(stop.span(), "`break` takes no label and no value; use a variable"),
            },
            Expr::Continue(next) => match &next.label {
                None => self.jump(expr, "continue"),
                _ => error(next.span(), "`continue` takes no label; use a variable"),
            },
            Expr::Assign(assign) => self.assign(assign),
            Expr::Binary(binary) if plain_of(&binary.op).is_some() => self.change(binary),
            Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) | Expr::Block(_) => {
                error(expr.span(), "labels cannot be translated; use a variable")
            }
            Expr::Paren(inner) if matches!(sink, Sink::Nothing) => {
                self.sunk(&inner.expr, wanted, sink)
            }
            _ => self.value(expr, wanted, sink),
        }
    }

    /// An expression without statements in it.
    fn value(&mut self, expr: &Expr, wanted: Type, sink: &Sink) -> syn::Result<Lines> {
        let hint = (wanted != Type::Unit).then_some(wanted);
        self.unused = matches!((sink, expr), (Sink::Nothing, Expr::MethodCall(_)));
        let piece = self.piece(expr, hint);
        self.unused = false;
        let Piece { ty, rust, cuda, .. } = piece?;
        let cuda = match sink {
            Sink::Nothing => format!("(void)({cuda});"),
            Sink::Return if ty == Type::Unit => format!("{cuda}; return;"),
            Sink::Return => format!("return {cuda};"),
            Sink::Local(name) => format!("{name} = {cuda};"),
        };
        match sink {
            Sink::Nothing => Ok(Lines { ty: Type::Unit, rust, cuda }),
            _ => {
                expect(expr.span(), ty, wanted)?;
                Ok(Lines { ty, rust, cuda })
            }
        }
    }

    fn back(&mut self, value: Option<&Expr>, whole: &Expr) -> syn::Result<Lines> {
        let returns = self.signature.returns;
        let ty = Type::Never;
        let Some(value) = value else {
            expect(whole.span(), Type::Unit, returns)?;
            return Ok(Lines {
                ty,
                rust: quote_spanned!(whole.span()=> return),
                cuda: "return;".into(),
            });
        };
        let Lines { rust, cuda, .. } = self.sunk(value, returns, &Sink::Return)?;
        Ok(Lines { ty, rust: quote_spanned!(whole.span()=> return #rust), cuda })
    }

    fn jump(&self, expr: &Expr, word: &str) -> syn::Result<Lines> {
        if self.loops == 0 {
            return error(expr.span(), format!("`{word}` outside of a loop"));
        }
        Ok(Lines { ty: Type::Never, rust: quote!(#expr), cuda: format!("{word};") })
    }

    fn looped(&mut self, body: &Block) -> syn::Result<Lines> {
        self.loops += 1;
        let lines = self.block(body, Type::Unit, &Sink::Nothing);
        self.loops -= 1;
        lines
    }

    fn condition(&mut self, expr: &Expr) -> syn::Result<Piece> {
        if let Expr::Let(pattern) = expr {
            return error(
                pattern.span(),
                "`if let` and `while let` cannot be translated; compare numbers",
            );
        }
        let piece = self.piece(expr, Some(Type::Bool))?;
        expect(expr.span(), piece.ty, Type::Bool)?;
        Ok(piece)
    }

    fn branch(&mut self, branch: &ExprIf, wanted: Type, sink: &Sink) -> syn::Result<Lines> {
        let condition = self.condition(&branch.cond)?;
        let first = self.block(&branch.then_branch, wanted, sink)?;
        let (test, yes) = (condition.rust, first.rust);
        let mut cuda = format!("if ({}) {{ {} }}", condition.cuda, first.cuda);
        let span = branch.span();
        let Some((_, other)) = &branch.else_branch else {
            expect(span, first.ty, Type::Unit)?;
            return Ok(Lines { ty: Type::Unit, rust: quote_spanned!(span=> if #test #yes), cuda });
        };
        let second = self.sunk(other, wanted.with(first.ty), sink)?;
        let no = second.rust;
        cuda += &format!(" else {{ {} }}", second.cuda);
        expect(other.span(), second.ty, first.ty)?;
        let ty = first.ty.with(second.ty);
        Ok(Lines { ty, rust: quote_spanned!(span=> if #test #yes else #no), cuda })
    }

    fn choice(&mut self, choice: &ExprMatch, wanted: Type, sink: &Sink) -> syn::Result<Lines> {
        let on = self.piece(&choice.expr, None)?;
        if !matches!(on.ty, Type::Number(number) if !number.is_float()) && on.ty != Type::Bool {
            let what = "`match` compares whole numbers and bool; bind it first: let x: u32 = ..";
            return error(choice.expr.span(), what);
        }
        let subject = self.fresh("match");
        let mut cuda = format!("const {} {subject} = {};", on.ty.cuda(), on.cuda);
        let (mut arms, mut ty, mut wanted) = (TokenStream::new(), Type::Never, wanted);
        for (at, arm) in choice.arms.iter().enumerate() {
            let (test, pattern, lines) = self.arm(arm, (&subject, on.ty), wanted, sink)?;
            expect(arm.body.span(), lines.ty, ty)?;
            (ty, wanted) = (ty.with(lines.ty), wanted.with(lines.ty));
            let body = lines.rust;
            arms.extend(quote!(#pattern => { #body }));
            let last = at + 1 == choice.arms.len();
            cuda += &match (at, last) {
                // Rust's compiler sees to it that one of the arms fits.
                (0, true) => format!("{{ {} }}", lines.cuda),
                (0, false) => format!("\nif ({test}) {{ {} }}", lines.cuda),
                (_, true) => format!(" else {{ {} }}", lines.cuda),
                (_, false) => format!(" else if ({test}) {{ {} }}", lines.cuda),
            };
        }
        let from = on.rust;
        Ok(Lines {
            ty,
            rust: quote_spanned!(choice.span()=> match #from { #arms }),
            cuda: format!("{{ {cuda} }}"),
        })
    }

    /// An arm of a `match`: whether it fits, in CUDA C++, its pattern and its body.
    fn arm(
        &mut self,
        arm: &Arm,
        (subject, ty): (&str, Type),
        wanted: Type,
        sink: &Sink,
    ) -> syn::Result<(String, TokenStream, Lines)> {
        self.scoped(|t| {
            let (pat, guard) = match &arm.pat {
                Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
                pat => (pat, None),
            };
            let pat = bare_pattern(pat);
            let mut test = t.pattern(pat, subject, ty)?;
            let mut pattern = quote!(#pat);
            if let Pat::Ident(name) = pat {
                // A name that is a constant's is an error of Rust's compiler here.
                pattern = quote!(#name @ _);
                t.unused(&name.ident)?;
                let local = super::Local {
                    name: name.ident.to_string(),
                    cuda: subject.into(),
                    ty,
                    mutable: false,
                };
                t.scopes.last_mut().expect("a scope").push(local);
            }
            if let Some(guard) = guard {
                let Piece { rust, cuda, .. } = t.condition(guard)?;
                test = format!("({test}) && ({cuda})");
                pattern.extend(quote!(if #rust));
            }
            let lines = t.sunk(&arm.body, wanted, sink)?;
            Ok((test, pattern, lines))
        })
    }

    /// Whether a pattern fits, in CUDA C++.
    fn pattern(&mut self, pat: &Pat, subject: &str, ty: Type) -> syn::Result<String> {
        match pat {
            Pat::Wild(_) => Ok("true".into()),
            Pat::Ident(name) if name.subpat.is_none() && name.by_ref.is_none() => {
                if name.mutability.is_some()
                    || name.ident.to_string().starts_with(char::is_uppercase)
                {
                    return error(name.span(), "use a number, a range, a new name or _");
                }
                Ok("true".into())
            }
            Pat::Lit(literal) => {
                let value = self.literal(&literal.lit, Some(ty))?;
                Ok(format!("{subject} == {}", value.cuda))
            }
            Pat::Or(cases)
                if cases.cases.iter().any(|case| matches!(bare_pattern(case), Pat::Ident(_))) =>
            {
                error(pat.span(), "a name stands alone in a pattern; use numbers and ranges with |")
            }
            Pat::Or(cases) => {
                let tests: syn::Result<Vec<String>> =
                    cases.cases.iter().map(|case| self.pattern(case, subject, ty)).collect();
                Ok(format!("({})", tests?.join(") || (")))
            }
            Pat::Paren(inner) => self.pattern(&inner.pat, subject, ty),
            Pat::Range(range) => {
                let mut tests = Vec::new();
                for (bound, open) in [(&range.start, true), (&range.end, false)] {
                    let Some(bound) = bound else { continue };
                    let Expr::Lit(literal) = &**bound else {
                        return error(bound.span(), "the ends of a range in a pattern are numbers");
                    };
                    let value = self.literal(&literal.lit, Some(ty))?.cuda;
                    let closed = matches!(range.limits, syn::RangeLimits::Closed(_));
                    tests.push(match (open, closed) {
                        (true, _) => format!("{subject} >= {value}"),
                        (false, true) => format!("{subject} <= {value}"),
                        (false, false) => format!("{subject} < {value}"),
                    });
                }
                Ok(if tests.is_empty() { "true".into() } else { tests.join(" && ") })
            }
            other => error(
                other.span(),
                "use a number, a range, several of them with |, a new name or _",
            ),
        }
    }

    fn local(&mut self, local: &Local) -> syn::Result<Lines> {
        let (pat, declared) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(named(&typed.ty)?)),
            pat => (pat, None),
        };
        let name = match pat {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name,
            Pat::Wild(_) => return error(pat.span(), "give the variable a name"),
            other => {
                return error(
                    other.span(),
                    "a `let` declares one variable; write a `let` for each",
                );
            }
        };
        let Some(init) = &local.init else {
            return error(
                local.span(),
                "give the variable a value where it is declared: let x = ..",
            );
        };
        if let Some((token, _)) = &init.diverge {
            return error(token.span(), "`let .. else` cannot be translated; use `if`");
        }
        let (mutability, ident) = (&name.mutability, &name.ident);
        let mutable = mutability.is_some();
        if is_bound(&init.expr) {
            return self.local_by_branches(name, declared, &init.expr);
        }
        let piece = self.piece(&init.expr, declared)?;
        if matches!(piece.ty, Type::Unit | Type::Never) {
            return error(init.expr.span(), "this has no value");
        }
        if let Some(ty) = declared {
            expect(init.expr.span(), piece.ty, ty)?;
        }
        let ty = declared.unwrap_or(piece.ty);
        let cuda = self.declare(ident, ty, mutable)?;
        let (value, of) = (piece.rust, rust_type(ty));
        let cuda = match ty {
            Type::Unknown => format!("auto {cuda} = {};", piece.cuda),
            ty => format!("{} {cuda} = {};", ty.cuda(), piece.cuda),
        };
        Ok(Lines { ty: Type::Unit, rust: quote!(let #mutability #ident #of = #value;), cuda })
    }

    /// `let x = if ..`, `match` or a block: each branch assigns.
    fn local_by_branches(
        &mut self,
        name: &syn::PatIdent,
        declared: Option<Type>,
        value: &Expr,
    ) -> syn::Result<Lines> {
        let (mutability, ident) = (&name.mutability, &name.ident);
        self.unused(ident)?;
        let cuda = self.fresh(&ident.to_string());
        let lines =
            self.sunk(value, declared.unwrap_or(Type::Unknown), &Sink::Local(cuda.clone()))?;
        let ty = declared.unwrap_or(lines.ty);
        match ty {
            Type::Unknown => {
                return error(ident.span(), format!("say its type: let {ident}: f32 = .."));
            }
            Type::Unit | Type::Never => return error(value.span(), "this has no value"),
            _ => {}
        }
        let local = super::Local {
            name: ident.to_string(),
            cuda: cuda.clone(),
            ty,
            mutable: mutability.is_some(),
        };
        self.scopes.last_mut().expect("a scope").push(local);
        let (rust, of) = (lines.rust, rust_type(ty));
        let cuda = format!("{} {cuda}; {}", ty.cuda(), lines.cuda);
        Ok(Lines { ty: Type::Unit, rust: quote!(let #mutability #ident #of = #rust;), cuda })
    }

    fn assign(&mut self, assign: &ExprAssign) -> syn::Result<Lines> {
        let span = assign.span();
        if let Expr::Index(place) = &*assign.left {
            let (array, number) = self.written(place)?;
            let index = self.index(&place.index)?;
            self.writes(&array, Some(&place.index), Access::Plain);
            let value = self.piece(&assign.right, Some(Type::Number(number)))?;
            expect(assign.right.span(), value.ty, Type::Number(number))?;
            together(span, &[index.order, value.order])?;
            let (at, what) = (index.rust, value.rust);
            let cuda = format!("put_at(a_{array}, {}, {});", index.cuda, value.cuda);
            let rust = quote_spanned!(span=> #array.set(#at, #what));
            return Ok(Lines { ty: Type::Unit, rust, cuda });
        }
        let (_, cuda, ty) = self.variable(&assign.left)?;
        let left = &assign.left;
        if is_bound(&assign.right) {
            let lines = self.sunk(&assign.right, ty, &Sink::Local(cuda))?;
            let rust = lines.rust;
            return Ok(Lines {
                ty: Type::Unit,
                rust: quote_spanned!(span=> #left = #rust),
                cuda: lines.cuda,
            });
        }
        let value = self.piece(&assign.right, Some(ty))?;
        expect(assign.right.span(), value.ty, ty)?;
        let what = value.rust;
        let cuda = format!("{cuda} = {};", value.cuda);
        Ok(Lines { ty: Type::Unit, rust: quote_spanned!(span=> #left = #what), cuda })
    }

    /// `x += y` and its like.
    fn change(&mut self, binary: &ExprBinary) -> syn::Result<Lines> {
        let span = binary.span();
        let Some(op) = plain_of(&binary.op) else { return error(span, "this operator assigns") };
        if let Expr::Index(place) = &*binary.left {
            let (array, number) = self.written(place)?;
            let index = self.index(&place.index)?;
            self.writes(&array, Some(&place.index), Access::Plain);
            let place = self.fresh("at");
            let old = Piece {
                ty: Type::Number(number),
                rust: quote!(#array.at(__at)),
                cuda: format!("fresh_value(a_{array}[{place}])"),
                order: Order::Reads,
            };
            let value = self.operated(span, op, old, &binary.right)?;
            if value.order == Order::Changes {
                return error(binary.right.span(), "bind this first: let x = ..");
            }
            together(span, &[index.order, value.order])?;
            let (at, what) = (index.rust, value.rust);
            let cuda = format!(
                "{{ const u64 {place} = {}; put_at(a_{array}, {place}, {}); }}",
                index.cuda, value.cuda
            );
            let rust = quote_spanned!(span=> { let __at = #at; #array.set(__at, #what) });
            return Ok(Lines { ty: Type::Unit, rust, cuda });
        }
        let (ident, cuda, ty) = self.variable(&binary.left)?;
        let old = Piece { ty, rust: quote!(#ident), cuda: cuda.clone(), order: Order::Free };
        let value = self.operated(span, op, old, &binary.right)?;
        expect(span, value.ty, ty)?;
        let what = value.rust;
        let cuda = format!("{cuda} = {};", value.cuda);
        Ok(Lines { ty: Type::Unit, rust: quote_spanned!(span=> #ident = #what), cuda })
    }

    /// The array whose element is assigned to.
    fn written(&self, place: &syn::ExprIndex) -> syn::Result<(syn::Ident, crate::types::Number)> {
        let Some(ident) = path_ident(&place.expr) else {
            return error(place.expr.span(), "an array is a parameter: Writes<..>");
        };
        match self.find(&ident.to_string()) {
            Named::Argument(Role::Writes(number), _) => Ok((ident, number)),
            Named::Argument(Role::Reads(number), _) => {
                let ty = number.name();
                let what = format!("`{ident}` is read only; declare {ident}: Writes<{ty}>");
                error(place.span(), what)
            }
            _ => error(place.expr.span(), format!("`{ident}` is no array that is written")),
        }
    }

    /// The variable that is assigned to.
    fn variable(&self, left: &Expr) -> syn::Result<(syn::Ident, String, Type)> {
        let Some(ident) = path_ident(left) else {
            return error(left.span(), "assign to a variable or to an element of an array");
        };
        match self.find(&ident.to_string()) {
            Named::Local { cuda, ty, mutable: true } => Ok((ident, cuda, ty)),
            Named::Local { .. } => error(
                left.span(),
                format!("`{ident}` does not change; declare it: let mut {ident} = .."),
            ),
            Named::Argument(Role::Reads(_) | Role::Writes(_), _) => error(
                left.span(),
                format!("`{ident}` is an array; assign to an element: {ident}[v] = .."),
            ),
            Named::Argument(..) => error(
                left.span(),
                format!("`{ident}` is a parameter; copy it: let mut x = {ident};"),
            ),
            Named::Nothing => error(left.span(), format!("there is no variable `{ident}`")),
        }
    }

    /// The variable of a loop, which may have no name.
    fn counter(&mut self, name: Option<&syn::Ident>, ty: Type) -> syn::Result<String> {
        match name {
            Some(name) => self.declare(name, ty, false),
            None => Ok(self.fresh("unnamed")),
        }
    }

    fn for_loop(&mut self, each: &ExprForLoop) -> syn::Result<Lines> {
        let name = match &*each.pat {
            Pat::Ident(name)
                if name.by_ref.is_none() && name.subpat.is_none() && name.mutability.is_none() =>
            {
                Some(&name.ident)
            }
            Pat::Wild(_) => None,
            other => return error(other.span(), "a loop has one variable: for e in g.edges(v)"),
        };
        let range = match &*each.expr {
            Expr::Paren(inner) => &*inner.expr,
            other => other,
        };
        let pat = &each.pat;
        if let Expr::Range(range) = range {
            let (Some(start), Some(end)) = (&range.start, &range.end) else {
                return error(range.span(), "a range has two ends: 0..n");
            };
            let (first, last) = self.pair(start, end, None)?;
            let ty = first.ty.with(last.ty);
            if !matches!(ty, Type::Number(number) if !number.is_float()) {
                return error(
                    range.span(),
                    "a range is of whole numbers; bind its ends first: let n: u64 = ..",
                );
            }
            expect(end.span(), last.ty, first.ty)?;
            together(range.span(), &[first.order, last.order])?;
            let closed = matches!(range.limits, syn::RangeLimits::Closed(_));
            return self.scoped(|t| {
                let variable = t.counter(name, ty)?;
                let body = t.looped(&each.body)?;
                let (c, k, end) = (ty.cuda(), t.fresh("k"), t.fresh("end"));
                let limits = if closed { quote!(..=) } else { quote!(..) };
                let (a, b, lines) = (first.rust, last.rust, body.rust);
                let rust = quote_spanned!(each.span()=> for #pat in (#a)#limits(#b) #lines);
                let (a, b, lines) = (first.cuda, last.cuda, body.cuda);
                let cuda = match closed {
                    false => format!(
                        "for ({c} {k} = {a}, {end} = {b}; {k} < {end}; {k}++) {{ const {c} {variable} = {k}; {lines} }}"
                    ),
                    // The last value may be the type's largest.
                    true => format!(
                        "{{ {c} {k} = {a}; const {c} {end} = {b};\n\
                         for (bool {k}m = {k} <= {end}; {k}m; {k}m = {k} != {end}, {k} = ({c})({k} + ({c}){k}m)) {{ const {c} {variable} = {k}; {lines} }} }}"
                    ),
                };
                Ok(Lines { ty: Type::Unit, rust, cuda })
            });
        }
        let row = self.row(range)?;
        self.scoped(|t| {
            let variable = t.counter(name, Type::Edge)?;
            let body = t.looped(&each.body)?;
            let (from, lines) = (row.rust, body.rust);
            let rust = quote_spanned!(each.span()=> for #pat in #from #lines);
            let cuda = format!("for (const Edge {variable} : {}) {{ {} }}", row.cuda, body.cuda);
            Ok(Lines { ty: Type::Unit, rust, cuda })
        })
    }
}

pub(super) const NO_MACROS: &str =
    "macros cannot be translated; write what it does, or compute it outside of the lambda";

/// A pattern without parentheses.
fn bare_pattern(pat: &Pat) -> &Pat {
    match pat {
        Pat::Paren(inner) => bare_pattern(&inner.pat),
        pat => pat,
    }
}

/// The names that a pattern declares.
fn names_of(pat: &Pat) -> Vec<&syn::Ident> {
    match pat {
        Pat::Type(typed) => names_of(&typed.pat),
        Pat::Tuple(tuple) => tuple.elems.iter().flat_map(names_of).collect(),
        Pat::Ident(name) => vec![&name.ident],
        _ => Vec::new(),
    }
}

/// Whether a value is made by statements.
fn is_bound(expr: &Expr) -> bool {
    matches!(expr, Expr::If(_) | Expr::Match(_) | Expr::Block(_))
}

/// `: u32`, where the type is known.
fn rust_type(ty: Type) -> Option<TokenStream> {
    let ident = |name| syn::Ident::new(name, proc_macro2::Span::call_site());
    match ty {
        Type::Bool | Type::Number(_) => {
            let name = ident(ty.cuda());
            Some(quote!(: #name))
        }
        _ => None,
    }
}

/// The identifier that an expression is.
pub(super) fn path_ident(expr: &Expr) -> Option<syn::Ident> {
    match expr {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident().cloned(),
        Expr::Paren(inner) => path_ident(&inner.expr),
        _ => None,
    }
}

/// `+` of `+=`.
fn plain_of(op: &BinOp) -> Option<BinOp> {
    Some(match op {
        BinOp::AddAssign(_) => BinOp::Add(Default::default()),
        BinOp::SubAssign(_) => BinOp::Sub(Default::default()),
        BinOp::MulAssign(_) => BinOp::Mul(Default::default()),
        BinOp::DivAssign(_) => BinOp::Div(Default::default()),
        BinOp::RemAssign(_) => BinOp::Rem(Default::default()),
        BinOp::BitXorAssign(_) => BinOp::BitXor(Default::default()),
        BinOp::BitAndAssign(_) => BinOp::BitAnd(Default::default()),
        BinOp::BitOrAssign(_) => BinOp::BitOr(Default::default()),
        BinOp::ShlAssign(_) => BinOp::Shl(Default::default()),
        BinOp::ShrAssign(_) => BinOp::Shr(Default::default()),
        _ => return None,
    })
}
