//! Graphs that grow with the number of GPUs: `rmat:19,ef={256*gpus}`.
//! `docs/sweeps.md` tells what may stand in braces; `replicas` is the same word as `gpus`.

use crate::{Error, Result};

/// Largest value of an expression.
const MOST: u64 = 1 << 62;

const LONGEST: usize = 200;

/// What stands for a graph where there is none, as in `array:{gpus*2^24}`.
const ARRAY: &str = "array:";

/// Whether this is an array's length rather than a graph.
pub(super) fn is_array(spec: &str) -> bool {
    spec.starts_with(ARRAY)
}

/// The length that `array:N` says.
pub(super) fn elements(spec: &str) -> Result<Option<u64>> {
    let Some(text) = spec.strip_prefix(ARRAY) else { return Ok(None) };
    let length = text.parse().ok().filter(|length| *length > 0);
    length.map(Some).ok_or_else(|| {
        Error::input(format!("graphs: '{spec}': use array:LENGTH, as in array:{{gpus*2^24}}"))
    })
}

/// Whether `spec` has braces.
pub(super) fn is_template(spec: &str) -> bool {
    spec.contains(['{', '}'])
}

/// Whether it can be read; whether it has a value depends on the number of GPUs.
pub(super) fn check(spec: &str) -> Result<()> {
    match parts(spec, 1) {
        Err(Trouble::Syntax(why)) => Err(Error::input(format!("'{spec}': {why}"))),
        _ => Ok(()),
    }
}

/// `spec` for so many GPUs; in an error why it has no value.
pub(super) fn resolve(spec: &str, gpus: usize) -> Result<String, String> {
    parts(spec, gpus as u64).map_err(|trouble| match trouble {
        Trouble::Syntax(why) | Trouble::Value(why) => format!("'{spec}': {why}"),
    })
}

/// What may be wrong with an expression.
enum Trouble {
    Syntax(String),
    /// It has no value for this number of GPUs.
    Value(String),
}

/// The text with every `{...}` replaced.
fn parts(spec: &str, gpus: u64) -> Result<String, Trouble> {
    let mut text = String::new();
    let mut rest = spec;
    while let Some((before, after)) = rest.split_once('{') {
        let closed = after.split_once('}').filter(|_| !before.contains('}'));
        let Some((inside, behind)) = closed else {
            return Err(Trouble::Syntax("a brace has no partner".into()));
        };
        if inside.len() > LONGEST {
            return Err(Trouble::Syntax("what is in braces is too long".into()));
        }
        text += before;
        text += &Expression { whole: inside, rest: inside, gpus }.value()?.to_string();
        rest = behind;
    }
    match rest.contains('}') {
        true => Err(Trouble::Syntax("a brace has no partner".into())),
        false => Ok(text + rest),
    }
}

/// An expression, read from left to right.
struct Expression<'a> {
    whole: &'a str,
    rest: &'a str,
    gpus: u64,
}

impl Expression<'_> {
    fn value(mut self) -> Result<u64, Trouble> {
        let value = self.sum()?;
        match self.rest.trim() {
            "" => Ok(value),
            rest => Err(self.unread(rest)),
        }
    }

    fn unread(&self, rest: &str) -> Trouble {
        Trouble::Syntax(format!(
            "{{{}}} cannot be read at '{rest}'; write integers, gpus, + - * / ^ ( ) and log2(...)",
            self.whole
        ))
    }

    fn none(&self, why: impl std::fmt::Display) -> Trouble {
        let gpus = self.gpus;
        let many = if gpus == 1 { "GPU" } else { "GPUs" };
        Trouble::Value(format!("{{{}}} has no value for {gpus} {many}: {why}", self.whole))
    }

    /// Takes one of these characters, if one comes next.
    fn take(&mut self, any: &[char]) -> Option<char> {
        let text = self.rest.trim_start();
        let next = text.chars().next().filter(|c| any.contains(c))?;
        self.rest = &text[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Result<u64, Trouble> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let term = self.product()?;
            let sum = match sign {
                '+' => value.checked_add(term),
                _ => value.checked_sub(term),
            };
            value = self.bounded(sum)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<u64, Trouble> {
        let mut value = self.power()?;
        while let Some(sign) = self.take(&['*', '/']) {
            let factor = self.power()?;
            let product = match sign {
                '*' => value.checked_mul(factor),
                _ if factor == 0 || value % factor != 0 => {
                    return Err(self.none(format!("{value} / {factor} is no integer")));
                }
                _ => Some(value / factor),
            };
            value = self.bounded(product)?;
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<u64, Trouble> {
        let base = self.atom()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        let exponent = self.power()?;
        let power = u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent));
        self.bounded(power)
    }

    fn atom(&mut self) -> Result<u64, Trouble> {
        if self.take(&['(']).is_some() {
            return self.closed();
        }
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let unread = self.unread(text);
        self.rest = rest;
        match word {
            "gpus" | "replicas" => Ok(self.gpus),
            "log2" if self.take(&['(']).is_some() => {
                let of = self.closed()?;
                match of.is_power_of_two() {
                    true => Ok(of.trailing_zeros().into()),
                    false => Err(self.none(format!("log2({of}) is no integer"))),
                }
            }
            _ => word.parse().map_err(|_| unread),
        }
    }

    /// What stands before a closing parenthesis.
    fn closed(&mut self) -> Result<u64, Trouble> {
        let value = self.sum()?;
        match self.take(&[')']) {
            Some(_) => Ok(value),
            None => Err(self.unread(self.rest.trim())),
        }
    }

    fn bounded(&self, value: Option<u64>) -> Result<u64, Trouble> {
        value.filter(|value| *value <= MOST).ok_or_else(|| self.none("it is negative or too large"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_hold_integer_expressions_of_the_number_of_gpus() {
        for (spec, gpus, resolved) in [
            ("rmat:19,ef={256*gpus}", 4, "rmat:19,ef=1024"),
            ("rmat:{19+log2(gpus)},ef=256", 8, "rmat:22,ef=256"),
            ("uniform:{ 2^19 * gpus },ef=256", 3, "uniform:1572864,ef=256"),
            ("grid:{64*(gpus+1)}x{128/replicas}", 2, "grid:192x64"),
            ("{2^2^3-1}", 1, "255"),
            ("{10-2-3}", 1, "5"),
            ("plain", 5, "plain"),
        ] {
            assert!(check(spec).is_ok(), "{spec}");
            assert_eq!(resolve(spec, gpus).unwrap(), resolved);
        }
    }

    #[test]
    fn what_has_no_integer_value_says_for_how_many_gpus_and_why() {
        for (spec, gpus, why) in [
            ("rmat:{19+log2(gpus)}", 3, "3 GPUs: log2(3) is no integer"),
            ("x:{7/gpus}", 2, "7 / 2 is no integer"),
            ("x:{1-gpus}", 2, "negative"),
            ("x:{2^gpus^gpus}", 9, "too large"),
            ("x:{1/0}", 1, "1 GPU: 1 / 0"),
        ] {
            assert!(check(spec).is_ok(), "{spec}");
            let message = resolve(spec, gpus).unwrap_err();
            assert!(message.contains(why) && message.contains(spec), "{message}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_at_once() {
        for spec in
            ["{", "}", "a{1", "a}1{", "{}", "{gpu}", "{1+}", "{(1}", "{1 2}", "{log2 4}", "{é}"]
        {
            let message = check(spec).unwrap_err().to_string();
            assert!(message.contains("brace") || message.contains("cannot be read"), "{message}");
        }
        assert!(is_template("{gpus}") && is_template("}") && !is_template("rmat:4"));
    }
}
