//! What the macros `lambda` and `device` of `macros/` write: the host's side of `kernels/text.cuh`, and how a lambda gets its
//! text. Nothing of it is for programs.
//!
//! Whole numbers wrap, casts saturate, shifts are by an amount modulo the width, and a division of whole numbers by zero is
//! reported: the same on the host and on GPUs.

#![allow(missing_docs)]

use std::sync::OnceLock;

/// A function as it was written.
#[derive(Debug)]
pub struct Written {
    pub(super) name: &'static str,
    file: &'static str,
    line: u32,
    pub(super) text: &'static str,
    pub(super) unchecked: bool,
    pub(super) id: OnceLock<u64>,
    /// Of what it does.
    pub(super) number: OnceLock<u64>,
}

impl Written {
    /// `text` is its body in CUDA C++.
    pub const fn new(
        name: &'static str,
        file: &'static str,
        line: u32,
        text: &'static str,
        unchecked: bool,
    ) -> Written {
        Written { name, file, line, text, unchecked, id: OnceLock::new(), number: OnceLock::new() }
    }

    /// `src/heat.rs:12`
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// How a lambda writes an array or a set, where what it leaves there does not depend on the order of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// At its element alone.
    Own,
    /// By atomics of one kind, whose results it does not look at.
    Min,
    Max,
    /// Of bits, or of nodes that join a set.
    Or,
    Erase,
    /// Of whole numbers.
    Add,
}

/// The functions and constants that a lambda uses, as CUDA C++, each behind those that it uses itself.
#[derive(Debug, Default, Clone)]
pub struct Functions {
    /// Names, and what they stand for.
    known: Vec<(&'static str, String)>,
    /// Functions whose own are being added.
    open: Vec<&'static str>,
    pub(super) wrong: Option<String>,
}

impl Functions {
    pub(super) fn text(&self) -> String {
        self.known.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The text of what is not among `other`.
    pub(super) fn beyond(&self, other: &Functions) -> Result<String, String> {
        let mut all = other.clone();
        for (name, text) in &self.known {
            all.keep(name, text.clone());
        }
        match all.wrong {
            Some(wrong) => Err(wrong),
            None => {
                Ok(all.known[other.known.len()..].iter().map(|(_, text)| text.as_str()).collect())
            }
        }
    }

    /// Adds something, unless it is there. Two things of one name are one too many.
    fn keep(&mut self, name: &'static str, text: String) {
        match self.known.iter().find(|(known, _)| *known == name) {
            None => self.known.push((name, text)),
            Some((_, known)) if *known == text => {}
            Some(_) => {
                let shown = name.trim_start_matches("constant_");
                self.wrong.get_or_insert(format!(
                    "uses two different functions or constants of the name '{shown}'; rename one of them"
                ));
            }
        }
    }

    /// Whether the functions that `name` calls are to be added, and then itself.
    pub fn begin(&mut self, name: &'static str) -> bool {
        if self.open.contains(&name) {
            self.wrong.get_or_insert(format!("'{name}' calls itself; use a loop"));
            return false;
        }
        self.open.push(name);
        true
    }

    /// A function, behind those that it calls.
    pub fn add(&mut self, name: &'static str, [before, head]: [&str; 2], body: &str) {
        self.open.retain(|open| *open != name);
        self.keep(name, format!("{before}__device__ __forceinline__ {head} {{\n{body}\n}}\n"));
    }

    /// In CUDA C++ a function has the name under which it was declared.
    pub fn is_called(&mut self, name: &'static str, called: &'static str) {
        if name != called {
            self.wrong.get_or_insert(format!(
                "calls '{name}' by the name '{called}'; import it under its own"
            ));
        }
    }

    /// One of Rust's constants.
    pub fn constant<T: Number>(&mut self, name: &'static str, value: T) {
        self.keep(name, format!("#define {name} {}\n", value.cuda()));
    }
}

/// A number of the subset. Whole numbers wrap.
pub trait Number: Copy {
    /// It in CUDA C++.
    fn cuda(self) -> String;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// `None` where a whole number is divided by zero.
    fn quotient(self, other: Self) -> Option<Self>;
    fn remainder(self, other: Self) -> Option<Self>;
    /// The smaller. A NaN loses to every number; of two that are equal `self` is taken.
    fn min(self, other: Self) -> Self;
    /// The larger, likewise.
    fn max(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn zero() -> Self;
}

/// A number with a sign.
pub trait Signed: Number {
    fn neg(self) -> Self;
}

/// A whole number.
pub trait Whole: Number {
    /// As u64, with its sign.
    fn wide(self) -> u64;
    fn shl(self, by: u32) -> Self;
    fn shr(self, by: u32) -> Self;
    fn count_ones(self) -> u32;
    fn leading_zeros(self) -> u32;
    fn trailing_zeros(self) -> u32;
}

/// A float. Functions of analysis need not give the bits that they give on GPUs.
pub trait Float: Number {
    /// A whole number of as many bits.
    type Bits: Whole;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round(self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn log2(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn powf(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_finite(self) -> bool;
    fn to_bits(self) -> Self::Bits;
}

/// Methods that the type itself has under these names.
macro_rules! own {
    ($type:ident: $($name:ident($($other:ident: $of:ty),*) -> $to:ty;)+) => { $(
        #[inline(always)]
        fn $name(self, $($other: $of),*) -> $to {
            <$type>::$name(self, $($other),*)
        }
    )+ };
}

macro_rules! common {
    ($type:ident, $cuda:expr, $abs:ident, [$add:expr, $sub:expr, $mul:expr, $div:expr, $rem:expr]) => {
        impl Number for $type {
            fn cuda(self) -> String {
                $cuda(self)
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $add(self, other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                $sub(self, other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                $mul(self, other)
            }
            #[inline(always)]
            fn quotient(self, other: Self) -> Option<Self> {
                $div(self, other)
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Option<Self> {
                $rem(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                #[allow(clippy::eq_op)]
                if other < self || self != self { other } else { self }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                #[allow(clippy::eq_op)]
                if other > self || self != self { other } else { self }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.$abs()
            }
            #[inline(always)]
            fn zero() -> Self {
                0 as $type
            }
        }
    };
}

macro_rules! whole {
    ($($type:ident, $abs:ident;)+) => { $(
        common!($type, |x: $type| format!("(({}){}ull)", stringify!($type), x as u64), $abs, [
            $type::wrapping_add,
            $type::wrapping_sub,
            $type::wrapping_mul,
            |a: $type, b| (b != 0).then(|| a.wrapping_div(b)),
            |a: $type, b| (b != 0).then(|| a.wrapping_rem(b))
        ]);
        impl Whole for $type {
            #[inline(always)]
            fn wide(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn shl(self, by: u32) -> Self {
                self.wrapping_shl(by)
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                self.wrapping_shr(by)
            }
            own!($type: count_ones() -> u32; leading_zeros() -> u32; trailing_zeros() -> u32;);
        }
    )+ };
}
whole! {
    u8, itself;
    u32, itself;
    u64, itself;
    i32, wrapping_abs;
}

/// What has no sign.
trait Itself: Sized {
    fn itself(self) -> Self {
        self
    }
}
impl Itself for u8 {}
impl Itself for u32 {}
impl Itself for u64 {}

impl Signed for i32 {
    #[inline(always)]
    fn neg(self) -> i32 {
        self.wrapping_neg()
    }
}

macro_rules! float {
    ($($type:ident, $suffix:literal, $bits:ident;)+) => { $(
        common!($type, |x: $type| format!("text::bits({:#x}{})", x.to_bits(), $suffix), abs, [
            |a, b| a + b,
            |a, b| a - b,
            |a, b| a * b,
            |a, b| Some(a / b),
            |a, b| Some(a % b)
        ]);
        impl Signed for $type {
            #[inline(always)]
            fn neg(self) -> $type {
                -self
            }
        }
        impl Float for $type {
            type Bits = $bits;
            own!($type:
                sqrt() -> $type; floor() -> $type; ceil() -> $type; trunc() -> $type; round() -> $type;
                exp() -> $type; ln() -> $type; log2() -> $type; sin() -> $type; cos() -> $type;
                powf(other: $type) -> $type; is_nan() -> bool; is_finite() -> bool;
                to_bits() -> $bits;
            );
        }
    )+ };
}
float! {
    f32, "u", u32;
    f64, "ull", u64;
}
