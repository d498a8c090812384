//! Numbers for people.

/// Milliseconds with four significant digits or so: `0.1234 ms`, `12.34 ms`, `123.4 ms`, `12.3 s`.
pub(crate) fn ms(value: f64) -> String {
    match value {
        v if v >= 10_000.0 => format!("{:.1} s", v / 1e3),
        v => format!("{} ms", bare_ms(v)),
    }
}

/// The same without the unit, always in milliseconds.
pub(crate) fn bare_ms(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.1}"),
        v if v >= 10.0 => format!("{v:.2}"),
        v if v >= 1.0 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}

/// A count with its thousands apart: `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `3 runs`, `1 run`, `0 seeds`.
pub(crate) fn plural(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A rate with a decimal prefix: `2.76 G`.
pub(crate) fn rate(value: f64) -> String {
    for (scale, prefix) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value >= scale {
            return format!("{:.2} {prefix}", value / scale);
        }
    }
    format!("{value:.0}")
}

/// Bytes with a binary prefix: `4.1 GiB`.
pub(crate) fn bytes(value: u64) -> String {
    for (shift, prefix) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if value >> shift > 0 {
            return format!("{:.1} {prefix}", value as f64 / (1u64 << shift) as f64);
        }
    }
    format!("{value} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_at_every_size() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(ms(0.12345), "0.1235 ms");
        assert_eq!(ms(123.45), "123.5 ms");
        assert_eq!(ms(12_340.0), "12.3 s");
        assert_eq!(rate(2.76e9), "2.76 G");
        assert_eq!(rate(12.0), "12");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(plural(1, "run"), "1 run");
        assert_eq!(plural(0, "seed"), "0 seeds");
    }
}
