//! Many documents in one piece of memory, one after the other as in a dump.
//!
//! A scenario's data set is read several times (once for each schema) and never changed, so it is held
//! without an allocation for each document. Every document in it was validated on its way in.

use bson::RawDocument;

/// An append-only sequence of BSON documents.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Documents {
    /// No documents.
    pub fn new() -> Documents {
        Documents::default()
    }

    /// Appends a copy of `document`.
    pub fn push(&mut self, document: &RawDocument) {
        self.bytes.extend_from_slice(document.as_bytes());
        self.ends.push(self.bytes.len());
    }

    /// Appends all of `others`.
    pub fn extend(&mut self, others: &Documents) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&others.bytes);
        self.ends.extend(others.ends.iter().map(|end| base + end));
    }

    /// How many documents.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all documents.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The document at `index`, in order of appending.
    pub fn get(&self, index: usize) -> Option<&RawDocument> {
        let end = *self.ends.get(index)?;
        let start = match index {
            0 => 0,
            _ => self.ends[index - 1],
        };
        RawDocument::from_bytes(&self.bytes[start..end]).ok()
    }

    /// All documents in order of appending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &RawDocument> + '_ {
        (0..self.len()).map(|index| self.get(index).expect("every end was written with its document"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    #[test]
    fn keeps_documents_apart() {
        let mut documents = Documents::new();
        documents.push(&rawdoc! { "a": 1 });
        let mut more = Documents::new();
        more.push(&rawdoc! {});
        more.push(&rawdoc! { "b": "two" });
        documents.extend(&more);
        let all: Vec<_> = documents.iter().map(|d| d.to_owned()).collect();
        assert_eq!(all, [rawdoc! { "a": 1 }, rawdoc! {}, rawdoc! { "b": "two" }]);
        assert_eq!(documents.bytes(), all.iter().map(|d| d.as_bytes().len() as u64).sum::<u64>());
        assert!(documents.get(3).is_none());
    }
}
