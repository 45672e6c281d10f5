//! A comparison in the terminal: one table with a column a schema and a row a figure, and under it the
//! trees of each schema, a row a tree.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, LineStyle, Row, Table, TableStyle};

use super::findings::ratio;
use super::units::{bytes, count, micros, short};
use super::{Comparison, Kind, QuestionFigures, SchemaFigures};
use crate::scenario::{Effect, Question};
use crate::target::{StorageFigures, TreeFigures};

/// Trees of one schema that are shown one by one; more are summed up.
const TREES_SHOWN: usize = 4;

/// A rule above, under the header, and below; nothing between rows, which are many.
const RULED: TableStyle = TableStyle::new()
    .top_border(LineStyle::new('─', '─', '─', '─'))
    .header_separator(LineStyle::new('─', '─', '─', '─'))
    .bottom_border(LineStyle::new('─', '─', '─', '─'));

/// The comparison as text, for a terminal of any width.
pub fn render(comparison: &Comparison) -> String {
    let mut out = String::new();
    let data = &comparison.data;
    let _ = writeln!(out, "{}: {}", comparison.scenario, data.description);
    let _ = writeln!(
        out,
        "{} documents, {}, loaded {}; on {}",
        count(data.documents),
        bytes(data.bytes as f64),
        data.load_order,
        comparison.target
    );
    for schema in &comparison.schemas {
        let _ = writeln!(out, "  {:<18} {}", schema.name, schema.note);
    }
    for question in &comparison.questions {
        let mixed = if question.weight == 0 { "; not in the mix" } else { "" };
        let _ = writeln!(out, "  {:<18} {}{mixed}", question.name, question.text);
    }
    let _ = writeln!(out, "{}", figures(comparison));
    let _ = writeln!(out, "{}", trees(comparison));
    out.push_str(&said_out_loud(comparison));
    out
}

fn figures(comparison: &Comparison) -> Table {
    let schemas = &comparison.schemas;
    let mut table = Table::new();
    table.load_style(RULED);
    let names = schemas.iter().map(|schema| Cell::new(&schema.name).set_alignment(CellAlignment::Right));
    table.set_header(std::iter::once(Cell::new("")).chain(names).collect::<Vec<_>>());

    let Some(naive) = schemas.first() else { return table };
    section(&mut table, "stored");
    row(&mut table, "documents", schemas, |s| count(s.loaded.documents));
    row(&mut table, "data", schemas, |s| with_ratio(naive, s, |f| (f.loaded.data_bytes, 0)));
    row(&mut table, "records, as loaded", schemas, |s| bytes(s.loaded.record_bytes() as f64));
    row(&mut table, "records, compacted", schemas, |s| {
        with_ratio(naive, s, |f| (f.compacted.record_bytes(), f.compacted.record_pages()))
    });
    row(&mut table, "indexes, as loaded", schemas, |s| bytes(s.loaded.index_bytes() as f64));
    row(&mut table, "indexes, compacted", schemas, |s| {
        with_ratio(naive, s, |f| (f.compacted.index_bytes(), f.compacted.index_pages()))
    });
    row(&mut table, "both, compacted", schemas, |s| with_ratio(naive, s, |f| whole(&f.compacted)));
    row(&mut table, "load", schemas, |s| {
        format!("{:.2} s, {:.0} k/s", s.load.seconds, s.load.documents_per_second / 1000.0)
    });

    for (at, question) in comparison.questions.iter().enumerate() {
        section(&mut table, &question.name);
        question_rows(&mut table, question, schemas, at);
    }

    let Some(mix) = naive.mix.as_ref() else { return table };
    section(&mut table, &format!("mix of {} operations", count(mix.operations)));
    let of_mix = |s: &SchemaFigures, show: &dyn Fn(&crate::measure::MixFigures) -> String| match &s.mix {
        Some(mix) => show(mix),
        None => "-".to_owned(),
    };
    row(&mut table, "page accesses", schemas, |s| of_mix(s, &|mix| count(mix.accesses)));
    row(&mut table, "working set", schemas, |s| {
        of_mix(s, &|mix| format!("{}, {} p.", bytes(mix.bytes as f64), count(mix.pages)))
    });
    for (at, percent) in ["90", "95", "99"].iter().enumerate() {
        row(&mut table, &format!("cache for {percent} % hits"), schemas, |s| {
            of_mix(s, &|mix| match mix.cache_for_hits[at] {
                Some(cache) => bytes(cache as f64),
                None => "none".to_owned(),
            })
        });
    }
    for (at, missed) in mix.missed.iter().enumerate() {
        let cache = format!("read per 1,000 at {} MiB", missed.cache_bytes >> 20);
        row(&mut table, &cache, schemas, |s| {
            of_mix(s, &|mix| mix.missed.get(at).map_or("-".to_owned(), |m| bytes(m.bytes_per_thousand as f64)))
        });
    }
    table
}

fn section(table: &mut Table, title: &str) {
    table.add_row([title]);
}

fn row(table: &mut Table, label: &str, schemas: &[SchemaFigures], show: impl Fn(&SchemaFigures) -> String) {
    let mut row = Row::new();
    row.add_cell(Cell::new(format!("  {label}")));
    for schema in schemas {
        row.add_cell(Cell::new(show(schema)).set_alignment(CellAlignment::Right));
    }
    table.add_row(row);
}

fn question_rows(table: &mut Table, question: &Question, schemas: &[SchemaFigures], at: usize) {
    let of = |s: &SchemaFigures, show: &dyn Fn(&QuestionFigures) -> String| match s.questions.get(at) {
        Some(figures) => show(figures),
        None => "-".to_owned(),
    };
    row(table, "keys / docs examined", schemas, |s| {
        of(s, &|f| format!("{} / {}", short(f.keys_examined), short(f.documents_examined)))
    });
    let pages = |s: &SchemaFigures, show: &dyn Fn(&crate::measure::PageFigures) -> String| {
        of(s, &|f| f.pages.as_ref().map_or("-".to_owned(), show))
    };
    row(table, "inner+index+record pages", schemas, |s| {
        pages(s, &|p| {
            let overflow = if p.overflow > 0.0 { format!("+{}o", short(p.overflow)) } else { String::new() };
            format!("{}+{}+{}{overflow}", short(p.inner), short(p.index_leaf), short(p.record))
        })
    });
    row(table, "bytes read", schemas, |s| pages(s, &|p| bytes(p.bytes)));
    if question.effect == Effect::Write {
        row(table, "bytes dirtied", schemas, |s| pages(s, &|p| bytes(p.bytes_dirtied)));
        row(table, "index entries written", schemas, |s| of(s, &|f| short(f.index_entries_written)));
    } else {
        row(table, "bytes answered", schemas, |s| of(s, &|f| bytes(f.reply_bytes)));
    }
    row(table, "median / p99", schemas, |s| {
        of(s, &|f| f.latency.map_or("-".to_owned(), |l| format!("{} / {}", micros(l.median_us), micros(l.p99_us))))
    });
}

fn whole(storage: &StorageFigures) -> (u64, u64) {
    (storage.record_bytes() + storage.index_bytes(), storage.record_pages() + storage.index_pages())
}

/// Bytes, and how many times the naive schema's they are, where that means something.
fn with_ratio(naive: &SchemaFigures, schema: &SchemaFigures, of: impl Fn(&SchemaFigures) -> (u64, u64)) -> String {
    let here = of(schema);
    let shown = bytes(here.0 as f64);
    if std::ptr::eq(naive, schema) {
        return shown;
    }
    match ratio(of(naive), here) {
        Some(ratio) => format!("{shown} (x{ratio:.3})"),
        None => format!("{shown} (naive too small)"),
    }
}

/// The trees of all schemas: what they hold and occupy, as loaded and compacted.
fn trees(comparison: &Comparison) -> Table {
    let mut table = Table::new();
    table.load_style(RULED);
    let header =
        ["", "entries", "loaded", "pages", "high", "full", "each", "compacted", "pages", "high", "full", "each"];
    let cell = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    table.set_header(header.map(|text| cell(text.to_owned())));
    for schema in &comparison.schemas {
        table.add_row([schema.name.as_str()]);
        let kinds =
            [(&schema.loaded.records, &schema.compacted.records), (&schema.loaded.indexes, &schema.compacted.indexes)];
        for (loaded, compacted) in kinds {
            for (loaded, compacted) in summed(loaded).iter().zip(summed(compacted)) {
                let mut row = Row::new();
                row.add_cell(Cell::new(format!("  {}", loaded.name)));
                row.add_cell(cell(count(loaded.entries)));
                for tree in [loaded, &compacted] {
                    for text in tree_cells(tree) {
                        row.add_cell(cell(text));
                    }
                }
                table.add_row(row);
            }
        }
    }
    table
}

/// Bytes, pages, height, fill and bytes an entry; what the target does not tell is left out.
fn tree_cells(tree: &TreeFigures) -> [String; 5] {
    let told = |text: String, is_told: bool| if is_told { text } else { "-".to_owned() };
    [
        bytes(tree.bytes as f64),
        told(count(tree.pages), tree.pages > 0),
        told(tree.height.to_string(), tree.pages > 0),
        told(format!("{:.0} %", tree.fill * 100.0), tree.pages > 0),
        told(bytes(tree.bytes as f64 / tree.entries.max(1) as f64), tree.entries > 0),
    ]
}

/// Trees by names that tell them apart; many of them as their sum.
fn summed(trees: &[TreeFigures]) -> Vec<TreeFigures> {
    if trees.len() <= TREES_SHOWN {
        let several = trees.iter().any(|tree| tree.collection != trees[0].collection);
        let named = trees.iter().map(|tree| match several {
            true => TreeFigures { name: format!("{}: {}", tree.collection, tree.name), ..tree.clone() },
            false => tree.clone(),
        });
        return named.collect();
    }
    let bytes: u64 = trees.iter().map(|tree| tree.bytes).sum();
    let filled: f64 = trees.iter().map(|tree| tree.fill * tree.bytes as f64).sum();
    vec![TreeFigures {
        collection: String::new(),
        name: format!("{} indexes", trees.len()),
        entries: trees.iter().map(|tree| tree.entries).sum(),
        pages: trees.iter().map(|tree| tree.pages).sum(),
        height: trees.iter().map(|tree| tree.height).max().unwrap_or(0),
        bytes,
        fill: filled / (bytes as f64).max(1.0),
    }]
}

/// What got worse against the naive schema, one line each.
fn said_out_loud(comparison: &Comparison) -> String {
    let mut out = String::from("All schemas gave the same answers.\n");
    if comparison.findings.is_empty() {
        return out;
    }
    out.push_str("What got worse against the naive schema:\n");
    for finding in &comparison.findings {
        let (verb, show): (&str, fn(f64) -> String) = match finding.kind {
            Kind::Grew => ("grew", bytes),
            Kind::Slower => ("is slower", micros),
            Kind::ExaminesMore => ("examines more keys and documents", short),
            Kind::ReadsMore => ("reads more", bytes),
            Kind::WritesMore => ("writes more", bytes),
        };
        let _ = writeln!(
            out,
            "  {}: {} {verb}: {} instead of {} (x{:.2})",
            finding.schema,
            finding.what,
            show(finding.here),
            show(finding.naive),
            finding.here / finding.naive
        );
    }
    out
}
