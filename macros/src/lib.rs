//! `#[lambda]` and `#[device]`: functions of hivegraph's operators, written once in a subset of Rust.
//!
//! [`lambda`] makes of a function its closure for the host and its text in CUDA C++ for GPUs; [`device`] does so for a function
//! that lambdas call. `docs/operators.md` describes the subset.

mod signature;
mod translate;
mod types;

use proc_macro::TokenStream;
use quote::quote;
use signature::{Options, Signature};
use syn::{ItemFn, parse_macro_input};
use translate::{Place, Translated, translate};

#[cfg(test)]
mod tests;

/// A function of an element, of an arc, or of a node and what its arcs come to, for operators. `docs/operators.md` of hivegraph is the guide.
///
/// `#[lambda(unchecked)]` leaves out the checks of indices on GPUs.
#[proc_macro_attribute]
pub fn lambda(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    expanded(lambda_of(options.into(), &function), &function, false)
}

/// A function that lambdas and other such functions call. If it takes numbers alone, it is a plain Rust function, too.
#[proc_macro_attribute]
pub fn device(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    expanded(device_of(options.into(), &function), &function, true)
}

/// What a function becomes, or its errors, beside something of its name, so that its callers add no errors of their own.
fn expanded(
    made: syn::Result<proc_macro2::TokenStream>,
    function: &ItemFn,
    is_device: bool,
) -> TokenStream {
    let stand_in = |error: syn::Error| {
        let (errors, vis, sig) = (error.to_compile_error(), &function.vis, &function.sig);
        let (name, inputs, output) = (&sig.ident, &sig.inputs, &sig.output);
        let returns = match output {
            syn::ReturnType::Default => quote!(()),
            syn::ReturnType::Type(_, ty) => quote!(#ty),
        };
        let made = match is_device {
            true => quote! {
                #[allow(non_camel_case_types)]
                #vis struct #name {}
                #[allow(dead_code, unused_variables)]
                impl #name {
                    #vis fn call(__faults: ::hivegraph::operator::Faults<'_>, #inputs) #output { ::core::unreachable!() }
                    #vis const NAME: &'static str = "";
                    #vis fn text(into: &mut ::hivegraph::operator::text::Functions) {}
                }
            },
            false => {
                let kind = match sig.inputs.iter().find_map(signature::folded) {
                    Some(number) => quote!(FoldLambda<#number>),
                    None if sig.inputs.iter().any(signature::is_of_arcs) => {
                        quote!(ArcLambda<#returns>)
                    }
                    None => quote!(Lambda<#returns>),
                };
                quote!(#[allow(dead_code)] #vis fn #name() -> ::hivegraph::operator::#kind { ::core::unreachable!() })
            }
        };
        quote!(#errors #made)
    };
    made.unwrap_or_else(stand_in).into()
}

fn lambda_of(
    options: proc_macro2::TokenStream,
    function: &ItemFn,
) -> syn::Result<proc_macro2::TokenStream> {
    let unchecked = syn::parse2::<Options>(options)?.unchecked;
    let signature = Signature::of_lambda(function)?;
    let Translated { rust, cuda, constants, calls, places, ways, exact, line } =
        translate(&signature, &function.block)?;
    let (attrs, vis, name) = (&function.attrs, &function.vis, &signature.name);
    let ((kind, number), closure) = (signature.kind(), signature.closure(&rust));
    let (declared, bound) = (signature.declarations(), signature.bindings());
    let (known, values): (Vec<_>, Vec<_>) = constants.into_iter().unzip();
    let called = last_names(&calls);
    let elsewhere = |(array, place): (String, Place)| match place {
        Place::Own => None,
        Place::Arc => Some((quote!(writes_at_arcs), array)),
        Place::Any => Some((quote!(writes_anywhere), array)),
    };
    let (places, arrays): (Vec<_>, Vec<_>) = places.into_iter().filter_map(elsewhere).unzip();
    let ways = ways.map(|ways| {
        let each = ways.into_iter().map(|(array, way)| {
            let way = quote::format_ident!("{way}");
            quote!((#array, ::hivegraph::operator::text::Way::#way))
        });
        quote!(.deterministic(#exact #(&& #calls::EXACT)*, &WRITTEN, &[#(#each),*]))
    });
    let text = name.to_string();
    Ok(quote! {
        #(#attrs)*
        #[allow(unused_parens, clippy::all)]
        #vis fn #name() -> ::hivegraph::operator::#kind<#number> {
            static WRITTEN: ::hivegraph::operator::text::Written =
                ::hivegraph::operator::text::Written::new(#text, ::core::file!(), #line, #cuda, #unchecked);
            ::hivegraph::operator::#kind::<#number>::written(&WRITTEN)
                #(.constant(#known, #values))*
                #(.calls(#calls::text, #calls::NAME, #called))*
                #(#declared)*
                #(.#places(#arrays))*
                .host(|__bound| {
                    let __faults = __bound.faults();
                    #(#bound)*
                    ::std::boxed::Box::new(#closure)
                })
                #ways
        }
    })
}

fn device_of(
    options: proc_macro2::TokenStream,
    function: &ItemFn,
) -> syn::Result<proc_macro2::TokenStream> {
    syn::parse2::<syn::parse::Nothing>(options)?;
    let signature = Signature::of_device(function)?;
    let Translated { rust, cuda, constants, calls, exact, .. } =
        translate(&signature, &function.block)?;
    let (vis, name, output) = (&function.vis, &signature.name, &signature.output);
    let inputs = &function.sig.inputs;
    let (known, values): (Vec<_>, Vec<_>) = constants.into_iter().unzip();
    let (text, [before, head]) = (name.to_string(), signature.head());
    let (called, attrs) = (last_names(&calls), &function.attrs);
    let names = signature.parameters.iter().map(|p| &p.name);
    let plain = signature.is_plain().then(|| {
        quote! {
            #(#attrs)*
            #[allow(dead_code)]
            #vis fn #name(#inputs) -> #output {
                #name::call(::hivegraph::operator::Faults::nobody(), #(#names),*)
            }
        }
    });
    Ok(quote! {
        #plain

        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #vis struct #name {}

        impl #name {
            #[doc(hidden)]
            #[allow(dead_code)]
            #vis const NAME: &'static str = #text;

            #[doc(hidden)]
            #[allow(dead_code)]
            #vis const EXACT: bool = #exact #(&& #calls::EXACT)*;

            /// As lambdas call it.
            #[doc(hidden)]
            #[inline(always)]
            #[allow(dead_code, unused_parens, clippy::all)]
            #vis fn call(__faults: ::hivegraph::operator::Faults<'_>, #inputs) -> #output { #rust }

            /// Its text in CUDA C++, behind those of the functions that it calls.
            #[doc(hidden)]
            #[allow(dead_code)]
            #vis fn text(into: &mut ::hivegraph::operator::text::Functions) {
                if !into.begin(#text) {
                    return;
                }
                #(#calls::text(into);)*
                #(into.is_called(#calls::NAME, #called);)*
                #(into.constant(#known, #values);)*
                into.add(#text, [#before, #head], #cuda);
            }
        }
    })
}

/// The names under which functions are called.
fn last_names(calls: &[syn::Path]) -> Vec<String> {
    let last = |path: &syn::Path| path.segments.last().map(|last| last.ident.to_string());
    calls.iter().filter_map(last).collect()
}
