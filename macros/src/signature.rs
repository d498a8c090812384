//! What the parameters of a function say: its element, its arrays, sets and numbers.

use crate::translate::argument;
use crate::types::{Number, Type, free, named};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{FnArg, GenericArgument, ItemFn, Pat, PathArguments, ReturnType};

/// What `#[lambda(..)]` is given.
pub struct Options {
    pub unchecked: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> syn::Result<Options> {
        if input.is_empty() {
            return Ok(Options { unchecked: false });
        }
        let word: Ident = input.parse()?;
        if word != "unchecked" || !input.is_empty() {
            let what = "use #[lambda] or #[lambda(unchecked)]";
            return Err(syn::Error::new(word.span(), what));
        }
        Ok(Options { unchecked: true })
    }
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `g`
    Graph,
    /// `v`, `i`; `u`, `v`, `e`, `w`
    Element,
    Reads(Number),
    Writes(Number),
    ReadsSet,
    WritesSet,
    Scalar,
}

pub struct Parameter {
    pub name: Ident,
    pub role: Role,
    /// Of an element or a scalar.
    pub ty: Type,
}

pub struct Signature {
    pub name: Ident,
    pub parameters: Vec<Parameter>,
    pub returns: Type,
    /// As it was written.
    pub output: TokenStream,
    /// Of an arc.
    pub arc: bool,
    /// Of a node and the fold of its arcs' values: the type of that.
    pub folded: Option<Type>,
    /// Lambdas call it; it is none.
    pub device: bool,
}

/// The names of an element and of the graph, with their types.
fn reserved(name: &str) -> Option<(Role, Type)> {
    let number = |number| (Role::Element, Type::Number(number));
    Some(match name {
        "g" => (Role::Graph, Type::Unknown),
        "u" | "v" => number(Number::U32),
        "i" | "e" => number(Number::U64),
        "w" => number(Number::F32),
        _ => return None,
    })
}

/// Whether a parameter says that a lambda is of arcs.
pub fn is_of_arcs(input: &FnArg) -> bool {
    let FnArg::Typed(input) = input else { return false };
    matches!(&*input.pat, Pat::Ident(name) if name.ident == "u" || name.ident == "e" || name.ident == "w")
}

/// The type of a parameter that says that a lambda is of a node and the fold of its arcs' values.
pub fn folded(input: &FnArg) -> Option<&syn::Type> {
    let FnArg::Typed(input) = input else { return None };
    let is_folded = matches!(&*input.pat, Pat::Ident(name) if name.ident == "folded");
    let number = matches!(named(&input.ty), Ok(Type::Number(number)) if number != Number::U8);
    (is_folded && number).then_some(&*input.ty)
}

/// `Reads<f32>`: its name, and what is in its brackets.
fn wrapped(ty: &syn::Type) -> Option<(String, &syn::Type)> {
    let syn::Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(inner) = &last.arguments else { return None };
    match inner.args.first() {
        Some(GenericArgument::Type(ty)) if inner.args.len() == 1 => {
            Some((last.ident.to_string(), ty))
        }
        _ => None,
    }
}

fn is_named(ty: &syn::Type, name: &str) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

fn parameter(whole: &FnArg, device: bool) -> syn::Result<Parameter> {
    let FnArg::Typed(input) = whole else {
        return Err(syn::Error::new(whole.span(), "a lambda is a plain function, without self"));
    };
    if let Some(attribute) = input.attrs.first() {
        return Err(syn::Error::new(attribute.span(), "parameters have no attributes; remove it"));
    }
    let name = match &*input.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => pat,
        other => return Err(syn::Error::new(other.span(), "a parameter is a name and a type")),
    };
    if name.mutability.is_some() {
        let what = "a parameter cannot be changed; copy it: let mut x = ..";
        return Err(syn::Error::new(name.span(), what));
    }
    let (name, ty) = (name.ident.clone(), &*input.ty);
    free(&name.to_string(), name.span())?;
    let error = |what: String| Err(syn::Error::new(ty.span(), what));
    if !device && folded(whole).is_some() {
        return Ok(Parameter { name, role: Role::Element, ty: named(ty)? });
    }
    let reserved = match (reserved(&name.to_string()), device) {
        // The element of a lambda is no more than a number elsewhere.
        (Some((Role::Element, _)), true) => None,
        (reserved, _) => reserved,
    };
    if let Some((role, expected)) = reserved {
        if role == Role::Graph && !is_named(ty, "GraphView") {
            return error("`g` is the graph; write g: GraphView, or choose another name".into());
        }
        if role != Role::Graph && named(ty).ok() != Some(expected) {
            let what = match name.to_string().as_str() {
                "u" => "the source of an arc",
                "v" => "a node, or the neighbour along an arc",
                "i" => "an index",
                "e" => "the place of an arc",
                _ => "the weight of an arc",
            };
            let ty = expected.words();
            return error(format!(
                "`{name}` is {what}; write {name}: {ty}, or choose another name"
            ));
        }
        return Ok(Parameter { name, role, ty: expected });
    }
    let array = match wrapped(ty) {
        Some((kind, inner)) => {
            let set = is_named(inner, "NodeSet");
            match (kind.as_str(), set) {
                ("Reads", true) => Some(Role::ReadsSet),
                ("Writes", true) => Some(Role::WritesSet),
                ("Reads" | "Writes", false) => {
                    let Type::Number(number) = named(inner)? else {
                        return error("arrays hold u8, u32, u64, i32, f32 or f64".into());
                    };
                    Some(if kind == "Reads" { Role::Reads(number) } else { Role::Writes(number) })
                }
                _ => None,
            }
        }
        None => None,
    };
    if let Some(role) = array {
        return Ok(Parameter { name, role, ty: Type::Unknown });
    }
    match named(ty) {
        Ok(ty @ Type::Number(_)) => Ok(Parameter { name, role: Role::Scalar, ty }),
        Ok(Type::Bool) if device => Ok(Parameter { name, role: Role::Scalar, ty: Type::Bool }),
        _ => error(
            "write Reads<f32>, Writes<f32>, Reads<NodeSet>, Writes<NodeSet> or a number: u8, u32, u64, i32, f32 or f64"
                .into(),
        ),
    }
}

impl Signature {
    pub fn of_lambda(function: &ItemFn) -> syn::Result<Signature> {
        Signature::of(function, false)
    }

    pub fn of_device(function: &ItemFn) -> syn::Result<Signature> {
        Signature::of(function, true)
    }

    fn of(function: &ItemFn, device: bool) -> syn::Result<Signature> {
        let sig = &function.sig;
        let error = |span, what: &str| Err(syn::Error::new(span, what));
        if let Some(parameter) = sig.generics.params.first() {
            return error(parameter.span(), "lambdas are not generic; write one for each type");
        }
        if let Some(token) = &sig.asyncness {
            return error(token.span(), "lambdas are not async; remove it");
        }
        if let Some(abi) = &sig.abi {
            return error(abi.span(), "lambdas have no ABI; remove it");
        }
        free(&sig.ident.to_string(), sig.ident.span())?;
        let mut parameters: Vec<Parameter> = Vec::new();
        for argument in &sig.inputs {
            parameters.push(parameter(argument, device)?);
        }
        let has = |name: &str| parameters.iter().any(|p| p.role == Role::Element && p.name == name);
        let arc = ["u", "e", "w"].into_iter().any(has);
        if let Some(index) = parameters.iter().find(|p| arc && p.name == "i") {
            return error(index.name.span(), "an arc has no index `i`; its place is e: u64");
        }
        let folded = parameters.iter().find(|p| p.role == Role::Element && p.name == "folded");
        if let Some(folded) = folded.filter(|_| arc) {
            let what = "`folded` is what the arcs of a node come to; an arc has none, so remove u, e and w";
            return error(folded.name.span(), what);
        }
        let folded = folded.map(|p| p.ty);
        let (returns, output) = match &sig.output {
            ReturnType::Default => (Type::Unit, quote!(())),
            ReturnType::Type(_, ty) => (named(ty)?, quote!(#ty)),
        };
        let returned = match returns {
            Type::Unit | Type::Bool => true,
            Type::Number(number) => number != Number::U8,
            _ => false,
        };
        if !returned {
            return error(
                sig.output.span(),
                "a lambda returns nothing, bool, u32, u64, i32, f32 or f64",
            );
        }
        if folded.is_some() && returns != Type::Unit {
            let what = "a lambda of `folded` returns nothing; write what comes of it to an array";
            return error(sig.output.span(), what);
        }
        Ok(Signature { name: sig.ident.clone(), parameters, returns, output, arc, folded, device })
    }

    /// The type of what is made, and the number in it: `ArcLambda` and `f32`.
    pub fn kind(&self) -> (Ident, TokenStream) {
        let named = |name| Ident::new(name, self.name.span());
        match self.folded {
            Some(folded) => {
                let number = named(folded.cuda());
                (named("FoldLambda"), quote!(#number))
            }
            None => (named(if self.arc { "ArcLambda" } else { "Lambda" }), self.output.clone()),
        }
    }

    /// `.reads::<f32>("x")`
    pub fn declarations(&self) -> Vec<TokenStream> {
        self.arguments(|name, role, ty| match role {
            Role::Reads(_) => quote!(.reads::<#ty>(#name)),
            Role::Writes(_) => quote!(.writes::<#ty>(#name)),
            Role::ReadsSet => quote!(.reads_set(#name)),
            Role::WritesSet => quote!(.writes_set(#name)),
            _ => quote!(.scalar::<#ty>(#name)),
        })
    }

    /// `let x = a.reads::<f32>("x");`
    pub fn bindings(&self) -> Vec<TokenStream> {
        let graph = self.parameters.iter().filter(|p| p.role == Role::Graph).map(|p| {
            let name = &p.name;
            quote!(let #name = __bound.graph();)
        });
        let mut bound: Vec<TokenStream> = graph.collect();
        bound.extend(self.arguments(|name, role, ty| {
            let variable = Ident::new(name, self.span_of(name));
            match role {
                Role::Reads(_) => quote!(let #variable = __bound.reads::<#ty>(#name);),
                Role::Writes(_) => quote!(let #variable = __bound.writes::<#ty>(#name);),
                Role::ReadsSet => quote!(let #variable = __bound.reads_set(#name);),
                Role::WritesSet => quote!(let #variable = __bound.writes_set(#name);),
                _ => quote!(let #variable = __bound.scalar::<#ty>(#name);),
            }
        }));
        bound
    }

    fn span_of(&self, name: &str) -> proc_macro2::Span {
        let found = self.parameters.iter().find(|p| p.name == name);
        found.map_or_else(proc_macro2::Span::call_site, |p| p.name.span())
    }

    fn arguments(&self, say: impl Fn(&str, Role, &Ident) -> TokenStream) -> Vec<TokenStream> {
        let declared =
            self.parameters.iter().filter(|p| !matches!(p.role, Role::Graph | Role::Element));
        declared
            .map(|p| {
                let ty = match p.role {
                    Role::Reads(number) | Role::Writes(number) => number.name(),
                    _ => p.ty.cuda(),
                };
                say(&p.name.to_string(), p.role, &Ident::new(ty, p.name.span()))
            })
            .collect()
    }

    /// The closure that the host calls for each element.
    pub fn closure(&self, body: &TokenStream) -> TokenStream {
        let output = &self.output;
        let given = self.parameters.iter().filter(|p| p.role == Role::Element).map(|p| {
            let name = &p.name;
            let (from, ty) = match (name.to_string().as_str(), self.arc) {
                ("u", _) => (quote!(__u), quote!(u32)),
                ("v", true) => (quote!(__v), quote!(u32)),
                ("e", _) => (quote!(__e), quote!(u64)),
                ("w", _) => (quote!(__w), quote!(f32)),
                ("v", false) => (quote!(__i), quote!(u32)),
                ("folded", _) => {
                    let ty = Ident::new(p.ty.cuda(), name.span());
                    (quote!(__folded), quote!(#ty))
                }
                (_, _) => (quote!(__i), quote!(u64)),
            };
            quote!(#[allow(unused_variables)] let #name = #from as #ty;)
        });
        let (_, number) = self.kind();
        let parameters = match (self.arc, self.folded) {
            (true, _) => quote!(__u: usize, __v: usize, __e: usize, __w: f32),
            (false, Some(_)) => quote!(__i: usize, __folded: #number),
            (false, None) => quote!(__i: usize),
        };
        quote!(move |#parameters| -> #output { #(#given)* #body })
    }

    /// Whether it takes numbers alone, and so is a function of plain Rust, too.
    pub fn is_plain(&self) -> bool {
        self.parameters.iter().all(|p| p.role == Role::Scalar)
    }

    /// The head of its text: what stands before the type of its value, and what stands behind, as in
    /// `f32 mean(Bad* const bad, const f32 a, const f32 b)`. An array may be of any form.
    pub fn head(&self) -> [String; 2] {
        let (mut forms, mut parameters) = (Vec::new(), String::new());
        for p in &self.parameters {
            if p.role == Role::Scalar {
                parameters += &format!(", const {} {}", p.ty.cuda(), argument(&p.name.to_string()));
            } else {
                let form = format!("Form{}", forms.len());
                let name = match p.role {
                    Role::Graph => "g".into(),
                    _ => argument(&p.name.to_string()),
                };
                parameters += &format!(", const {form}& {name}");
                forms.push(format!("typename {form}"));
            }
        }
        let before = match forms.is_empty() {
            true => String::new(),
            false => format!("template <{}> ", forms.join(", ")),
        };
        [before, format!("{} f_{}(Bad* const bad{parameters})", self.returns.cuda(), self.name)]
    }
}
