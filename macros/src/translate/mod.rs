//! From the body of a function to the Rust of its closure and to CUDA C++, statement by statement.
//!
//! Both get the same operations: whole numbers wrap, casts saturate, a division by zero is reported
//! (`src/operator/text.rs`, `kernels/text.cuh`). Every number in the Rust text gets its type, so that Rust's compiler finds
//! whatever was taken for another type here.

mod calls;
mod expressions;
mod statements;

use crate::signature::{Role, Signature};
use crate::types::Type;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::{Block, Expr, Path};

/// What a function becomes.
pub struct Translated {
    pub rust: TokenStream,
    pub cuda: String,
    /// Rust's constants that it uses, with their names in CUDA C++.
    pub constants: Vec<(String, Path)>,
    /// The functions that it calls.
    pub calls: Vec<Path>,
    /// The arrays that it writes, and where.
    pub places: Vec<(String, Place)>,
    /// How it writes each array and set, if what it leaves there does not depend on the order of threads.
    pub ways: Option<Vec<(String, &'static str)>>,
    /// Whether it calls no function of analysis, whose last bits differ between machines.
    pub exact: bool,
    /// Where it begins.
    pub line: u32,
}

pub fn translate(signature: &Signature, body: &Block) -> syn::Result<Translated> {
    no_attributes(quote::quote!(#body))?;
    let mut translator = Translator {
        signature,
        scopes: vec![Vec::new()],
        variables: 0,
        constants: Vec::new(),
        calls: Vec::new(),
        places: Vec::new(),
        accesses: Vec::new(),
        loops: 0,
        unused: false,
        exact: true,
    };
    if signature.device {
        for parameter in signature.parameters.iter().filter(|p| p.role == Role::Scalar) {
            let name = parameter.name.to_string();
            let local = Local { cuda: argument(&name), name, ty: parameter.ty, mutable: false };
            translator.scopes[0].push(local);
        }
    }
    let made = translator.block(body, signature.returns, &Sink::Return)?;
    Ok(Translated {
        rust: made.rust,
        cuda: made.cuda,
        ways: translator.ways(),
        exact: translator.exact,
        constants: translator.constants,
        calls: translator.calls,
        places: translator.places,
        line: line(signature.name.span()),
    })
}

/// The name of a parameter in CUDA C++, where it is none of the element's.
pub(crate) fn argument(name: &str) -> String {
    format!("a_{name}")
}

/// The line of a token in its file. `unwrap` gives the compiler's span, which is there wherever a macro runs; tests have none.
fn line(span: Span) -> u32 {
    #[cfg(not(test))]
    return span.unwrap().start().line() as u32;
    #[cfg(test)]
    return span.start().line as u32;
}

fn error<T>(span: Span, what: impl std::fmt::Display) -> syn::Result<T> {
    Err(syn::Error::new(span, what))
}

/// Where an array is written. Who has the element need not own what is written elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the element, or at the source of the arc.
    Own,
    /// At the place of the arc.
    Arc,
    /// At other indices.
    Any,
}

/// What is done with an element of an array that is written, or a node of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Access {
    /// It is read, written over, or handed to a function.
    Plain,
    /// An atomic of this name, whose result nobody sees.
    Blind(String),
    /// An atomic whose result is used.
    Seen,
}

/// How far the order in which two parts of an expression are evaluated shows: CUDA C++ leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// Not at all.
    Free,
    /// It reads what may change.
    Reads,
    /// It changes something.
    Changes,
}

/// An expression.
struct Piece {
    ty: Type,
    rust: TokenStream,
    cuda: String,
    order: Order,
}

/// Statements, and the type of what they end with.
struct Lines {
    ty: Type,
    rust: TokenStream,
    cuda: String,
}

/// What becomes of the value that statements end with, in CUDA C++.
#[derive(Clone)]
enum Sink {
    Nothing,
    Return,
    /// It is assigned to this variable.
    Local(String),
}

struct Local {
    name: String,
    cuda: String,
    ty: Type,
    mutable: bool,
}

struct Translator<'a> {
    signature: &'a Signature,
    scopes: Vec<Vec<Local>>,
    /// How many variables there were.
    variables: u32,
    constants: Vec<(String, Path)>,
    calls: Vec<Path>,
    places: Vec<(String, Place)>,
    /// What is done with arrays and sets that are written, and where.
    accesses: Vec<(String, Place, Access)>,
    /// Loops around what is translated.
    loops: u32,
    /// Nobody sees the value of the expression that comes next.
    unused: bool,
    exact: bool,
}

/// What a name stands for.
enum Named {
    Local { cuda: String, ty: Type, mutable: bool },
    Argument(Role, Type),
    Nothing,
}

impl Translator<'_> {
    fn find(&self, name: &str) -> Named {
        let locals = self.scopes.iter().rev().flat_map(|scope| scope.iter().rev());
        if let Some(local) = locals.into_iter().find(|local| local.name == name) {
            let Local { cuda, ty, mutable, .. } = local;
            return Named::Local { cuda: cuda.clone(), ty: *ty, mutable: *mutable };
        }
        match self.signature.parameters.iter().find(|p| p.name == name) {
            Some(parameter) => Named::Argument(parameter.role, parameter.ty),
            None => Named::Nothing,
        }
    }

    /// A name in CUDA C++ that nothing else has: names of the program have no `__`.
    fn fresh(&mut self, name: &str) -> String {
        self.variables += 1;
        format!("{name}__{}", self.variables)
    }

    /// Notes what is done at `index` with an array or set that is written; at whatever one where that is not known.
    fn accesses(&mut self, array: &syn::Ident, index: Option<&Expr>, access: Access) -> Place {
        let name = index.and_then(expressions::plain_name).map(|name| name.to_string());
        // A variable may have the name that an element has elsewhere.
        let element = |name: &String| matches!(self.find(name), Named::Argument(Role::Element, _));
        let place = match (self.signature.arc, name.filter(element).as_deref()) {
            (true, Some("u")) | (false, Some("v" | "i")) => Place::Own,
            (true, Some("e")) => Place::Arc,
            _ => Place::Any,
        };
        self.accesses.push((array.to_string(), place, access));
        place
    }

    /// Notes that the array is written there.
    fn writes(&mut self, array: &syn::Ident, index: Option<&Expr>, access: Access) {
        let place = self.accesses(array, index, access);
        let array = array.to_string();
        match self.places.iter_mut().find(|(name, _)| *name == array) {
            Some((_, held)) if *held == place => {}
            Some((_, held)) => *held = Place::Any,
            None => self.places.push((array, place)),
        }
    }

    /// An element has one thread, so that what this does at it alone comes in one order. Elsewhere threads meet: what they leave
    /// is the same in any order if all do one thing that has none, and nobody sees what was there.
    fn ways(&self) -> Option<Vec<(String, &'static str)>> {
        let mut ways: Vec<(String, &'static str)> = Vec::new();
        for (array, place, access) in &self.accesses {
            let parameter = self.signature.parameters.iter().find(|p| p.name == array);
            let role = parameter.map(|p| p.role);
            let exact = !matches!(role, Some(Role::Writes(number)) if number.is_float());
            let way = match access {
                _ if *place == Place::Own && !self.signature.arc => "Own",
                Access::Blind(name) => match name.as_str() {
                    "min" => "Min",
                    "max" => "Max",
                    "or" | "insert" => "Or",
                    "erase" => "Erase",
                    "add" if exact => "Add",
                    _ => return None,
                },
                _ => return None,
            };
            match ways.iter().find(|(known, _)| known == array) {
                Some((_, known)) if *known != way => return None,
                Some(_) => {}
                None => ways.push((array.clone(), way)),
            }
        }
        Some(ways)
    }

    /// Refuses a variable of the name of an argument.
    fn unused(&self, name: &syn::Ident) -> syn::Result<()> {
        let text = name.to_string();
        if self.signature.parameters.iter().any(|p| p.name == text) {
            return error(name.span(), format!("`{name}` is a parameter; choose another name"));
        }
        crate::types::free(&text, name.span())
    }

    /// Declares a variable; returns its name in CUDA C++.
    fn declare(&mut self, name: &syn::Ident, ty: Type, mutable: bool) -> syn::Result<String> {
        self.unused(name)?;
        let cuda = self.fresh(&name.to_string());
        let local = Local { name: name.to_string(), cuda: cuda.clone(), ty, mutable };
        self.scopes.last_mut().expect("a scope").push(local);
        Ok(cuda)
    }

    /// Does `body` with a scope of its own.
    fn scoped<T>(&mut self, body: impl FnOnce(&mut Self) -> syn::Result<T>) -> syn::Result<T> {
        self.scopes.push(Vec::new());
        let out = body(self);
        self.scopes.pop();
        out
    }

    /// `#line` of what follows.
    fn at(&self, span: Span) -> String {
        format!("\n#line {} \"{}\"\n", line(span), self.signature.name)
    }
}

/// Refuses attributes within a body: they would be lost.
fn no_attributes(tokens: TokenStream) -> syn::Result<()> {
    let mut pound = None;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next().map(|token| token.to_string());
                let harmless = matches!(first.as_deref(), Some("allow" | "expect" | "doc"));
                if let Some(span) =
                    pound.take().filter(|_| group.delimiter() == Delimiter::Bracket && !harmless)
                {
                    return error(span, "attributes within a lambda have no effect; remove it");
                }
                no_attributes(group.stream())?;
            }
            TokenTree::Punct(punct) if punct.as_char() == '#' => pound = Some(punct.span()),
            TokenTree::Punct(punct) if punct.as_char() == '!' && pound.is_some() => {}
            _ => pound = None,
        }
    }
    Ok(())
}

/// Refuses a type that does not fit.
fn expect(span: Span, found: Type, wanted: Type) -> syn::Result<()> {
    if found.fits(wanted) {
        return Ok(());
    }
    if found == Type::Unit {
        return error(span, format!("this has no value, and {} is wanted", wanted.words()));
    }
    let (found, wanted) = (found.words(), wanted.words());
    error(span, format!("this is {found}, and {wanted} is wanted; convert it with `as`"))
}

/// The order of parts that are evaluated one after the other in Rust and in any order in CUDA C++.
fn together(span: Span, parts: &[Order]) -> syn::Result<Order> {
    let most = parts.iter().copied().max().unwrap_or(Order::Free);
    let ordered = parts.iter().filter(|part| **part > Order::Free).count();
    if most == Order::Changes && ordered > 1 {
        let what = "one part of this changes what another part may read, and CUDA C++ evaluates them in any order; \
                    bind one of them first: let x = ..";
        return error(span, what);
    }
    Ok(most)
}
