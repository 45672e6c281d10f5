//! `count` and `distinct` on logical documents.

use bindery_document::{OwnedValue, Result};
use bindery_patterns::Layout;
use bindery_patterns::subset::shortcut::Need;
use bindery_query::plan::Purpose;

use super::source::{Asked, Source};
use super::{LayoutCollection, LayoutRows};
use crate::database::Inner;
use crate::execute::{Question, build, choose, distinct_of_rows};
use crate::trace::Cx;

/// The number of documents that match, skip and limit applied.
///
/// # Errors
/// What the languages, the planner and the time limit say.
pub(crate) fn count(
    server: &Inner,
    collection: &LayoutCollection,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<u64> {
    let mut asked = Asked::compile(server, &collection.layout, question)?;
    if asked.exact && collection.layout.is_one_to_one() {
        // What is counted is stored documents, perhaps by their index entries alone.
        asked.stored.purpose = Purpose::Count;
        let moment = collection.snapshot();
        let mut stage = build(&moment.stored, choose(&moment.stored, &asked.stored, server.planner)?.winner);
        return stage.count_rest(&moment.stored, &asked.stored, cx);
    }
    let (skip, limit) = (asked.logical.skip, asked.logical.limit.unwrap_or(u64::MAX));
    let need = asked.need(&collection.layout, Need::Nothing);
    let mut source = Source::open(server, collection, &asked, need)?;
    let most = skip.saturating_add(limit);
    let mut found = 0;
    if let Layout::Bucket(bucket) = &*collection.layout {
        while found < most
            && source.advance_bucket(bucket, &asked.logical.filter, cx)?.is_some_and(|n| {
                found += n;
                true
            })
        {}
        return Ok(found.min(most).saturating_sub(skip));
    }
    while found < most && source.advance(cx)? {
        found += 1;
    }
    Ok(found.saturating_sub(skip))
}

/// The distinct values of a path over the documents that match, sorted.
///
/// # Errors
/// What the languages, the planner and the time limit say.
pub(crate) fn distinct(
    server: &Inner,
    collection: &LayoutCollection,
    key: &str,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<Vec<OwnedValue>> {
    let collation = question.collation(None)?;
    let need = match &*collection.layout {
        Layout::Subset(subset) if key.split('.').next() != Some(subset.array()) => Need::Nothing,
        _ => Need::All,
    };
    distinct_of_rows(&mut LayoutRows::open_for(server, collection, question, need)?, key, collation.as_ref(), cx)
}
