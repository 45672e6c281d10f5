//! Which fields of logical documents are asked for: the others need not be made.

/// The top-level fields of a logical document that are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// All of them.
    All,
    /// These, in the document's order.
    Only(&'a [Box<str>]),
}

impl Wanted<'_> {
    /// Whether a field of this name is.
    pub(crate) fn has(self, name: &[u8]) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Only(names) => names.iter().any(|wanted| wanted.as_bytes() == name),
        }
    }
}
