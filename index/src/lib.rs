//! Pages, copy-on-write trees, the record store, ordered keys and key generation.
//!
//! This crate knows bytes, keys and documents' paths, and nothing of queries. Everything it stores
//! lies in counted [pages](page): their bytes are what the statistics report, and a full walk
//! ([`validate`](page::TreeStats)) must find the same numbers.

pub mod key;
pub mod keygen;
pub mod page;
pub mod postings;
pub mod records;
pub mod tree;

pub use page::{PageId, PageKind, PageVisitor, RecordId, TreeStats, Untraced};
pub use postings::RecordSet;
pub use records::Records;
pub use tree::{Cursor, Tree, TreeOptions};
