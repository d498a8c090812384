//! Arrays as NumPy stores them (`.npy`): a header that is a Python dictionary, such as
//! `{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }`, and the elements
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use super::binary::{self, Number, numbers};
use crate::graph::options::FileWeights;

const MAGIC: &[u8] = b"\x93NUMPY";

/// An array, taken as one of one dimension.
pub(super) struct Array {
    /// As in `<i4`: byte order, kind, bytes an element.
    pub descr: String,
    content: Vec<u8>,
    /// Where the elements begin in the content.
    data: usize,
}

impl Array {
    /// Checks the header of a file against its length.
    pub(super) fn of(content: Vec<u8>) -> Result<Array, String> {
        let (descr, length, data) = parse(&content).ok_or("no .npy header")?;
        let size = element_size(&descr).ok_or_else(|| format!("type {descr}"))?;
        let left = content.len() - data;
        if length.checked_mul(size) != Some(left as u64) {
            return Err(format!("{length} elements of {size} bytes in {left} bytes"));
        }
        Ok(Array { descr, content, data })
    }

    /// Kind and bytes an element, as in `i4`.
    pub(super) fn kind(&self) -> &str {
        self.descr.get(1..).unwrap_or("")
    }

    /// The elements' bytes.
    pub(super) fn data(&self) -> &[u8] {
        &self.content[self.data..]
    }

    /// Converts elements that are little-endian; big-endian ones are turned around on the way.
    pub(super) fn convert<const SIZE: usize, T: Copy + Default + Send>(
        &self,
        convert: impl Fn([u8; SIZE]) -> T + Sync,
    ) -> Vec<T> {
        numbers(self.data(), self.turned(convert))
    }

    /// Elements as weights of arcs: see [`binary::weights`].
    pub(super) fn weights<const SIZE: usize, N: Number>(
        &self,
        wanted: FileWeights,
        convert: impl Fn([u8; SIZE]) -> N + Sync,
    ) -> Result<Vec<f32>, String> {
        binary::weights(self.data(), wanted, self.turned(convert))
    }

    fn turned<const SIZE: usize, T>(
        &self,
        convert: impl Fn([u8; SIZE]) -> T + Sync,
    ) -> impl Fn([u8; SIZE]) -> T + Sync {
        let turned = self.descr.starts_with('>');
        move |mut word| {
            if turned {
                word.reverse();
            }
            convert(word)
        }
    }
}

/// (type, elements, where they begin), from a header.
fn parse(content: &[u8]) -> Option<(String, u64, usize)> {
    let rest = content.strip_prefix(MAGIC)?;
    let (begin, length): (usize, usize) = match rest.first()? {
        1 => (10, usize::from(u16::from_le_bytes([*rest.get(2)?, *rest.get(3)?]))),
        _ => (12, u32::from_le_bytes([2, 3, 4, 5].map(|i| *rest.get(i).unwrap_or(&0))) as usize),
    };
    let data = begin.checked_add(length)?;
    let header = std::str::from_utf8(content.get(begin..data)?).ok()?;
    let value = |key: &str| header.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim());
    let descr = value("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
    let shape = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
    let dimensions = shape.split(',').map(str::trim).filter(|dimension| !dimension.is_empty());
    let elements = dimensions
        .map(|dimension| dimension.parse::<u64>().ok())
        .try_fold(1u64, |product, dimension| product.checked_mul(dimension?))?;
    Some((descr.into(), elements, data))
}

/// Bytes an element, for the kinds that may occur.
fn element_size(descr: &str) -> Option<u64> {
    let size: u64 = descr.get(2..).filter(|_| descr.is_ascii())?.parse().ok()?;
    // Characters of a Unicode string have four bytes.
    Some(if descr.get(1..2) == Some("U") { size.checked_mul(4)? } else { size })
}

/// An IEEE 754 number of 16 bits.
pub(super) fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

/// The header of an array, padded to a multiple of 64 bytes as NumPy does.
pub(super) fn header(descr: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let padded = format!("{text:<width$}\n", width = length - 1);
    [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), padded.as_bytes()].concat()
}
