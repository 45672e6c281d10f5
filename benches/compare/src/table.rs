//! The table: a row for each operation, a column for each engine, the time and how many times the first's it is.

use std::fmt::Write;
use std::time::Duration;

use crate::data::Answer;

/// One line for each operation, the first engine's times being what the others' are compared with.
pub(crate) fn render(operations: &[&str], columns: &[(String, Vec<(Duration, Answer)>)]) -> String {
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once(String::new()).chain(columns.iter().map(|c| c.0.clone())).collect()];
    for (place, operation) in operations.iter().enumerate() {
        let times: Vec<Duration> =
            columns.iter().filter_map(|(_, column)| column.get(place)).map(|(time, _)| *time).collect();
        let mut row = vec![(*operation).to_owned()];
        for (nth, time) in times.iter().enumerate() {
            let mut cell = shown(*time);
            if let (Some(first), true) = (times.first(), nth > 0) {
                let _ = write!(cell, "  x{:.1}", time.as_secs_f64() / first.as_secs_f64().max(1e-12));
            }
            row.push(cell);
        }
        rows.push(row);
    }
    let n_columns = columns.len() + 1;
    let widths: Vec<usize> =
        (0..n_columns).map(|c| rows.iter().filter_map(|row| row.get(c)).map(String::len).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        for (nth, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if nth == 0 { write!(out, "{cell:<width$}") } else { write!(out, "  {cell:>width$}") };
        }
        out.push('\n');
    }
    out
}

/// A time in the unit that suits it.
fn shown(time: Duration) -> String {
    let ns = time.as_nanos() as f64;
    if ns < 1e4 {
        format!("{:.2} us", ns / 1e3)
    } else if ns < 1e6 {
        format!("{:.1} us", ns / 1e3)
    } else {
        format!("{:.1} ms", ns / 1e6)
    }
}
