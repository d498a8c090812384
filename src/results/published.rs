//! Tables to the letter as the report of HIVE's phase 2 has them.

use super::{Case, Family, Scaling, families, grouped};

const HEADER: [&str; 6] =
    ["primitive", "dataset", "variant", "num-gpus", "avg-process-time", "speedup"];

/// A table for each workload, variant and machine, as (name, text): mean ms, the reset before a run included as in the
/// published numbers, and the speed-up against the fewest GPUs, six significant digits, numbers in line by their points (the form of pandas' `to_markdown`).
pub(crate) fn published_tables(cases: &[Case]) -> Vec<(String, String)> {
    let families = families(cases);
    let of = |family: &Family<'_>| {
        let case = family.case();
        let variant = case.variant.clone().unwrap_or_default();
        (case.workload.clone(), variant, case.machine.clone(), case.settings.to_string())
    };
    let strong = families.iter().filter(|family| family.case().scaling == Scaling::Strong);
    let groups = grouped(strong, |family| of(family));
    let table = |group: Vec<&Family<'_>>| {
        let (workload, variant, machine, settings) = of(group[0]);
        let name = [workload, variant, machine, settings].join(" ");
        (name.trim_end().to_string(), table(&group))
    };
    groups.into_iter().map(table).collect()
}

fn table(families: &[&Family<'_>]) -> String {
    let mut columns: [Vec<String>; 6] = Default::default();
    for family in families {
        let whole = |case: &Case| {
            case.done().map_or(0.0, |done| done.time.mean + done.time.reset.unwrap_or_default())
        };
        let base = whole(family.case());
        for member in &family.members {
            let (case, mean) = (member.case, whole(member.case));
            let counted = if case.gpus > 0 { case.gpus } else { case.replicas };
            let row = [
                case.workload.clone(),
                case.dataset.clone(),
                case.variant.clone().unwrap_or_default(),
                counted.to_string(),
                general(mean),
                general(base / mean),
            ];
            columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        }
    }
    let mut lines = vec![String::new(); columns[0].len() + 2];
    for (place, (name, cells)) in HEADER.iter().zip(columns).enumerate() {
        let numbers = place >= 3;
        let cells = if numbers { at_the_point(cells) } else { cells };
        let wide = |text: &String| text.chars().count();
        let width = cells.iter().map(wide).max().unwrap_or(0).max(name.len() + 2);
        let right = |text: &str| format!("| {text:>width$} ");
        let left = |text: &str| format!("| {text:<width$} ");
        let put = |text: &str| if numbers { right(text) } else { left(text) };
        let rule = "-".repeat(width + 1);
        lines[0] += &put(name);
        lines[1] += &if numbers { format!("|{rule}:") } else { format!("|:{rule}") };
        lines[2..].iter_mut().zip(&cells).for_each(|(line, cell)| *line += &put(cell));
    }
    lines.into_iter().map(|line| line + "|\n").collect()
}

/// Numbers with their points in one column: blanks fill up behind.
fn at_the_point(cells: Vec<String>) -> Vec<String> {
    let behind = |text: &String| match (text.find('e'), text.find('.')) {
        (Some(exponent), None) => text.len() - exponent,
        (_, Some(point)) => text.len() - point,
        _ => 0,
    };
    let most = cells.iter().map(behind).max().unwrap_or(0);
    cells.iter().map(|text| format!("{text}{}", " ".repeat(most - behind(text)))).collect()
}

/// C's `%g`: six significant digits without trailing zeros.
fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { value.to_string() };
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{value:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_as_c_prints_them() {
        for (value, text) in [
            (0.182, "0.182"),
            (109.508, "109.508"),
            (1.0, "1"),
            (3502.388, "3502.39"),
            (0.03126667, "0.0312667"),
            (1234567.0, "1.23457e+06"),
            (0.00001234, "1.234e-05"),
            (999999.7, "1e+06"),
            (0.0, "0"),
        ] {
            assert_eq!(general(value), text);
        }
    }
}
