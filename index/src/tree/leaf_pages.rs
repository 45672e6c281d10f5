//! The list of leaf pages, for teaching tools.

use super::inner::{Children, Inner};
use super::leaf::Leaf;
use super::{Node, Tree};
use crate::page::PageId;

/// A leaf page as a teaching tool shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafPage {
    /// The page's id.
    pub id: PageId,
    /// Entries in the page.
    pub entries: u32,
    /// Runs of prefix-compressed entries; each starts with a key stored whole.
    pub runs: u32,
    /// The bytes that all keys of the page share and that are stored once.
    pub common_prefix: Vec<u8>,
    /// Bytes that hold something, header included.
    pub used_bytes: u32,
    /// Bytes the page occupies.
    pub bytes: u32,
}

/// Iterates over a tree's leaf pages in key order.
struct LeafPages<'a> {
    path: Vec<(&'a Inner, usize)>,
    next: Option<&'a Leaf>,
}

impl Tree {
    /// The leaf pages in key order.
    pub fn leaf_pages(&self) -> impl Iterator<Item = LeafPage> + '_ {
        let mut pages = LeafPages { path: Vec::new(), next: None };
        match &self.root {
            Node::Leaf(leaf) => pages.next = Some(leaf),
            Node::Inner(inner) => pages.descend(inner),
        }
        pages.map(|leaf| LeafPage {
            id: leaf.id,
            entries: leaf.entries,
            runs: leaf.runs,
            common_prefix: leaf.prefix().to_vec(),
            used_bytes: leaf.in_use() as u32,
            bytes: leaf.allocated() as u32,
        })
    }
}

impl<'a> LeafPages<'a> {
    /// Goes down to the first leaf below a page.
    fn descend(&mut self, mut inner: &'a Inner) {
        loop {
            self.path.push((inner, 1));
            match &inner.children {
                Children::Leaves(list) => {
                    self.next = list.first().map(|page| &**page);
                    return;
                }
                Children::Inners(list) => match list.first() {
                    Some(child) => inner = child,
                    None => return,
                },
            }
        }
    }
}

impl<'a> Iterator for LeafPages<'a> {
    type Item = &'a Leaf;

    fn next(&mut self) -> Option<&'a Leaf> {
        let leaf = self.next.take()?;
        while let Some((inner, child)) = self.path.pop() {
            if child == inner.len() {
                continue;
            }
            self.path.push((inner, child + 1));
            match &inner.children {
                Children::Leaves(list) => self.next = Some(&list[child]),
                Children::Inners(list) => self.descend(&list[child]),
            }
            break;
        }
        Some(leaf)
    }
}
