//! How a graph is loaded: the policies of docs/design.md, "Semantics", the same for every format and generator.

use crate::byte_count::ByteCount;
use crate::error::{Error, Result};
use crate::hash::{Draw, weight_key};
use crate::words::{as_text, words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// What becomes of several arcs from one node to another.
    Duplicates, "--duplicates" {
        /// All stay.
        #[default]
        Keep = "keep",
        /// The first in the file stays.
        First = "first",
        /// The lightest stays.
        Min = "min",
        /// One stays and weighs as much as all together (added in f64, lightest first).
        Sum = "sum",
    }
);

words!(
    /// What becomes of arcs from a node to itself.
    SelfLoops, "--self-loops" {
        /// They stay.
        #[default]
        Keep = "keep",
        /// They go.
        Drop = "drop",
    }
);

words!(
    /// Whether arcs get their reverses, and what a pair weighs then. A configuration file may also say `true`, which is
    /// `min`, and `false`, which is `off`.
    Symmetrize, "--symmetrize" {
        /// One arc each way per pair, with the least weight of both directions.
        Min = "min" | "true",
        /// One arc each way per pair, with the greatest weight of both directions.
        Max = "max",
        /// One arc each way per pair, with the sum of both directions (added in f64, lightest first).
        Sum = "sum",
        /// Every arc that has no reverse of the same weight gets one: a pair whose directions differ has two arcs
        /// each way, unless `--duplicates` leaves one.
        Keep = "keep",
        /// Arcs stay as they are.
        #[default]
        Off = "off" | "false",
    }
);

words!(
    /// Whether the cache of loaded graphs is used.
    Cache, "--cache" {
        /// A graph that was loaded before is mapped; one that took long to load is kept.
        #[default]
        On = "on",
        /// Neither read nor written.
        Off = "off",
        /// Written whatever is there, not read.
        Refresh = "refresh",
    }
);

words!(
    /// What the ids of an edge list are.
    Ids, "--ids" {
        /// Whole numbers; names where some id is no whole number.
        #[default]
        Auto = "auto",
        /// Whole numbers; anything else is refused.
        Integer = "integer",
        /// Names, whatever they look like.
        Text = "text",
    }
);

words!(
    /// Whether the first line of an edge list is `n m`, the numbers of nodes and arcs.
    CountsLine, "--counts-line" {
        /// It is where it cannot well be an arc.
        #[default]
        Auto = "auto",
        /// It is.
        Yes = "yes",
        /// It is an arc.
        No = "no",
    }
);

/// What separates the columns of an edge list. Written `auto`, `comma`, `tab`, `semicolon`, `pipe`, `space`, or as
/// the character itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Delimiter {
    /// What the first lines agree on.
    #[default]
    Auto,
    /// Blanks and tabs, any number of them.
    Space,
    /// This byte, once.
    Byte(u8),
}

/// Which column is what in an edge list. Written `src=NAME|N,dst=NAME|N[,weight=NAME|N]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Columns {
    /// The sources.
    pub src: ColumnName,
    /// The targets.
    pub dst: ColumnName,
    /// The weights, if there are any.
    pub weight: Option<ColumnName>,
}

/// One column of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnName {
    /// The name in the first line.
    Name(String),
    /// The place, from 1.
    Number(usize),
}

/// Where weights come from. Written `file`, `rounded`, `unit` or `random:LO-HI:SEED`, the bounds of real ones with a point.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Weights {
    /// The file's own, or 1 where it has none.
    #[default]
    File,
    /// The file's own; whole numbers that f32 does not hold become the nearest that it holds.
    Rounded,
    /// Every arc weighs 1, before duplicates are looked at; the file's weights are not.
    Unit,
    /// Whole numbers, each as likely: a hash of the seed and the pair, unordered where the graph is
    /// symmetric, so that it stays so. Given last: arcs of the same pair weigh the same.
    Random {
        /// The least weight.
        low: u32,
        /// The greatest.
        high: u32,
        /// Another seed gives other weights.
        seed: u64,
    },
    /// Real numbers, `low` and 2^24 - 1 even steps above it, each as likely: drawn alike.
    Real {
        /// The least weight.
        low: f32,
        /// What no weight reaches, but by rounding.
        high: f32,
        /// Another seed gives other weights.
        seed: u64,
    },
}

/// How nodes are numbered inside; results speak of the input's ids all the same. Written `none`,
/// `random:SEED` or `degree`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Relabel {
    /// In the order of their ids.
    #[default]
    None,
    /// In an order that depends on the seed and nothing else.
    Random(u64),
    /// By falling out-degree, ties by id.
    Degree,
}

/// Weights above this are not whole numbers in f32.
const MOST: u32 = 1 << 24;

/// What a reader does with a file's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileWeights {
    /// They are passed over, whatever they are.
    Skip,
    /// They are read; a whole number that f32 does not hold is refused.
    Exact,
    /// They are read; a whole number that f32 does not hold becomes the nearest that it holds.
    Rounded,
}

impl FileWeights {
    /// Whether weights are read.
    pub(crate) fn read(self) -> bool {
        self != FileWeights::Skip
    }
}

impl Weights {
    /// What becomes of a file's weights.
    pub(crate) fn in_file(self) -> FileWeights {
        match self {
            Weights::File => FileWeights::Exact,
            Weights::Rounded => FileWeights::Rounded,
            Weights::Unit | Weights::Random { .. } | Weights::Real { .. } => FileWeights::Skip,
        }
    }

    /// How they are drawn, if they are.
    pub(crate) fn draw(self) -> Option<Draw> {
        match self {
            Weights::Random { low, high, seed } => {
                let (key, span) = (weight_key(seed), u64::from(high - low) + 1);
                Some(Draw { key, span, low: low as f32, step: 1.0 })
            }
            Weights::Real { low, high, seed } => {
                let step = (high - low) / MOST as f32;
                Some(Draw { key: weight_key(seed), span: MOST.into(), low, step })
            }
            Weights::File | Weights::Rounded | Weights::Unit => None,
        }
    }
}

impl FromStr for Weights {
    type Err = Error;
    fn from_str(text: &str) -> Result<Weights> {
        let random = || {
            let (range, seed) = text.strip_prefix("random:")?.split_once(':')?;
            let (low, high) = range.split_once('-')?;
            let seed = seed.parse().ok()?;
            if range.contains('.') {
                let (low, high): (f32, f32) = (low.parse().ok()?, high.parse().ok()?);
                let drawn = low >= 0.0 && low < high && high.is_finite();
                return drawn.then_some(Weights::Real { low, high, seed });
            }
            let (low, high) = (low.parse().ok()?, high.parse().ok()?);
            (low <= high && high <= MOST).then_some(Weights::Random { low, high, seed })
        };
        match text {
            "file" => Ok(Weights::File),
            "rounded" => Ok(Weights::Rounded),
            "unit" => Ok(Weights::Unit),
            _ => random().ok_or_else(|| {
                Error::input(format!(
                    "--weights {text}: not understood; use file, rounded, unit or random:LO-HI:SEED, as in \
                     random:1-64:7 (whole numbers up to {MOST}) or random:0.0-1.0:7 (real ones)"
                ))
            }),
        }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Weights::File => f.write_str("file"),
            Weights::Rounded => f.write_str("rounded"),
            Weights::Unit => f.write_str("unit"),
            Weights::Random { low, high, seed } => write!(f, "random:{low}-{high}:{seed}"),
            // With a point, and never with an exponent.
            Weights::Real { low, high, seed } => {
                let [low, high] = [low, high].map(|bound| match bound.fract() == 0.0 {
                    true => format!("{bound}.0"),
                    false => bound.to_string(),
                });
                write!(f, "random:{low}-{high}:{seed}")
            }
        }
    }
}

impl FromStr for Relabel {
    type Err = Error;
    fn from_str(text: &str) -> Result<Relabel> {
        let seed = || text.strip_prefix("random:")?.parse().ok();
        match text {
            "none" => Ok(Relabel::None),
            "degree" => Ok(Relabel::Degree),
            _ => seed().map(Relabel::Random).ok_or_else(|| {
                let what = "not understood; use none, random:SEED or degree";
                Error::input(format!("--relabel {text}: {what}"))
            }),
        }
    }
}

impl fmt::Display for Relabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relabel::None => f.write_str("none"),
            Relabel::Random(seed) => write!(f, "random:{seed}"),
            Relabel::Degree => f.write_str("degree"),
        }
    }
}

/// The words for characters that separate columns.
const DELIMITERS: [(&str, u8); 4] =
    [("comma", b','), ("tab", b'\t'), ("semicolon", b';'), ("pipe", b'|')];

impl FromStr for Delimiter {
    type Err = Error;
    fn from_str(text: &str) -> Result<Delimiter> {
        if let Some((_, byte)) = DELIMITERS.iter().find(|(word, _)| *word == text) {
            return Ok(Delimiter::Byte(*byte));
        }
        match (text, text.as_bytes()) {
            ("auto", _) => Ok(Delimiter::Auto),
            ("space" | " ", _) => Ok(Delimiter::Space),
            ("\t" | "\\t", _) => Ok(Delimiter::Byte(b'\t')),
            (_, &[byte]) if byte.is_ascii_punctuation() && byte != b'"' => {
                Ok(Delimiter::Byte(byte))
            }
            _ => Err(Error::input(format!(
                "--delimiter {text}: not understood; use auto, comma, tab, semicolon, pipe, space or one \
                 punctuation mark"
            ))),
        }
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delimiter::Auto => f.write_str("auto"),
            Delimiter::Space => f.write_str("space"),
            Delimiter::Byte(byte) => match DELIMITERS.iter().find(|(_, other)| other == byte) {
                Some((word, _)) => f.write_str(word),
                None => write!(f, "{}", *byte as char),
            },
        }
    }
}

impl FromStr for Columns {
    type Err = Error;
    fn from_str(text: &str) -> Result<Columns> {
        let refuse = |what: &str| {
            Error::input(format!(
                "--columns {text}: {what}; write src=NAME|N,dst=NAME|N[,weight=NAME|N], columns counted from 1"
            ))
        };
        let [mut src, mut dst, mut weight] = [const { None }; 3];
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(refuse("not understood"));
            };
            let value = value.trim();
            let column = match (value.is_empty(), value.parse::<usize>()) {
                (true, _) => return Err(refuse("a column has no name")),
                (_, Ok(0)) => return Err(refuse("there is no column 0")),
                (_, Ok(number)) => ColumnName::Number(number),
                (_, Err(_)) => ColumnName::Name(value.into()),
            };
            let slot = match key.trim() {
                "src" => &mut src,
                "dst" => &mut dst,
                "weight" => &mut weight,
                _ => return Err(refuse("only src, dst and weight can be named")),
            };
            if slot.replace(column).is_some() {
                return Err(refuse("a part is there twice"));
            }
        }
        match (src, dst) {
            (Some(src), Some(dst)) if src == dst => Err(refuse("src and dst are the same column")),
            (Some(src), Some(dst)) => Ok(Columns { src, dst, weight }),
            _ => Err(refuse("src and dst are both needed")),
        }
    }
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnName::Name(name) => f.write_str(name),
            ColumnName::Number(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "src={},dst={}", self.src, self.dst)?;
        self.weight.as_ref().map_or(Ok(()), |weight| write!(f, ",weight={weight}"))
    }
}

as_text!(Weights, Relabel, Delimiter, Columns);

/// How a graph is loaded. The default takes the file as it is.
///
/// Options apply in this order: ids, unit weights, self-loops, duplicates, symmetry, random weights, largest component,
/// relabelling.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoadOptions {
    /// What becomes of several arcs from one node to another: keep (all) | first (of the file) | min (the lightest) |
    /// sum (one arc of their total weight) [default: keep].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHICH", help_heading = LOADING))]
    pub duplicates: Duplicates,
    /// What becomes of arcs from a node to itself: keep | drop [default: keep].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHETHER", help_heading = LOADING))]
    pub self_loops: SelfLoops,
    /// Make the graph undirected, after --duplicates. Two nodes with an arc between them get one arc each way, of this
    /// weight: min (of both directions) | max | sum. keep only adds missing reverses, and so leaves two arcs each way
    /// where weights differ. off changes nothing [default: off; without a word: min].
    #[cfg_attr(feature = "cli", arg(long, num_args = 0..=1, default_missing_value = "min", help_heading = LOADING))]
    #[cfg_attr(feature = "cli", arg(require_equals = true, value_name = "HOW"))]
    #[serde(deserialize_with = "crate::words::scalar")]
    pub symmetrize: Symmetrize,
    /// Weights of arcs: file (whole numbers that f32 does not hold are refused) | rounded (they are rounded) | unit |
    /// random:LO-HI:SEED (whole numbers, or real ones if LO or HI has a point) [default: file].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WEIGHTS", help_heading = LOADING))]
    pub weights: Weights,
    /// Order of nodes in memory; results have the ids of the input: none | random:SEED | degree [default: none].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ORDER", help_heading = LOADING))]
    pub relabel: Relabel,
    /// Number of nodes, 1 to 4294967294, with ids from the first of the format on [default: what the file declares, or
    /// else the ids that occur].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", help_heading = LOADING))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Keep only the largest weakly connected component.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", help_heading = LOADING))]
    #[cfg_attr(
        feature = "cli",
        arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")
    )]
    pub largest_component: bool,
    /// Columns of an edge list, by name or by number from 1: src=NAME|N,dst=NAME|N[,weight=NAME|N] [default: the usual
    /// names in the first line].
    #[cfg_attr(feature = "cli", arg(long, value_name = "COLUMNS", help_heading = LOADING))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Columns>,
    /// Separator of columns in an edge list: auto | comma | tab | semicolon | pipe | space | a character
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHAT", help_heading = LOADING))]
    #[serde(skip_serializing_if = "is_default")]
    pub delimiter: Delimiter,
    /// Ids of an edge list: auto (text if an id is not a whole number) | integer | text [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHICH", help_heading = LOADING))]
    #[serde(skip_serializing_if = "is_default")]
    pub ids: Ids,
    /// Whether the first line of an edge list counts nodes and arcs: auto (if it can hardly be an arc) | yes | no
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHETHER", help_heading = LOADING))]
    #[serde(skip_serializing_if = "is_default")]
    pub counts_line: CountsLine,
    /// Limit of unpacked input: bytes, or as in 512M, 80G, 80GiB (powers of 1024) [default: the available memory, or half
    /// of it for packed files and pipes].
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = LOADING))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_limit: Option<ByteCount>,
    /// Whether loaded graphs are kept in the user's cache directory: on | off | refresh [default: on].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHETHER", help_heading = LOADING))]
    pub cache: Cache,
}

#[cfg(feature = "cli")]
const LOADING: &str = "Loading";

/// Options of an edge list's text.
const OF_EDGE_LISTS: [&str; 4] = ["columns", "delimiter", "ids", "counts-line"];

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl LoadOptions {
    /// Whether several arcs from one node to another may be left.
    pub(crate) fn keeps_duplicates(&self) -> bool {
        self.duplicates == Duplicates::Keep
            && matches!(self.symmetrize, Symmetrize::Off | Symmetrize::Keep)
    }

    /// What differs from the default, as flags; empty where nothing does. The cache and the limit of the
    /// input are no policies.
    pub fn shown(&self) -> String {
        let flags = [
            "duplicates",
            "self-loops",
            "symmetrize",
            "weights",
            "relabel",
            "nodes",
            "largest-component",
        ];
        self.flags(&[&flags[..], &OF_EDGE_LISTS].concat()).join(" ")
    }

    /// Those of `names` that differ from the default, as flags.
    fn flags(&self, names: &[&str]) -> Vec<String> {
        let fields = |options: &LoadOptions| serde_json::to_value(options).unwrap_or_default();
        let (own, plain) = (fields(self), fields(&LoadOptions::default()));
        let set = names.iter().filter(|name| own.get(*name) != plain.get(*name));
        let flag = |name: &&str| match (*name, &own[*name]) {
            ("largest-component", _) => "--largest-component".into(),
            ("symmetrize", value) => format!("--symmetrize={}", value.as_str().unwrap_or_default()),
            (name, serde_json::Value::String(text)) => format!("--{name} {text}"),
            (name, value) => format!("--{name} {value}"),
        };
        set.map(flag).collect()
    }

    /// Refuses what only an edge list can follow, for a graph that is `what`.
    pub(crate) fn refuse_columns(&self, what: &str) -> Result<()> {
        match self.flags(&OF_EDGE_LISTS).first() {
            None => Ok(()),
            Some(flag) => Err(Error::input(format!(
                "{flag}: the graph is {what}, no edge list; leave it out"
            ))),
        }
    }
}
