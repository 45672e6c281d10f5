//! Filters: any document parses or is refused, and what parses gives the same answer however it is arranged.
//!
//! The canonical form answers as the order of writing does, `$nor` answers the opposite, and the document that
//! `explain` shows parses again.

use bindery_document::validate::validate;
use bindery_document::{Builder, Doc, DocBuf, Error, Value, code};
use bindery_query::filter::{Filter, ParseContext};

use crate::loose::Reader;

/// Operators whose answer is left to chance.
const RANDOM: [&[u8]; 2] = [b"$rand", b"$sampleRate"];

/// The input is a filter and documents to ask.
pub fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let query = reader.document();
    let documents = reader.documents(8);
    let context = ParseContext::new();
    let canonical = Filter::parse(query.doc(), &context);
    let in_order = Filter::parse_in_order(query.doc(), &context);
    let (canonical, in_order) = match (canonical, in_order) {
        (Ok(canonical), Ok(in_order)) => (canonical, in_order),
        (Err(a), Err(b)) => return assert_eq!(a.code, b.code),
        other => panic!("{:?} is refused in one order only: {other:?}", query.doc()),
    };
    let shown = canonical.to_document();
    // What is shown may be nested more deeply than what was read, and than any document may be.
    if let Err(invalid) = validate(shown.as_bytes()) {
        assert_eq!(Error::from(invalid).code, code::OVERFLOW, "what is shown is no document");
    }
    let is_random = RANDOM.iter().any(|name| input.windows(name.len()).any(|bytes| bytes == *name));
    let opposite = Filter::parse(nor(query.doc()).doc(), &context).ok();
    for document in &documents {
        let document = document.doc();
        let answer = canonical.matches(document);
        let (other, at) = (in_order.matches(document), canonical.matches_at(document));
        if is_random {
            continue;
        }
        // A failure may be met or not, as conditions are in another order.
        if let (Ok(answer), Ok(other)) = (&answer, &other) {
            assert_eq!(answer, other, "{:?} of {document:?}", query.doc());
        }
        match (&answer, &at) {
            (Ok(answer), Ok((matched, _))) => assert_eq!(answer, matched),
            (Err(a), Err(b)) => assert_eq!(a.code, b.code),
            _ => panic!("{answer:?} without position, {at:?} with"),
        }
        if let Some(opposite) = &opposite
            && let (Ok(answer), Ok(opposite)) = (&answer, opposite.matches(document))
        {
            assert_ne!(*answer, opposite, "$nor of {:?} for {document:?}", query.doc());
        }
    }
}

/// `{$nor: [query]}`.
fn nor(query: Doc<'_>) -> DocBuf {
    let mut out = Builder::new();
    let open = out.open_array("$nor");
    out.append_index(0, Value::Document(query));
    out.close(open);
    out.finish()
}
