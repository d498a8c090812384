//! Arrays in NumPy's format, read as its definition says. Nothing of the crate is used here, so that its own unit tests can
//! have this file too (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).
#![allow(dead_code)]

/// The shape and the elements of an array of version 1 whose elements are `descr`, as in `<f4`: little-endian, f32.
pub fn npy<T: bytemuck::AnyBitPattern>(bytes: &[u8], descr: &str) -> (Vec<usize>, Vec<T>) {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\0");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..end]).unwrap();
    assert!(end.is_multiple_of(64) && header.ends_with('\n'), "{header}");
    assert!(header.contains(&format!("'descr': '{descr}'")), "{descr}: {header}");
    assert!(header.contains("'fortran_order': False"), "{header}");
    let shape = header.split_once("'shape': (").unwrap().1.split_once(')').unwrap().0;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape: Vec<usize> = sizes.map(|size| size.parse().unwrap()).collect();
    let elements = bytes[end..].chunks_exact(size_of::<T>());
    assert!(elements.remainder().is_empty());
    let elements: Vec<T> = elements.map(bytemuck::pod_read_unaligned).collect();
    assert_eq!(elements.len(), shape.iter().product::<usize>());
    (shape, elements)
}
