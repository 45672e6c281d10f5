//! What a schema costs against the naive one: said out loud, whoever loses.

use serde::Serialize;

use super::{Comparison, QuestionFigures, SchemaFigures};

/// One thing that is worse than in the naive schema.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The schema that pays.
    pub schema: String,
    /// In what way.
    pub kind: Kind,
    /// The question, or what is stored.
    pub what: String,
    /// The naive schema's figure, in bytes, microseconds, or keys and documents.
    pub naive: f64,
    /// This schema's figure.
    pub here: f64,
}

/// In what way a schema is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// More bytes are stored.
    Grew,
    /// Latencies are longer: the median, and a quarter than three quarters of the naive schema's.
    Slower,
    /// More index keys and documents are examined.
    ExaminesMore,
    /// More bytes of pages are read.
    ReadsMore,
    /// More bytes of pages are changed.
    WritesMore,
}

/// Bytes are exact: a twentieth more is more.
const GREW: f64 = 1.05;
/// Latencies are not: less than a quarter more may be chance, and so may be any difference of medians
/// that lie within the other's middle half.
const SLOWER: f64 = 1.25;

/// Fewer pages than this on either side say nothing about a larger set.
const PAGES_FOR_A_RATIO: u64 = 16;
/// The same where pages are not told.
const BYTES_FOR_A_RATIO: u64 = 256 << 10;

/// `here / naive`, where both fill enough pages for the ratio to mean something.
pub(super) fn ratio(naive: (u64, u64), here: (u64, u64)) -> Option<f64> {
    let ((naive_bytes, naive_pages), (here_bytes, here_pages)) = (naive, here);
    let fills = |bytes: u64, pages: u64| {
        if pages == 0 { bytes >= BYTES_FOR_A_RATIO } else { pages >= PAGES_FOR_A_RATIO }
    };
    // A pattern may well leave few pages of many; the naive side must not be small.
    let compared = fills(naive_bytes, naive_pages) && here_bytes > 0 && (here_pages > 1 || here_pages == 0);
    compared.then(|| here_bytes as f64 / naive_bytes as f64)
}

/// What grew and what got slower, schema by schema.
pub fn findings(comparison: &Comparison) -> Vec<Finding> {
    let Some((naive, others)) = comparison.schemas.split_first() else { return Vec::new() };
    others.iter().flat_map(|schema| of_schema(naive, schema)).collect()
}

fn of_schema(naive: &SchemaFigures, schema: &SchemaFigures) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut note = |kind: Kind, what: &str, naive: f64, here: f64, limit: f64| {
        if naive > 0.0 && here > naive * limit {
            findings.push(Finding { schema: schema.name.clone(), kind, what: what.to_owned(), naive, here });
        }
    };
    let (before, after) = (&naive.compacted, &schema.compacted);
    let stored = [
        ("data", before.data_bytes, 0, after.data_bytes, 0),
        ("records", before.record_bytes(), before.record_pages(), after.record_bytes(), after.record_pages()),
        ("indexes", before.index_bytes(), before.index_pages(), after.index_bytes(), after.index_pages()),
        (
            "records and indexes",
            before.record_bytes() + before.index_bytes(),
            before.record_pages() + before.index_pages(),
            after.record_bytes() + after.index_bytes(),
            after.record_pages() + after.index_pages(),
        ),
    ];
    for (what, naive_bytes, naive_pages, bytes, pages) in stored {
        if ratio((naive_bytes, naive_pages), (bytes, pages)).is_some() {
            note(Kind::Grew, what, naive_bytes as f64, bytes as f64, GREW);
        }
    }
    for (before, after) in naive.questions.iter().zip(&schema.questions) {
        if let (Some(before_latency), Some(latency)) = (before.latency, after.latency)
            && latency.first_quartile_us > before_latency.third_quartile_us
        {
            note(Kind::Slower, &after.name, before_latency.median_us, latency.median_us, SLOWER);
        }
        let examined = |figures: &QuestionFigures| figures.keys_examined + figures.documents_examined;
        note(Kind::ExaminesMore, &after.name, examined(before), examined(after), GREW);
        if let (Some(before_pages), Some(pages)) = (&before.pages, &after.pages) {
            note(Kind::ReadsMore, &after.name, before_pages.bytes, pages.bytes, GREW);
            note(Kind::WritesMore, &after.name, before_pages.bytes_dirtied, pages.bytes_dirtied, GREW);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_data_gives_no_ratio() {
        assert_eq!(ratio((16_384, 1), (16_384, 1)), None);
        assert_eq!(ratio((1_638_400, 100), (819_200, 50)), Some(0.5));
        assert_eq!(ratio((1_638_400, 100), (16_384, 1)), None);
        assert_eq!(ratio((10_000_000, 0), (5_000_000, 0)), Some(0.5));
        assert_eq!(ratio((10_000, 0), (5_000, 0)), None);
    }
}
