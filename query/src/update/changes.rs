//! Which paths an update changed, so that only the indexes that they can touch are maintained.

/// The operators of an update that changed something, as a set of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafSet {
    /// One bit each for the first 63, the last bit for all others together.
    bits: u64,
}

impl LeafSet {
    /// Adds an operator.
    pub(super) fn add(&mut self, number: usize) {
        self.bits |= 1 << number.min(63);
    }

    /// Whether an operator may be among them.
    pub(super) fn may_hold(self, number: usize) -> bool {
        self.bits & (1 << number.min(63)) != 0
    }

    /// Whether nothing was changed.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }
}

/// What an update changed in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Single paths; ask [`Update::touches`](super::Update::touches) about an index.
    Paths(LeafSet),
    /// Possibly everything: the document was replaced.
    Whole,
}

/// A path without its array positions, as index paths are to be compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldPath(Vec<Box<str>>);

impl FieldPath {
    /// From the names of a path; numbers may be array positions and do not count.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> FieldPath {
        FieldPath(names.filter(|name| !is_number(name)).map(Into::into).collect())
    }

    /// Whether a change here can change what an index on that path holds: one path begins with the other.
    pub(super) fn meets(&self, index_path: &str) -> bool {
        let index_path = index_path.strip_suffix(".$**").unwrap_or(index_path);
        if index_path == "$**" {
            return true;
        }
        let mut names = index_path.split('.').filter(|name| !is_number(name));
        self.0.iter().all(|mine| names.next().is_none_or(|theirs| **mine == *theirs))
    }
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet_when_one_begins_with_the_other() {
        let path = FieldPath::new("a.0.b".split('.'));
        for (index, expected) in
            [("a", true), ("a.b", true), ("a.b.c", true), ("a.0.b", true), ("a.c", false), ("ab", false), ("$**", true)]
        {
            assert_eq!(path.meets(index), expected, "{index}");
        }
        assert!(path.meets("a.b.$**"));
        assert!(!path.meets("x.$**"));
    }
}
