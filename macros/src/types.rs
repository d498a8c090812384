//! The types of the subset, and their names in CUDA C++.

use proc_macro2::Span;
use syn::spanned::Spanned;

/// What an expression is, as far as its text tells: the type of what another function returns is not known here. Rust's
/// compiler checks all of them once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Unit,
    Bool,
    Number(Number),
    Edge,
    Random,
    Unknown,
    /// Of `return`, `break` and `continue`.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    U8,
    U32,
    U64,
    I32,
    F32,
    F64,
}

impl Number {
    pub fn of(name: &str) -> Option<Number> {
        Some(match name {
            "u8" => Number::U8,
            "u32" => Number::U32,
            "u64" => Number::U64,
            "i32" => Number::I32,
            "f32" => Number::F32,
            "f64" => Number::F64,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Number::U8 => "u8",
            Number::U32 => "u32",
            Number::U64 => "u64",
            Number::I32 => "i32",
            Number::F32 => "f32",
            Number::F64 => "f64",
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Number::F32 | Number::F64)
    }
}

impl Type {
    /// Its name in CUDA C++.
    pub fn cuda(self) -> &'static str {
        match self {
            Type::Unit | Type::Never => "void",
            Type::Bool => "bool",
            Type::Number(number) => number.name(),
            Type::Edge => "Edge",
            Type::Random => "Random",
            Type::Unknown => "auto",
        }
    }

    /// As messages put it.
    pub fn words(self) -> &'static str {
        match self {
            Type::Unit => "no value",
            Type::Edge => "an arc",
            Type::Random => "random numbers",
            Type::Unknown => "of a type that is not known here",
            other => other.cuda(),
        }
    }

    /// A number, or something that may be one.
    pub fn is_number(self) -> bool {
        matches!(self, Type::Number(_) | Type::Unknown | Type::Never)
    }

    pub fn is_whole(self) -> bool {
        match self {
            Type::Number(number) => !number.is_float(),
            other => other.is_number(),
        }
    }

    /// The same type, or one of them is not known.
    pub fn fits(self, other: Type) -> bool {
        let open = |ty| matches!(ty, Type::Unknown | Type::Never);
        self == other || open(self) || open(other)
    }

    /// The one of two types that fit which is known.
    pub fn with(self, other: Type) -> Type {
        if matches!(self, Type::Unknown | Type::Never) { other } else { self }
    }
}

/// A number or `bool`, as a declaration or a cast names it.
pub fn named(ty: &syn::Type) -> syn::Result<Type> {
    let name = match ty {
        syn::Type::Path(path) => path.path.get_ident().map(|ident| ident.to_string()),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => return Ok(Type::Unit),
        _ => None,
    };
    let unknown =
        |advice: &str| syn::Error::new(ty.span(), format!("lambdas have no such type; {advice}"));
    match name.as_deref() {
        Some("bool") => Ok(Type::Bool),
        Some("usize") => Err(unknown("use u64, which indices may be, too")),
        Some("u16" | "i8" | "i16" | "i64" | "isize" | "u128" | "i128") => {
            Err(unknown("use u8, u32, u64 or i32"))
        }
        Some("Edge") => Ok(Type::Edge),
        Some("Random") => Ok(Type::Random),
        Some(name) => Number::of(name)
            .map(Type::Number)
            .ok_or_else(|| unknown("use u8, u32, u64, i32, f32, f64 or bool")),
        None => Err(unknown("use u8, u32, u64, i32, f32, f64 or bool")),
    }
}

/// Refuses what cannot be part of a name in CUDA C++.
pub fn free(name: &str, span: Span) -> syn::Result<()> {
    if !name.is_ascii() || name.contains("__") || name.starts_with("r#") {
        let what = format!(
            "`{name}` cannot be a name in CUDA C++: it takes letters and digits, and no `__`"
        );
        return Err(syn::Error::new(span, what));
    }
    Ok(())
}
