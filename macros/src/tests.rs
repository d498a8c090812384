//! What is refused, and where; what becomes of what is not.

use crate::{device_of, lambda_of};
use proc_macro2::TokenStream;

/// The errors of a function, with their lines from 1 on; none where it can be translated.
fn errors(text: &str) -> Vec<(usize, String)> {
    let function: syn::ItemFn = match syn::parse_str(text) {
        Ok(function) => function,
        Err(error) => panic!("{error}: {text}"),
    };
    let device = !text.contains("v: u32") && !text.contains("i: u64");
    let none = TokenStream::new();
    let made = if device { device_of(none, &function) } else { lambda_of(none, &function) };
    let Err(error) = made else { return Vec::new() };
    error.into_iter().map(|one| (one.span().start().line, one.to_string())).collect()
}

/// One message, at line `line`, that says `what`.
fn refuses(text: &str, line: usize, what: &str) {
    let found = errors(text);
    assert_eq!(found.len(), 1, "{text}\n{found:?}");
    assert_eq!(found[0].0, line, "{text}\n{found:?}");
    assert!(found[0].1.contains(what), "{text}\n{}", found[0].1);
}

/// A body over `v`, with arrays, sets and numbers; its first line is line 2.
fn body(lines: &str) -> String {
    format!(
        "fn f(g: GraphView, v: u32, x: Reads<f32>, y: Writes<f32>, n: Reads<u32>, k: Writes<u32>, s: Reads<NodeSet>, t: Writes<NodeSet>, c: u32) {{\n{lines}\n}}"
    )
}

#[test]
fn each_wrong_program_gets_one_message_at_its_line() {
    let wrong: &[(&str, usize, &str)] = &[
        // Types.
        ("let a: u32 = x[v];", 2, "this is f32, and u32 is wanted; convert it with `as`"),
        ("y[v] = n[v];", 2, "this is u32, and f32 is wanted"),
        ("let a = x[v] + n[v];", 2, "this is u32, and f32 is wanted"),
        ("let a = 1;", 2, "say the type of this number"),
        ("let a: f32 = 1;", 2, "write 1.0"),
        ("let a: u32 = 1.5;", 2, "this is a fraction"),
        ("let a: u8 = 256;", 2, "outside of u8"),
        ("let a: usize = 1;", 2, "use u64"),
        ("let a: i64 = 1;", 2, "use u8, u32, u64 or i32"),
        ("if n[v] { k[v] = 1; }", 2, "this is u32, and bool is wanted"),
        ("y[x[v]] = 1.0;", 2, "nodes and indices are whole numbers"),
        ("let a = -n[v];", 2, "u32 has no negative numbers"),
        ("let a = n[v].sqrt();", 2, "u32 has no `sqrt`"),
        ("let a = n[v].to_bits();", 2, "u32 has no `to_bits`"),
        ("let a: f32 = x[v].to_bits();", 2, "this is u32, and f32 is wanted"),
        ("let a = x[v] & x[v];", 2, "for whole numbers"),
        ("let a = x[v] as bool;", 2, "`as` makes numbers"),
        // Borrows: what is read is not written, and parameters stay as they are.
        ("x[v] = 1.0;", 2, "declare x: Writes<f32>"),
        ("n.min(v, 1);", 2, "declare n: Writes<u32>"),
        ("s.insert(v);", 2, "declare s: Writes<NodeSet>"),
        ("c = 1;", 2, "`c` is a parameter; copy it"),
        ("let a: u32 = c;\na += 1;", 3, "declare it: let mut a"),
        ("let r = Random::new(1, v);\nlet a = r.unit();", 3, "declare it: let mut r"),
        ("let x: u32 = 1;", 2, "`x` is a parameter; choose another name"),
        // What cannot be translated.
        ("println!(\"{}\", v);", 2, "macros cannot be translated"),
        ("let a = vec![1];", 2, "macros cannot be translated"),
        ("let a = |b: u32| b + 1;", 2, "closures cannot be translated"),
        ("let a = &x;", 2, "references cannot be translated"),
        ("let a = (1_u32, 2_u32);", 2, "numbers alone"),
        ("let (a, b) = (1_u32, 2_u32);", 2, "a `let` declares one variable"),
        ("let a = \"text\";", 2, "numbers and bool alone"),
        ("let a;\na = 1_u32;", 2, "give the variable a value"),
        ("struct A;", 2, "move it out of the function"),
        ("unsafe { k[v] = 1; }", 2, "`unsafe` cannot be translated"),
        ("'a: loop { break 'a; }", 2, "labels cannot be translated"),
        ("if let 1 = n[v] { k[v] = 1; }", 2, "`if let`"),
        ("for a in x { }", 2, "a loop goes over a range"),
        ("for a in 0.. { }", 2, "a range has two ends"),
        ("match x[v] { _ => {} }", 2, "`match` compares whole numbers"),
        ("let a = 1_u32 + { let b: u32 = 1; b };", 2, "bind the value first"),
        ("break;", 2, "outside of a loop"),
        // Names.
        ("let a = missing;", 2, "there is no variable `missing`"),
        ("y[v] = w;", 2, "make it a parameter: w: f32"),
        ("let a = x;", 2, "ask for an element: x[v]"),
        ("let a = s[v];", 2, "ask s.contains(v)"),
        ("let a = g.neighbors(v);", 2, "the graph has nodes()"),
        ("let a = x.first();", 2, "its elements are x[k]"),
        ("let a = g.degree(v, v);", 2, "takes 1 arguments and is given 2"),
        ("f(v);", 2, "cannot call itself"),
        ("for e in g.edges(v) {\n    let a = e.source;\n}", 3, "an arc has node, arc and weight"),
        ("let a__b: u32 = 1;", 2, "no `__`"),
        ("let a = u64::from(n[v]);", 2, "use `as`"),
        ("let a = f32::max(x[v], 0.0);", 2, "write a.max(..)"),
        ("let a = Random::new(1, v).bits();", 2, "bind it first"),
        ("let a = n[v].wrapping_add(1);", 2, "wrap already"),
        ("let a = ((255 + 1) / 2) as u8;", 2, "say the type of this number"),
        ("let a = 0.0;", 2, "0.0_f32, say"),
        ("match n[v] { 0 | a => {}, _ => {} }", 2, "a name stands alone"),
        ("#[cfg(any())]\nk[v] = 1;", 2, "attributes within a lambda"),
        // An order that CUDA C++ leaves open.
        ("let a = k.add(v, 1) + k.add(v, 1);", 2, "bind one of them first"),
        ("let a = k[v] + k.add(v, 1);", 2, "bind one of them first"),
    ];
    for (lines, line, what) in wrong {
        refuses(&body(lines), *line, what);
    }
}

#[test]
fn wrong_signatures_are_refused() {
    let wrong = [
        ("fn f<T>(v: u32) {}", "not generic"),
        ("async fn f(v: u32) {}", "not async"),
        ("fn f(self, v: u32) {}", "without self"),
        ("fn f(mut v: u32) {}", "copy it"),
        ("fn f(v: u32, g: Graph) {}", "write g: GraphView"),
        ("fn f(v: u32, w: u32) {}", "write w: f32"),
        ("fn f(v: u32, u: u64) {}", "write u: u32"),
        ("fn f(v: u32, x: Vec<f32>) {}", "write Reads<f32>"),
        ("fn f(v: u32, x: &[f32]) {}", "write Reads<f32>"),
        ("fn f(v: u32, x: Reads<usize>) {}", "use u64"),
        ("fn f(v: u32, x: Reads<bool>) {}", "arrays hold u8"),
        ("fn f(v: u32) -> u8 { 1 }", "a lambda returns"),
        ("fn f(v: u32) -> String { 1 }", "use u8, u32"),
        ("fn f(v: u32, a__b: u32) {}", "cannot be a name in CUDA C++"),
        ("fn f(v: u32, #[cfg(any())] a: u32) {}", "parameters have no attributes"),
        ("fn f(u: u32, v: u32, i: u64) {}", "its place is e: u64"),
        ("fn f(x: Vec<f32>) -> f32 { 1.0 }", "write Reads<f32>"),
        ("fn f(u: u32, v: u32, folded: f32) {}", "an arc has none"),
        ("fn f(v: u32, folded: f32) -> f32 { folded }", "returns nothing"),
    ];
    for (text, what) in wrong {
        refuses(text, 1, what);
    }
}

#[test]
fn every_statement_tells_its_errors() {
    let found = errors(&body("let a = 1;\nlet b: u32 = 1.5;\nk[v] = 1;\nlet d = missing;"));
    assert_eq!(found.iter().map(|error| error.0).collect::<Vec<_>>(), [2, 3, 5]);
}

#[test]
fn numbers_get_the_types_that_they_have_in_rust() {
    let text = body(
        "let a = n[v] + 1;\nlet b = 2.0 * x[v];\nlet d = 1_u64 << 40;\nk[v + 1] = a;\nlet mut e: i32 = -2147483648;\ne += 1;\nlet half: f32 = 1. / 2f32;\nlet low = -1 as i32;\n\
         let h = if a > 3 { a } else { 0 };\nfor q in 0..a { k[q] = h; }\nfor q in g.edges(v) { k.min(q.node, a); }",
    );
    assert_eq!(errors(&text), []);
    let function: syn::ItemFn = syn::parse_str(&text).unwrap();
    let rust = lambda_of(TokenStream::new(), &function).unwrap().to_string();
    let parts = [
        "Number :: add (n . at ((:: hivegraph :: operator :: text :: Whole :: wide (v) as usize)) , 1u32)",
        "Number :: mul (2.0f32 , x . at",
        "let d : u64 = :: hivegraph :: operator :: text :: Whole :: shl (1u64 , :: hivegraph :: operator :: text :: Whole :: wide (40u32) as u32)",
        "let mut e : i32 = (- 2147483648i32)",
        "for q in (0u32) .. (a)",
    ];
    for part in parts {
        assert!(rust.contains(part), "{part}\n{rust}");
    }
}

/// What is said of the array `k` that a lambda of an element, or of an arc, writes by these lines.
#[test]
fn writes_elsewhere_than_at_the_element_are_told() {
    let place = |head: &str, lines: &str| {
        let text = format!("fn f({head}, n: Reads<u32>, k: Writes<u32>) {{ {lines} }}");
        let function: syn::ItemFn = syn::parse_str(&text).unwrap();
        let rust = lambda_of(TokenStream::new(), &function).unwrap().to_string();
        ["writes_at_arcs (\"k\")", "writes_anywhere (\"k\")"].map(|word| rust.contains(word))
    };
    let (own, at_arcs, anywhere) = ([false, false], [true, false], [false, true]);
    let node = "v: u32";
    assert_eq!(place(node, "k[v] = 1; k[v as u64] += 1; k.add(v, 1);"), own);
    for lines in ["k[v + 1] = 1;", "k[n[v]] = 1;", "k[v as u8] = 1;", "k[v] = 1; k.min(n[v], 1);"] {
        assert_eq!(place(node, lines), anywhere, "{lines}");
    }
    // Variables that have the names of other elements.
    for lines in ["for i in 0..3_u64 { k[i] = 1; }", "let e: u64 = 0; k[e] = 1;", "f::set(k, v);"] {
        assert_eq!(place(node, lines), anywhere, "{lines}");
    }
    let arc = "u: u32, v: u32, e: u64";
    assert_eq!(place(arc, "k[u] = 1;"), own);
    assert_eq!(place(arc, "k[e] = 1;"), at_arcs);
    for lines in ["k.min(v, u);", "k[e] = 1; k[u] = 1;", "k[u] = 1; k[e] = 1;"] {
        assert_eq!(place(arc, lines), anywhere, "{lines}");
    }
    assert_eq!(place("u: u32, v: u32", "let e: u64 = 0; k[e] = 1;"), anywhere);
}

/// What is said of how a lambda leaves `k`, an array, and `s`, a set.
#[test]
fn what_does_not_depend_on_the_order_of_threads_is_told() {
    let ways = |head: &str, lines: &str| {
        let text = format!(
            "fn f({head}, n: Reads<u32>, k: Writes<u32>, h: Writes<f32>, s: Writes<NodeSet>) {{ {lines} }}"
        );
        let function: syn::ItemFn = syn::parse_str(&text).unwrap();
        let rust = lambda_of(TokenStream::new(), &function).unwrap().to_string();
        let told = rust.split("deterministic").nth(1)?;
        let way = |name: &str| {
            let said = told
                .split(&format!("(\"{name}\" , :: hivegraph :: operator :: text :: Way ::"))
                .nth(1);
            said.map_or("", |said| said.split(')').next().unwrap().trim()).to_string()
        };
        Some(["k", "h", "s"].map(way).join(" "))
    };
    let (node, arc) = ("v: u32", "u: u32, v: u32");
    for (head, lines, told) in [
        (node, "k[v] = k[v] + n[v]; if s.insert(v) { h[v] += 1.0; }", "Own Own Own"),
        (node, "k.add(v, 1); let a = k.min(v, 3); h[v] = a as f32;", "Own Own "),
        (node, "k.min(n[v], 1); k.min(n[v] + 1, 2); s.insert(n[v]);", "Min  Or"),
        (node, "k.add(n[v], 1); s.erase(n[v]);", "Add  Erase"),
        (arc, "k.max(u, v); h.max(v, 1.0); s.insert(u);", "Max Max Or"),
        (arc, "k.or(v, 1);", "Or  "),
        (arc, "let a = n[u];", "  "),
    ] {
        assert_eq!(ways(head, lines).as_deref(), Some(told), "{lines}");
    }
    for (head, lines) in [
        (node, "h.add(n[v], 1.0);"),
        (node, "let a = k.add(n[v], 1);"),
        (node, "if s.insert(n[v]) { k[v] = 1; }"),
        (node, "k.cas(n[v], 0, 1);"),
        (node, "k.min(n[v], k[v]);"),
        (node, "k.min(n[v], 1); k.max(n[v], 1);"),
        (node, "k[n[v]] = 1;"),
        (node, "f::set(k, v);"),
        (node, "f::put(s, v);"),
        (node, "if s.contains(n[v]) { s.insert(v); }"),
        (arc, "k[u] = 1;"),
        (arc, "let told = k[u]; k.min(v, told);"),
        (arc, "h[v] = k.min(v, 1) as f32;"),
        (node, "let x: u32 = 1; x.min(if k.add(0, 1) > 3 { 1 } else { 0 });"),
        (node, "let x: u32 = 1; x.min((k.add(0, 1) > 3 && s.insert(v)) as u32);"),
    ] {
        assert_eq!(ways(head, lines), None, "{lines}");
    }
}

#[test]
fn text_in_cuda_names_the_lines_of_the_rust() {
    let text = "fn f(v: u32, n: Reads<u32>) -> u32 {\n    let a = n[v];\n\n    match a {\n        0 | 1 => 7,\n        2..=9 => a,\n        _ => 0,\n    }\n}";
    let function: syn::ItemFn = syn::parse_str(text).unwrap();
    let rust = lambda_of(TokenStream::new(), &function).unwrap().to_string();
    for part in [
        "#line 2 \\\"f\\\"",
        "#line 4 \\\"f\\\"",
        "const u32 match__2 = a__1;",
        "return ((u32)7ull);",
    ] {
        assert!(rust.contains(part), "{part}\n{rust}");
    }
}
