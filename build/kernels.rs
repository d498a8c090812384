//! Reads `kernels/`: which kernels there are, and what Rust shares with them. `build.rs` runs it.
//!
//! CUDA is the only place where argument structs, results and constants are declared. The rule: what carries the
//! comment `// @host` on the line where it begins is shared with Rust, and `crate::device::kernels::FILE` has it under
//! its CUDA name, FILE being the file's name without extension.
//!
//! ```text
//! #define THREADS 512u               // @host
//! static const u32 NONE = 0xffffffffu;  // @host
//! enum Task { FINISH = 0, GROW = 1 };  // @host
//! struct BfsStatus {                 // @host
//! ```
//!
//! Constants have the type of their C++ value; enumerators are `u32` constants. Pointers are `u64` addresses. A struct
//! has one layout, whatever a kernel is compiled with: no `#if` in it, no padding that is not declared, and types
//! that an option or a template chooses stand behind pointers only. Functions in a struct are skipped.
//!
//! Both compilers check layouts and values: Rust by constant assertions beside each struct, CUDA by assertions that are
//! appended to every translation unit. NVRTC has no `offsetof`; CUDA asserts the sizes of a struct and of its fields,
//! which fix the offsets, since there is no padding and fields lie in the order of their declarations. A constant
//! that is marked but not used is a warning of rustc.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The mark of what Rust shares.
const MARK: &str = "@host";

/// Words of Rust that are plain names in CUDA.
const KEYWORDS: [&str; 10] =
    ["as", "fn", "in", "loop", "match", "mod", "move", "ref", "type", "where"];

/// A file of `kernels/` or of a folder in it. Names are unique, whatever the folders.
pub struct File {
    /// Below `kernels/`.
    pub path: String,
    pub text: String,
}

impl File {
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&self.path, |(_, name)| name)
    }
}

/// All files of this folder and those in it, sorted.
pub fn files(folder: &Path) -> Vec<File> {
    fn walk(folder: &Path, below: &str, found: &mut Vec<File>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{below}{name}");
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{path}/"), found);
            } else if name.ends_with(".cu") || name.ends_with(".cuh") {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                found.push(File { path, text });
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, "", &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// What is made of all files.
pub struct Shared {
    /// A module a file, with what is shared of it.
    pub rust: String,
    /// By file: assertions about all that it and what it includes share.
    pub layouts: Vec<(String, String)>,
}

/// Where something is wrong, and what.
type Result<T> = std::result::Result<T, String>;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    I32(i128),
    U32(i128),
    U64(i128),
    F32(f32),
    F64(f64),
}

impl Value {
    /// The number, and the rank of its type.
    fn integer(&self) -> Option<(i128, u8)> {
        match self {
            Value::I32(x) => Some((*x, 0)),
            Value::U32(x) => Some((*x, 1)),
            Value::U64(x) => Some((*x, 2)),
            Value::F32(_) | Value::F64(_) => None,
        }
    }

    fn of(number: i128, rank: u8) -> Option<Value> {
        match rank {
            0 => i32::try_from(number).is_ok().then_some(Value::I32(number)),
            1 => u32::try_from(number).is_ok().then_some(Value::U32(number)),
            _ => u64::try_from(number).is_ok().then_some(Value::U64(number)),
        }
    }

    /// This value as a C++ constant of that type has it.
    fn declared(self, kind: &str) -> Option<Value> {
        match (kind, &self) {
            ("float", Value::F32(_)) | ("double", Value::F64(_)) => Some(self),
            ("int" | "i32", _) => Value::of(self.integer()?.0, 0),
            ("u32", _) => Value::of(self.integer()?.0, 1),
            ("u64", _) => Value::of(self.integer()?.0, 2),
            _ => None,
        }
    }

    /// Type and value in Rust, and the value in CUDA.
    fn written(&self) -> (&'static str, String, String) {
        match self {
            Value::I32(x) => ("i32", x.to_string(), x.to_string()),
            Value::U32(x) => ("u32", x.to_string(), format!("{x}u")),
            Value::U64(x) => ("u64", x.to_string(), format!("{x}ull")),
            Value::F32(x) => ("f32", format!("{x:?}"), format!("{x:?}f")),
            Value::F64(x) => ("f64", format!("{x:?}"), format!("{x:?}")),
        }
    }
}

#[derive(Clone, Debug)]
struct Constant {
    line: usize,
    /// Its type where it is declared with one.
    kind: Option<String>,
    expression: String,
    /// It stands between `#if` and `#endif`.
    conditional: bool,
}

#[derive(Clone, Debug)]
struct Struct {
    line: usize,
    template: bool,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    line: usize,
    name: String,
    kind: String,
    pointer: bool,
    /// Lengths, the outermost first.
    lengths: Vec<String>,
}

#[derive(Debug)]
enum Item {
    Constant(String),
    Struct(String),
}

/// What a file declares.
#[derive(Default)]
struct Parsed {
    includes: Vec<String>,
    /// All constants of the file, shared or not: lengths of arrays may name them.
    constants: BTreeMap<String, Constant>,
    structs: BTreeMap<String, Struct>,
    /// What is shared, in the file's order.
    shared: Vec<Item>,
}

/// The names and numbers, and the signs one by one.
fn tokens(code: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut joins = false;
    for c in code.chars() {
        // The sign of an exponent belongs to its number.
        let exponent = |last: &String| {
            last.starts_with(|c: char| c.is_ascii_digit())
                && last.ends_with('e')
                && !last.starts_with("0x")
        };
        let signed = "+-".contains(c) && joins && all.last().is_some_and(exponent);
        let part = c.is_alphanumeric() || c == '_' || c == '.' || signed;
        match all.last_mut() {
            Some(last) if part && joins => last.push(c),
            _ if c.is_whitespace() => {}
            _ => all.push(c.into()),
        }
        joins = part;
    }
    all
}

fn is_name(token: &str) -> bool {
    token.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
}

/// The code of a line, and whether its comment has the mark.
fn split(line: &str) -> (&str, bool) {
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    (code.trim_end(), comment.split_whitespace().any(|word| word == MARK))
}

impl Parsed {
    fn new(file: &File) -> Result<Parsed> {
        let mut parsed = Parsed::default();
        let lines: Vec<(&str, bool)> = file.text.lines().map(split).collect();
        let mut depth = 0usize;
        for (at, (code, marked)) in lines.iter().enumerate() {
            let wrong = |what: &str| format!("kernels/{}:{}: {what}", file.path, at + 1);
            let conditional = depth > 0;
            if *marked && conditional {
                return Err(wrong("what is shared with Rust stands outside #if"));
            }
            if let Some(rest) = code.strip_prefix("#include \"") {
                parsed.includes.push(rest.trim_end_matches('"').into());
            } else if code.starts_with("#if") {
                depth += 1;
            } else if code.starts_with("#endif") {
                depth = depth.saturating_sub(1);
            } else if let Some(rest) = code.strip_prefix("#define ") {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                let (name, expression) = rest.split_at(end.unwrap_or(rest.len()));
                if !expression.starts_with('(') {
                    let expression = expression.trim().to_string();
                    let found = Constant { line: at + 1, kind: None, expression, conditional };
                    parsed.add(name, found, *marked).map_err(|what| wrong(&what))?;
                    continue;
                }
            } else if let Some(constant) = constant(code) {
                let (name, kind, expression) = constant;
                let found = Constant { line: at + 1, kind: Some(kind), expression, conditional };
                parsed.add(&name, found, *marked).map_err(|what| wrong(&what))?;
                continue;
            } else if *marked {
                let words = tokens(code);
                let begins = words.iter().position(|word| ["struct", "enum"].contains(&&**word));
                match begins.map(|begin| &words[begin..]) {
                    Some([kind, ..]) if kind == "enum" => parsed.enumerators(&lines, at),
                    Some([_, name, brace, ..]) if is_name(name) && brace == "{" => {
                        let template = words[0] == "template";
                        parsed.structure(&lines, at, name, template)
                    }
                    _ => Err((at, "no struct, enum or constant begins here".into())),
                }
                .map_err(|(at, what)| format!("kernels/{}:{}: {what}", file.path, at + 1))?;
                continue;
            }
            if *marked {
                return Err(wrong("no struct, enum or constant begins here"));
            }
        }
        Ok(parsed)
    }

    fn add(&mut self, name: &str, found: Constant, shared: bool) -> Result<()> {
        if let Some(other) = self.constants.get_mut(name) {
            if shared {
                return Err(format!("{name} is already defined in line {}", other.line));
            }
            // Chosen by options: known, but without a value.
            other.conditional = true;
            return Ok(());
        }
        if shared {
            self.shared.push(Item::Constant(name.into()));
        }
        self.constants.insert(name.into(), found);
        Ok(())
    }

    /// `enum { A = 1, B }`, from line `first` on.
    fn enumerators(&mut self, lines: &[(&str, bool)], first: usize) -> Placed<()> {
        let (body, _) = body(lines, first)?;
        let mut next = String::from("0u");
        for member in body.split(|(_, token)| token == ",").filter(|member| !member.is_empty()) {
            let (at, name) = &member[0];
            let value: String = member.iter().skip(2).map(|(_, token)| token.as_str()).collect();
            let expression = if member.len() > 2 { value } else { next };
            next = format!("({expression}) + 1u");
            let kind = Some("u32".into());
            let found = Constant { line: at + 1, kind, expression, conditional: false };
            self.add(name, found, true).map_err(|what| (*at, what))?;
        }
        Ok(())
    }

    fn structure(
        &mut self,
        lines: &[(&str, bool)],
        first: usize,
        name: &str,
        template: bool,
    ) -> Placed<()> {
        let (body, _) = body(lines, first)?;
        let mut fields = Vec::new();
        let mut rest = &body[..];
        while let Some((at, _)) = rest.first() {
            let end = rest.iter().position(|(_, token)| token == ";" || token == "{");
            let end = end.ok_or((*at, "a declaration without an end".to_string()))?;
            let (member, after) = rest.split_at(end);
            let function = member.iter().any(|(_, token)| token == "(");
            if after[0].1 == "{" {
                if !function {
                    return Err((
                        after[0].0,
                        "a shared struct has only fields and functions".into(),
                    ));
                }
                let length = block(after).ok_or((*at, "a function without an end".to_string()))?;
                rest = &after[length..];
                continue;
            }
            if !function && !member.is_empty() {
                declared(member, &mut fields)?;
            }
            rest = &after[1..];
        }
        let found = Struct { line: first + 1, template, fields };
        if self.structs.insert(name.into(), found).is_some() {
            return Err((first, format!("{name} is defined twice")));
        }
        self.shared.push(Item::Struct(name.into()));
        Ok(())
    }
}

/// A result, or the line (from 0) and what is wrong there.
type Placed<T> = std::result::Result<T, (usize, String)>;

/// Tokens with their lines, from 0.
type Tokens = Vec<(usize, String)>;

/// How many tokens the block in braces takes with which they begin.
fn block(tokens: &[(usize, String)]) -> Option<usize> {
    let mut depth = 0usize;
    let ends = |(_, token): &(usize, String)| {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    tokens.iter().position(ends).map(|last| last + 1)
}

/// What stands between the first brace from line `first` on and its partner; and the line of the latter.
fn body(lines: &[(&str, bool)], first: usize) -> Placed<(Tokens, usize)> {
    let mut all = Tokens::new();
    for (at, (code, _)) in lines.iter().enumerate().skip(first) {
        if code.trim_start().starts_with('#') {
            return Err((at, "a shared struct has one layout: no #if and no #define in it".into()));
        }
        all.extend(tokens(code).into_iter().map(|token| (at, token)));
        let Some(open) = all.iter().position(|(_, token)| token == "{") else { continue };
        if let Some(length) = block(&all[open..]) {
            return Ok((all[open + 1..open + length - 1].to_vec(), at));
        }
    }
    Err((first, "its end was not found".into()))
}

/// Adds the fields of one declaration: `const u32 *a, b[2]`.
fn declared(member: &[(usize, String)], fields: &mut Vec<Field>) -> Placed<()> {
    let first = member[0].0;
    let mut rest = member;
    let mut kind: Vec<&str> = Vec::new();
    // The last name before a sign, or before the end, is the first field's.
    while let Some(((_, token), after)) = rest.split_first() {
        let more =
            after.first().is_some_and(|(_, next)| is_name(next) || next == "*" || next == "<");
        if !is_name(token) || !more {
            break;
        }
        if !["const", "volatile"].contains(&token.as_str()) {
            kind.push(token);
        }
        rest = after;
        if rest[0].1 == "<" {
            let end = rest.iter().position(|(_, token)| token == ">").unwrap_or(rest.len() - 1);
            rest = &rest[end + 1..];
        }
    }
    for one in rest.split(|(_, token)| token == ",") {
        let mut pointer = false;
        let mut one = one.iter().filter(|(_, token)| token != "const").peekable();
        while one.next_if(|(_, token)| token == "*").is_some() {
            pointer = true;
        }
        let unread = || (first, String::from("this declaration was not understood"));
        let (at, name) = one.next().filter(|(_, name)| is_name(name)).ok_or_else(unread)?;
        let lengths: String = one.map(|(_, token)| format!("{token} ")).collect();
        let lengths: Vec<String> = lengths
            .split(']')
            .map(str::trim)
            .filter(|length| !length.is_empty())
            .map(|length| length.strip_prefix('[').map(str::to_string).ok_or_else(unread))
            .collect::<Placed<_>>()?;
        if kind.is_empty() {
            return Err(unread());
        }
        let (line, name, kind) = (at + 1, name.clone(), kind.join(" "));
        fields.push(Field { line, name, kind, pointer, lengths });
    }
    Ok(())
}

/// Name, type and value of `static const u32 NAME = value;`, where the line is one.
fn constant(code: &str) -> Option<(String, String, String)> {
    let code = code.strip_prefix("static ").unwrap_or(code);
    let (head, value) = code.strip_prefix("const ")?.strip_suffix(';')?.split_once('=')?;
    let (kind, name) = head.trim().rsplit_once(' ')?;
    is_name(name).then(|| (name.into(), kind.trim().into(), value.trim().into()))
}

/// All files.
struct Files<'a> {
    files: &'a [File],
    parsed: Vec<Parsed>,
}

/// The size and the alignment of a type, and how Rust calls it.
struct Laid {
    size: usize,
    align: usize,
    rust: String,
}

impl Files<'_> {
    /// The file at `at` and all that it includes, each once, the included first.
    fn scope(&self, at: usize) -> Vec<usize> {
        fn visit(all: &Files, at: usize, seen: &mut Vec<usize>, order: &mut Vec<usize>) {
            if seen.contains(&at) {
                return;
            }
            seen.push(at);
            for name in &all.parsed[at].includes {
                if let Some(other) = all.files.iter().position(|file| file.name() == name) {
                    visit(all, other, seen, order);
                }
            }
            order.push(at);
        }
        let mut order = Vec::new();
        visit(self, at, &mut Vec::new(), &mut order);
        order
    }

    fn wrong<T>(&self, at: usize, line: usize, what: impl AsRef<str>) -> Result<T> {
        Err(format!("kernels/{}:{line}: {}", self.files[at].path, what.as_ref()))
    }

    /// The value of a constant that the file at `at` sees.
    fn value(&self, at: usize, name: &str) -> Result<Value> {
        let scope = self.scope(at);
        let found = scope
            .iter()
            .rev()
            .find_map(|&other| Some((other, self.parsed[other].constants.get(name)?)));
        let Some((other, constant)) = found else {
            return Err(format!("{name} is no constant of this file or of those that it includes"));
        };
        if constant.conditional {
            return Err(format!("{name} depends on the options of the kernel"));
        }
        let words = tokens(&constant.expression);
        let mut expression = Expression { files: self, file: other, rest: &words };
        let value = expression.all().and_then(|value| match &constant.kind {
            None => Ok(value),
            Some(kind) => {
                value.declared(kind).ok_or_else(|| format!("{name} is no value of type {kind}"))
            }
        });
        value.or_else(|what| self.wrong(other, constant.line, what))
    }

    /// An error that says where already, or one about this line.
    fn placed<T>(&self, at: usize, line: usize, result: Result<T>) -> Result<T> {
        result.or_else(|what| match what.starts_with("kernels/") {
            true => Err(what),
            false => self.wrong(at, line, what),
        })
    }

    /// How a field without pointer and lengths is laid out.
    fn plain(&self, at: usize, field: &Field) -> Result<Laid> {
        let (size, rust) = match field.kind.as_str() {
            "u8" => (1, "u8"),
            "unsigned short" => (2, "u16"),
            "u32" => (4, "u32"),
            "i32" | "int" => (4, "i32"),
            "float" | "f32" => (4, "f32"),
            "u64" => (8, "u64"),
            "double" | "f64" => (8, "f64"),
            name => {
                let scope = self.scope(at);
                let found = scope.iter().find(|&&o| self.parsed[o].structs.contains_key(name));
                let Some(&other) = found else {
                    return self.wrong(
                        at,
                        field.line,
                        format!(
                            "field {} is of type {name}, which Rust does not share: mark a struct with // {MARK}; what \
                             an option or a template chooses stands behind a pointer",
                            field.name
                        ),
                    );
                };
                let (fields, size) = self.layout(other, name)?;
                let align = fields.iter().map(|(_, laid)| laid.align).max().unwrap_or(1);
                let rust = format!("super::{}::{name}", module(self.files[other].name()));
                return Ok(Laid { size, align, rust });
            }
        };
        Ok(Laid { size, align: size, rust: rust.into() })
    }

    /// Offset and type of each field of a struct, and its size.
    fn layout(&self, at: usize, name: &str) -> Result<(Vec<(usize, Laid)>, usize)> {
        let own = &self.parsed[at].structs[name];
        let mut fields = Vec::new();
        let (mut end, mut most) = (0usize, 1);
        for field in &own.fields {
            let mut laid = match field.pointer {
                true => Laid { size: 8, align: 8, rust: "u64".into() },
                false => self.plain(at, field)?,
            };
            for length in field.lengths.iter().rev() {
                let words = tokens(length);
                let value = Expression { files: self, file: at, rest: &words }.all();
                let value = self.placed(at, field.line, value)?;
                let Some(count) = value.integer().and_then(|(n, _)| usize::try_from(n).ok()) else {
                    return self.wrong(at, field.line, format!("{length} is no length"));
                };
                laid.size *= count;
                laid.rust = format!("[{}; {count}]", laid.rust);
            }
            let place = end.next_multiple_of(laid.align);
            if place != end {
                let what = format!(
                    "{} bytes of padding before {}: declare a field `unused` there",
                    place - end,
                    field.name
                );
                return self.wrong(at, field.line, what);
            }
            end += laid.size;
            most = most.max(laid.align);
            fields.push((place, laid));
        }
        if end == 0 || !end.is_multiple_of(most) {
            let padding = end.next_multiple_of(most) - end;
            let what = format!(
                "{padding} bytes of padding behind the last field: declare a field `unused` there"
            );
            return self.wrong(at, own.line, what);
        }
        Ok((fields, end))
    }

    /// The Rust and the CUDA of what the file at `at` shares.
    fn shared(&self, at: usize) -> Result<(String, String)> {
        let (mut rust, mut cuda) = (String::new(), String::new());
        let file = &self.files[at].path;
        for item in &self.parsed[at].shared {
            let other = "Rust was built with another";
            match item {
                Item::Constant(name) => {
                    let line = self.parsed[at].constants[name].line;
                    let value = self.placed(at, line, self.value(at, name))?;
                    let (kind, value, text) = value.written();
                    let _ = writeln!(rust, "/// `{name}` of `kernels/{file}`.");
                    let _ = writeln!(rust, "pub(crate) const {name}: {kind} = {value};");
                    let _ = writeln!(cuda, "static_assert({name} == {text}, \"{other} {name}\");");
                }
                Item::Struct(name) => {
                    let own = &self.parsed[at].structs[name];
                    let (fields, size) = self.layout(at, name)?;
                    let _ = writeln!(rust, "/// `{name}` of `kernels/{file}`.\n#[repr(C)]");
                    rust += "#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]\n";
                    let _ = writeln!(rust, "pub(crate) struct {name} {{");
                    let mut checks = format!("    assert!(size_of::<{name}>() == {size});\n");
                    let in_cuda = if own.template { format!("{name}<u32>") } else { name.clone() };
                    let _ = writeln!(
                        cuda,
                        "static_assert(sizeof({in_cuda}) == {size}, \"{other} {name}\");"
                    );
                    for (field, (offset, laid)) in own.fields.iter().zip(&fields) {
                        let field = &field.name;
                        // A field may have a name that Rust keeps for itself.
                        let raw = if KEYWORDS.contains(&field.as_str()) { "r#" } else { "" };
                        let _ = writeln!(rust, "    pub {raw}{field}: {},", laid.rust);
                        let _ = writeln!(
                            checks,
                            "    assert!(std::mem::offset_of!({name}, {raw}{field}) == {offset});"
                        );
                        let _ = writeln!(
                            cuda,
                            "static_assert(sizeof({in_cuda}::{field}) == {}, \"{other} {name}\");",
                            laid.size
                        );
                    }
                    let _ = write!(rust, "}}\nconst _: () = {{\n{checks}}};\n");
                }
            }
        }
        Ok((rust, cuda))
    }
}

/// The Rust module of a file.
fn module(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// An integer expression, or a number.
struct Expression<'a> {
    files: &'a Files<'a>,
    file: usize,
    rest: &'a [String],
}

/// Operators by rank, the loosest first; shifts are two tokens.
const OPERATORS: [&[&str]; 4] = [&["|"], &["<", ">"], &["+", "-"], &["*", "/"]];

impl Expression<'_> {
    fn all(&mut self) -> Result<Value> {
        let value = self.level(0)?;
        match self.rest {
            [] => Ok(value),
            [next, ..] => Err(format!("'{next}' was not understood in a constant")),
        }
    }

    fn level(&mut self, level: usize) -> Result<Value> {
        let Some(operators) = OPERATORS.get(level) else { return self.operand() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.rest.first().filter(|next| operators.contains(&&***next)) {
            self.rest = &self.rest[1..];
            if level == 1 {
                self.rest = match self.rest {
                    [second, rest @ ..] if second == operator => rest,
                    _ => return Err("a comparison in a constant".into()),
                };
            }
            let right = self.level(level + 1)?;
            let both = left.integer().zip(right.integer());
            let ((a, rank_a), (b, rank_b)) = both.ok_or("arithmetic on floats in a constant")?;
            let number = match operator.as_str() {
                "|" => Some(a | b),
                "<" => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)),
                ">" => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                _ => a.checked_div(b),
            };
            let rank = if level == 1 { rank_a } else { rank_a.max(rank_b) };
            let value = number.and_then(|number| Value::of(number, rank));
            left = value.ok_or("a constant that its type does not hold")?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Value> {
        let Some((token, rest)) = self.rest.split_first() else {
            return Err("a constant without a value".into());
        };
        self.rest = rest;
        if token == "(" {
            let inner = self.level(0)?;
            return match self.rest.split_first() {
                Some((close, rest)) if close == ")" => {
                    self.rest = rest;
                    Ok(inner)
                }
                _ => Err("a bracket without its partner".into()),
            };
        }
        if is_name(token) {
            return self.files.value(self.file, token);
        }
        number(token).ok_or_else(|| format!("'{token}' was not understood in a constant"))
    }
}

/// A number as C++ writes it.
fn number(token: &str) -> Option<Value> {
    if let Some(digits) = token.strip_prefix("0x") {
        let plain = digits.trim_end_matches(['u', 'l']);
        let rank = match &digits[plain.len()..] {
            "" => 0,
            "u" => 1,
            _ => 2,
        };
        return Value::of(i128::from_str_radix(plain, 16).ok()?, rank);
    }
    if token.contains(['.', 'e']) {
        return match token.strip_suffix('f') {
            Some(digits) => digits.parse().ok().map(Value::F32),
            None => token.parse().ok().map(Value::F64),
        };
    }
    let digits = token.trim_end_matches(['u', 'l']);
    let rank = match &token[digits.len()..] {
        "" => 0,
        "u" => 1,
        _ => 2,
    };
    Value::of(digits.parse().ok()?, rank)
}

/// The Rust of all that is shared, and the assertions for CUDA.
pub fn shared(files: &[File]) -> Result<Shared> {
    for (at, file) in files.iter().enumerate() {
        if let Some(other) = files[..at].iter().find(|other| other.name() == file.name()) {
            return Err(format!("kernels/{}: kernels/{} has the same name", file.path, other.path));
        }
    }
    let parsed = files.iter().map(Parsed::new).collect::<Result<_>>()?;
    let all = Files { files, parsed };
    let mut modules: BTreeMap<&str, String> = BTreeMap::new();
    let mut own = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let (rust, cuda) = all.shared(at)?;
        *modules.entry(module(file.name())).or_default() += &rust;
        own.push(cuda);
    }
    let mut rust = String::new();
    for (name, items) in modules.iter().filter(|(_, items)| !items.is_empty()) {
        let _ = write!(rust, "pub(crate) mod {name} {{\n{items}}}\n");
    }
    let layouts = files.iter().enumerate().map(|(at, file)| {
        (file.name().to_string(), all.scope(at).iter().map(|&other| own[other].as_str()).collect())
    });
    Ok(Shared { rust, layouts: layouts.collect() })
}

/// The `extern "C"` kernels of a source.
pub fn kernels_of(text: &str) -> Vec<&str> {
    text.split("extern \"C\" __global__")
        .skip(1)
        .filter_map(|rest| {
            // The name is the last word before the list of parameters; launch bounds come first.
            let rest =
                rest.split_once("__launch_bounds__(").map_or(rest, |(before, after)| match before
                    .contains('(')
                {
                    true => rest,
                    false => after.split_once(')').map_or(rest, |(_, rest)| rest),
                });
            rest.split_once('(')?.0.split_whitespace().last()
        })
        .collect()
}

/// The sets of options that a source says in a line `// Compiled with: A B | A C`.
pub fn variants_of(text: &str) -> Vec<Vec<&str>> {
    match text.lines().find_map(|line| line.strip_prefix("// Compiled with: ")) {
        Some(line) => line.split('|').map(|set| set.split_whitespace().collect()).collect(),
        None => vec![vec![]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[(&str, &str)]) -> Result<Shared> {
        let file =
            |(name, text): &(&str, &str)| File { path: (*name).into(), text: (*text).into() };
        shared(&files.iter().map(file).collect::<Vec<_>>())
    }

    fn rust(text: &str) -> String {
        made(&[("a.cu", text)]).map_or_else(|what| what, |made| made.rust)
    }

    #[test]
    fn constants_have_the_type_and_the_value_of_cuda() {
        let text = "#define A 0x10u  // @host\n#define B (A * 4u + 1u)  // @host\n#define C 3 // not shared\n\
                    static const u64 D = 1ull << 62;  // @host\n#define E 0.005f  // @host how much\n\
                    const double F = 2.5;  // @host\n#define G 1e-3  // @host\n#define H (0x1eu-4u)  // @host\nenum Task { X = 2, Y, Z = 9 };  // @host\n";
        let made = rust(text);
        for line in [
            "const A: u32 = 16;",
            "const B: u32 = 65;",
            "const D: u64 = 4611686018427387904;",
            "const E: f32 = 0.005;",
            "const F: f64 = 2.5;",
            "const G: f64 = 0.001;",
            "const H: u32 = 26;",
            "const X: u32 = 2;",
            "const Y: u32 = 3;",
            "const Z: u32 = 9;",
        ] {
            assert!(made.contains(line), "{line} is not in {made}");
        }
        assert!(!made.contains(" C:"));
    }

    #[test]
    fn structs_have_the_layout_of_cuda() {
        let header = "#define MOST 4u\nstruct Pair {  // @host\n    u32 a, b;\n};\n";
        let text = "#include \"h.cuh\"\n\
                    struct Args {  // @host\n\
                    \x20   const offset_t* offsets;  // [n]\n\
                    \x20   u32* bits[2][MOST];\n\
                    \x20   float x, y;\n\
                    \x20   __device__ u32 f(u32 i) const { return i ? 1 : 2; }\n\
                    \x20   Pair pair;\n\
                    \x20   const volatile Thing<T>* thing;\n\
                    };\n";
        let made =
            made(&[("h.cuh", header), ("a.cu", text)]).unwrap_or_else(|what| panic!("{what}"));
        for line in [
            "pub bits: [[u64; 4]; 2],",
            "pub y: f32,",
            "pub pair: super::h::Pair,",
            "assert!(size_of::<Args>() == 96);",
            "offset_of!(Args, pair) == 80",
            "offset_of!(Args, thing) == 88",
        ] {
            assert!(made.rust.contains(line), "{line} is not in {}", made.rust);
        }
        let of = |name: &str| &made.layouts.iter().find(|(file, _)| file == name).unwrap().1;
        assert!(
            of("a.cu").contains("sizeof(Pair) == 8") && of("a.cu").contains("sizeof(Args) == 96")
        );
        assert!(!of("h.cuh").contains("Args"));
    }

    #[test]
    fn what_cannot_be_shared_is_told_with_file_and_line() {
        for (text, what) in [
            (
                "\nstruct A {  // @host\n    u32 a;\n    u64 b;\n};",
                "a.cu:4: 4 bytes of padding before b",
            ),
            (
                "struct A {  // @host\n    u64 a;\n    u32 b;\n};",
                "a.cu:1: 4 bytes of padding behind",
            ),
            ("struct A {  // @host\n    offset_t a;\n};", "a.cu:2: field a is of type offset_t"),
            (
                "struct A {  // @host\n#if X\n    u32 a;\n#endif\n};",
                "a.cu:2: a shared struct has one layout",
            ),
            ("struct A {  // @host\n    u32 a[N];\n};", "a.cu:2: N is no constant"),
            (
                "#ifndef N\n#define N 1u\n#endif\nstruct A {  // @host\n    u32 a[N];\n};",
                "a.cu:5: N depends on",
            ),
            ("#if X\n#define N 1u  // @host\n#endif", "a.cu:2: what is shared"),
            ("u32 a;  // @host", "a.cu:1: no struct, enum or constant begins here"),
            (
                "#define A 1u  // @host\n#define A 2u  // @host",
                "a.cu:2: A is already defined in line 1",
            ),
            ("#define A (1u << 40)  // @host", "a.cu:1: a constant that its type does not hold"),
            ("#define A ((u32)B)  // @host", "a.cu:1: u32 is no constant"),
            ("struct A {  // @host\n    u32 a;", "a.cu:1: its end was not found"),
        ] {
            let said = rust(text);
            assert!(said.starts_with(&format!("kernels/{what}")), "{text}\nsays {said}");
        }
        let twice = made(&[("x/a.cu", ""), ("y/a.cu", "")]).err();
        assert_eq!(twice.as_deref(), Some("kernels/y/a.cu: kernels/x/a.cu has the same name"));
    }

    #[test]
    fn kernels_are_found_behind_launch_bounds() {
        let text = "extern \"C\" __global__ void one(const A a) {}\n\
                    extern \"C\" __global__ void __launch_bounds__(512, 2) two(const A a) {}\n";
        assert_eq!(kernels_of(text), ["one", "two"]);
        assert_eq!(
            variants_of("// Compiled with: -DA | -DA -DB"),
            [vec!["-DA"], vec!["-DA", "-DB"]]
        );
    }
}
