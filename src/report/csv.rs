//! All cells as comma-separated values, unrounded.

use crate::results::{Case, Done, Family, Member, Outcome, ResultSet};

const HEADER: &str = "workload,dataset,variant,series,scaling,settings,machine,gpus,replicas,nodes,arcs,status,\
median_ms,mean_ms,min_ms,max_ms,runs,speed_up,efficiency,arcs_per_s,step_ms,merge_ms,other_ms,prepare_ms,reached,\
strategy,collective,verified,build,record,error\n";

/// A line a cell; the first names the columns, times are in milliseconds.
pub(crate) fn csv(set: &ResultSet, families: &[Family<'_>]) -> String {
    let mut out = HEADER.to_string();
    for case in set.cases.iter().chain(&set.singles) {
        let members = families.iter().flat_map(|family| &family.members);
        let member = members.into_iter().find(|member| std::ptr::eq(member.case, case));
        out += &line(case, member);
    }
    out
}

fn line(case: &Case, member: Option<&Member<'_>>) -> String {
    let empty = Done::default();
    let (status, error) = match &case.outcome {
        Outcome::Done(_) if case.single => ("single", ""),
        Outcome::Done(_) => ("done", ""),
        Outcome::Failed(why) => ("failed", why.as_str()),
        Outcome::Skipped(why) => ("skipped", why.as_str()),
    };
    let done = case.done().unwrap_or(&empty);
    let ran = case.done().is_some();
    let time = |value: f64| if ran { value.to_string() } else { String::new() };
    let split = |part: fn(&crate::results::Split) -> f64| some(done.split.as_ref().map(part));
    let text = |text: &Option<String>| quoted(text.as_deref().unwrap_or_default());
    let fields = [
        quoted(&case.workload),
        quoted(&case.dataset),
        text(&case.variant),
        text(&case.series),
        case.scaling.to_string(),
        quoted(&case.settings.to_string()),
        quoted(&case.machine),
        case.gpus.to_string(),
        case.replicas.to_string(),
        some(case.nodes),
        some(case.arcs),
        status.into(),
        time(done.time.median),
        time(done.time.mean),
        some(done.time.min),
        some(done.time.max),
        if ran { done.time.runs.to_string() } else { String::new() },
        some(member.and_then(|member| member.speed_up)),
        some(member.and_then(|member| member.efficiency)),
        some(done.rate),
        split(|split| split.step),
        split(|split| split.merge),
        split(|split| split.other),
        some(done.prepare_ms),
        some(done.reached),
        text(&done.strategy),
        text(&done.used),
        some(done.verified.map(|verdict| verdict.shown().to_lowercase())),
        quoted(&case.build),
        quoted(&case.origin),
        quoted(error),
    ];
    fields.join(",") + "\n"
}

fn some(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// As RFC 4180 has it, on one line. What a spreadsheet would take for a formula begins with an apostrophe.
fn quoted(text: &str) -> String {
    let mut text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.starts_with(['=', '+', '-', '@']) {
        text.insert(0, '\'');
    }
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a b"), "a b");
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\" \"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
