//! One page with everything in it: style, script and plots; nothing is fetched.

use super::document::{Chapter, Document};
use super::plot::{Ink, all_inks, escape};
use super::plots::slug;
use super::sheet::{Entry, Sheet};
use super::{COMMIT, VERSION};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Words that are more than this are broken into lines.
const LONG: usize = 48;

/// What a browser is told: everything is in the page, nothing may be fetched.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

pub(super) fn html(document: &Document<'_>) -> String {
    let title = escape(&document.title);
    let chapters = document.chapters();
    let link = |Chapter { name, .. }: &Chapter<'_>| {
        format!("<li><a href=\"#{}\">{}</a></li>\n", slug(name), escape(name))
    };
    let links: String = chapters.iter().map(link).collect();
    let body: String = chapters.iter().map(section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"hivegraph {VERSION}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title} - hivegraph results</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n{}</header>\n<nav aria-label=\"Chapters\">\n<ul>\n{links}</ul>\n</nav>\n\
         <main>\n{body}</main>\n<footer><p>Made by <code>hive report</code>, hivegraph {VERSION} ({}). Click a column's \
         name to sort by it; point at a mark in a plot to read it.</p></footer>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        inks(),
        head(document),
        escape(COMMIT),
    )
}

/// The first screen: where, when and by which build it was measured, and what more replicas bring.
fn head(document: &Document<'_>) -> String {
    let mut out = String::from("<dl class=\"facts\">\n");
    for (name, text) in document.facts() {
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&text));
    }
    out += "</dl>\n";
    if let Some(best) = document.best() {
        out += "<section id=\"best-speed-ups\">\n";
        table(&best, "", &mut out);
        out += "</section>\n";
    }
    out
}

fn section(chapter: &Chapter<'_>) -> String {
    let name = &chapter.name;
    let mut out = format!("<section id=\"{}\">\n<h2>{}</h2>\n", slug(name), escape(name));
    let plots = chapter.plots();
    if !plots.is_empty() {
        out += "<div class=\"plots\">\n";
        for plot in plots {
            let _ = writeln!(out, "<figure>{}</figure>", plot.svg());
        }
        out += "</div>\n";
    }
    chapter.tables.iter().for_each(|sheet| table(sheet, name, &mut out));
    out + "</section>\n"
}

fn table(sheet: &Sheet, chapter: &str, out: &mut String) {
    let title = escape(&sheet.title);
    if sheet.title != chapter {
        let _ = writeln!(out, "<h3>{title}</h3>");
    }
    if !sheet.note.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&sheet.note));
    }
    *out += &format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\n<table>\n<thead><tr>"
    );
    let numeric: Vec<&str> = (0..sheet.columns.len())
        .map(|c| if sheet.is_numeric(c) { " class=\"n\"" } else { "" })
        .collect();
    for (column, class) in sheet.columns.iter().zip(&numeric) {
        *out += &format!(
            "<th scope=\"col\"{class} aria-sort=\"none\"><button type=\"button\">{}</button></th>",
            escape(column)
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &sheet.rows {
        out.push_str("<tr>");
        for (entry, class) in row.iter().zip(&numeric) {
            let _ = match entry {
                Entry::Blank => write!(out, "<td{class}></td>"),
                Entry::Text(text) if text.chars().count() > LONG => {
                    write!(out, "<td class=\"long\">{}</td>", escape(text))
                }
                Entry::Text(text) => write!(out, "<td{class}>{}</td>", escape(text)),
                Entry::Number(text, value) => {
                    write!(out, "<td{class} data-v=\"{value}\">{}</td>", escape(text))
                }
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// The colours of the plots in the dark.
fn inks() -> String {
    let rule = |Ink { class, in_dark, .. }: Ink| {
        format!("svg .{class} {{ fill: {in_dark} }} svg .k-{class} {{ stroke: {in_dark} }}\n")
    };
    let dark: String = all_inks().map(rule).collect();
    format!("@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n")
}
