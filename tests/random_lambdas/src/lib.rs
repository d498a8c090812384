//! `random_lambdas!(COUNT, SEED)`: so many functions of the subset that `#[lambda]` translates, drawn at random, and
//! `lambdas()`, which makes all of them.

use proc_macro::TokenStream;

/// Types of values, and for each the arrays of that type: to read, and to write.
const TYPES: [(&str, &str, &str); 5] = [
    ("u32", "a32", "o32"),
    ("u64", "a64", "o64"),
    ("i32", "ai", "oi"),
    ("f32", "af", "of"),
    ("f64", "ad", "od"),
];

struct Draw {
    state: u64,
    /// Variables in scope: name, type, whether they change.
    variables: Vec<(String, usize, bool)>,
    names: usize,
}

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % n as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    fn literal(&mut self, ty: usize) -> String {
        let name = TYPES[ty].0;
        match ty {
            0 => {
                format!("{}_{name}", [0, 1, 2, 3, 7, 31, 32, 255, 65_537, u32::MAX][self.below(10)])
            }
            1 => format!("{}_{name}", [0, 1, 5, 63, 64, 1 << 33, u64::MAX][self.below(7)]),
            2 => format!("({}_{name})", [0, 1, -1, 9, i32::MAX, -i32::MAX][self.below(6)]),
            _ => format!(
                "{}_{name}",
                self.one(&["0.0", "1.0", "0.5", "3.25", "1e9", "1e-20", "7.0", "4294967296.0"])
            ),
        }
    }

    /// A place in an array, which has 256 elements.
    fn place(&mut self, depth: usize) -> String {
        match self.below(4) {
            0 | 1 => "v".into(),
            2 => format!("(v + {}) % 256", self.below(300)),
            _ => format!("{} & 255_u32", self.number(0, depth)),
        }
    }

    fn boolean(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .one(&["s.contains(v)", "v > 100", "v % 2 == 0", "true", "g.degree(v) > 8"])
                .into();
        }
        let ty = self.below(5);
        match self.below(8) {
            0 => format!("({} && {})", self.boolean(depth - 1), self.boolean(depth - 1)),
            1 => format!("({} || {})", self.boolean(depth - 1), self.boolean(depth - 1)),
            2 => format!("!{}", self.boolean(depth - 1)),
            3 => format!("s.contains({})", self.place(depth - 1)),
            4 if ty > 2 => format!("{}.is_nan()", self.number(ty, depth - 1)),
            _ => {
                let op = self.one(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.number(ty, depth - 1), self.number(ty, depth - 1))
            }
        }
    }

    fn number(&mut self, ty: usize, depth: usize) -> String {
        let (name, array, _) = TYPES[ty];
        let of: Vec<String> =
            self.variables.iter().filter(|x| x.1 == ty).map(|x| x.0.clone()).collect();
        if depth == 0 || self.below(6) == 0 {
            return match self.below(4) {
                0 => self.literal(ty),
                1 if !of.is_empty() => of[self.below(of.len())].clone(),
                2 if ty == 0 => self.one(&["v", "p"]).into(),
                2 if ty == 3 => "q".into(),
                _ => format!("{array}[v]"),
            };
        }
        let d = depth - 1;
        match self.below(12) {
            0..=3 => {
                let ops: &[&str] = if ty < 3 {
                    &["+", "-", "*", "&", "|", "^"]
                } else {
                    &["+", "-", "*", "+", "-", "*", "/", "%"]
                };
                let op = self.one(ops);
                format!("({} {op} {})", self.number(ty, d), self.number(ty, d))
            }
            4 if ty < 3 => {
                // By what is not 0.
                let op = self.one(&["/", "%"]);
                let by = if ty == 2 {
                    format!("({} | 1_i32)", self.number(ty, d))
                } else {
                    format!("({}).max(1_{name})", self.number(ty, d))
                };
                format!("({} {op} {by})", self.number(ty, d))
            }
            5 if ty < 3 => {
                let op = self.one(&["<<", ">>"]);
                format!("({} {op} {})", self.number(ty, d), self.number(0, d))
            }
            6 => {
                let from = self.below(5);
                format!("({} as {name})", self.number(from, d))
            }
            7 => format!(
                "{}.{}({})",
                self.number(ty, d),
                self.one(&["min", "max"]),
                self.number(ty, d)
            ),
            8 if ty > 2 => format!(
                "{}.{}()",
                self.number(ty, d),
                self.one(&["sqrt", "floor", "ceil", "trunc", "round", "abs"])
            ),
            8 if ty == 0 => {
                let of = self.below(3);
                format!(
                    "{}.{}()",
                    self.number(of, d),
                    self.one(&["count_ones", "leading_zeros", "trailing_zeros"])
                )
            }
            8 if ty == 2 => format!("{}.abs()", self.number(ty, d)),
            9 => {
                let (test, yes, no) = (self.boolean(d), self.number(ty, d), self.number(ty, d));
                format!("(if {test} {{ {yes} }} else {{ {no} }})")
            }
            10 if ty >= 2 => format!("(-{})", self.number(ty, d)),
            10 if ty == 1 => format!("Random::mix({})", self.number(1, d)),
            11 if ty == 3 => format!("blend({}, {})", self.number(3, d), self.number(3, d)),
            11 if ty == 0 => format!("spread({}, {})", self.number(0, d), self.number(1, d)),
            _ => format!("{array}[{}]", self.place(d)),
        }
    }

    fn statement(&mut self, depth: usize, in_loop: bool) -> String {
        let ty = self.below(5);
        let (name, _, output) = TYPES[ty];
        let changing: Vec<(String, usize, bool)> =
            self.variables.iter().filter(|x| x.2).cloned().collect();
        match self.below(if depth == 0 { 5 } else { 10 }) {
            0 | 1 => {
                let (variable, changes) = (self.name(), self.below(2) == 0);
                let text = match self.below(3) {
                    0 => format!(
                        "let {}{variable}: {name} = {};\n",
                        if changes { "mut " } else { "" },
                        self.number(ty, 2)
                    ),
                    1 => format!(
                        "let {}{variable} = {};\n",
                        if changes { "mut " } else { "" },
                        self.call_free(ty)
                    ),
                    _ => format!(
                        "let {}{variable}: {name} = if {} {{ {} }} else {{ {} }};\n",
                        if changes { "mut " } else { "" },
                        self.boolean(2),
                        self.number(ty, 2),
                        self.number(ty, 2)
                    ),
                };
                self.variables.push((variable, ty, changes));
                text
            }
            2 if !changing.is_empty() => {
                let (variable, ty, _) = changing[self.below(changing.len())].clone();
                let op = self.one(if ty < 3 {
                    &["=", "+=", "-=", "*=", "^=", "|="]
                } else {
                    &["=", "+=", "-=", "*=", "/="]
                });
                format!("{variable} {op} {};\n", self.number(ty, 2))
            }
            3 | 2 => {
                format!("{output}[v] {} {};\n", self.one(&["=", "+=", "-="]), self.number(ty, 2))
            }
            4 if in_loop => {
                format!("if {} {{ {}; }}\n", self.boolean(2), self.one(&["continue", "break"]))
            }
            4 => format!("if {} {{ return; }}\n", self.boolean(2)),
            5 | 6 => {
                let test = self.boolean(2);
                format!(
                    "if {test} {{\n{}}} else {{\n{}}}\n",
                    self.block(depth - 1, in_loop),
                    self.block(depth - 1, in_loop)
                )
            }
            7 => {
                let on = self.number(0, 2);
                let arms = [("0 | 3", 0), ("4..=90", 0), ("200..1000", 0)].map(|arm| arm.0);
                let subject = self.name();
                let mut text = format!("let {subject}: u32 = {on};\nmatch {subject} {{\n");
                for arm in arms {
                    text += &format!("{arm} => {{\n{}}}\n", self.block(depth - 1, in_loop));
                }
                let variable = self.name();
                self.variables.push((variable.clone(), 0, false));
                let last = self.block(depth - 1, in_loop);
                self.variables.retain(|x| x.0 != variable);
                text + &format!(
                    "{variable} if {variable} > 5000 => {{\n{last}}}\n_ => {{ o32[v] += 1; }}\n}}\n"
                )
            }
            8 => {
                let (variable, limits) = (self.name(), self.one(&["..", "..="]));
                self.variables.push((variable.clone(), 0, false));
                let text = self.block(depth - 1, true);
                self.variables.retain(|x| x.0 != variable);
                format!(
                    "for {variable} in {}_u32{limits}{} {{\n{text}}}\n",
                    self.below(3),
                    self.one(&["v % 5", "4", "p"])
                )
            }
            _ => {
                let (edge, variable) = (self.name(), self.name());
                let ty = [0, 3][self.below(2)];
                self.variables.push((variable.clone(), ty, false));
                let text = self.block(depth - 1, true);
                self.variables.retain(|x| x.0 != variable);
                let field = if ty == 0 { "node" } else { "weight" };
                format!("for {edge} in g.edges(v) {{\nlet {variable} = {edge}.{field};\n{text}}}\n")
            }
        }
    }

    /// A number whose type the text tells by itself.
    fn call_free(&mut self, ty: usize) -> String {
        let (name, array, _) = TYPES[ty];
        match self.below(2) {
            0 => format!("{array}[{}]", self.place(1)),
            _ => format!("{} as {name}", self.number(ty, 2)),
        }
    }

    fn block(&mut self, depth: usize, in_loop: bool) -> String {
        let kept = self.variables.len();
        let count = 1 + self.below(2);
        let text = (0..count).map(|_| self.statement(depth, in_loop)).collect();
        self.variables.truncate(kept);
        text
    }
}

/// See the crate.
#[proc_macro]
pub fn random_lambdas(input: TokenStream) -> TokenStream {
    let input = input.to_string();
    let mut numbers = input.split(',').map(|word| word.trim().parse::<u64>().expect("two numbers"));
    let (count, seed) = (numbers.next().expect("a count"), numbers.next().expect("a seed"));
    let (mut text, mut all) = (String::new(), String::new());
    for k in 0..count {
        let mut draw =
            Draw { state: seed.wrapping_mul(1 << 32) + k, variables: Vec::new(), names: 0 };
        let body: String = (0..4).map(|_| draw.statement(1, false)).collect();
        text += &format!(
            "#[lambda]\n#[allow(unused, unreachable_code)]\nfn random_{k}(g: GraphView, v: u32, a32: Reads<u32>, a64: Reads<u64>, ai: Reads<i32>, \
             af: Reads<f32>, ad: Reads<f64>, s: Reads<NodeSet>, o32: Writes<u32>, o64: Writes<u64>, oi: Writes<i32>, \
             of: Writes<f32>, od: Writes<f64>, p: u32, q: f32) {{\n{body}}}\n"
        );
        all += &format!("random_{k}(), ");
    }
    text += &format!("fn lambdas() -> Vec<Lambda> {{ vec![{all}] }}");
    text.parse().expect("the text is Rust")
}
