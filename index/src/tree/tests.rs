//! The tree against a `BTreeMap`, and what single operations promise.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::leaf::Leaf;
use super::{Cursor, Node, OutOfOrder, Tree, TreeOptions};
use crate::page::{PageId, PageKind, PageVisitor, Untraced};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A seeded generator: the same operations on every run of a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Kinds of keys that a run of operations draws from.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Few bytes from a small alphabet: many shared prefixes, also the empty key.
    Dense,
    /// A long shared prefix, then a number.
    Numbered,
    /// Random bytes up to 24.
    Random,
    /// Some of several hundred bytes, a few larger than a page.
    Long,
}

fn key(random: &mut Random, keys: Keys) -> Vec<u8> {
    match keys {
        Keys::Dense => {
            let len = random.below(7);
            (0..len).map(|_| [0, 1, 0x7f, 0xff][random.below(4) as usize]).collect()
        }
        Keys::Numbered => {
            let group = random.below(5);
            let number = random.below(3000) as u32;
            [format!("sensor-{group:05}\0").as_bytes(), &number.to_be_bytes()].concat()
        }
        Keys::Random => {
            let len = random.below(25);
            (0..len).map(|_| random.next() as u8).collect()
        }
        Keys::Long => {
            let len = match random.below(40) {
                0 => 5000 + random.below(4000),
                1..4 => 1000 + random.below(400),
                4..20 => 100 + random.below(300),
                _ => random.below(20),
            };
            let fill = random.below(3) as u8;
            let mut key = vec![fill; len as usize];
            let tail = random.below(300) as u16;
            key.extend_from_slice(&tail.to_be_bytes());
            key
        }
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    let len = match random.below(100) {
        0 => 300 + random.below(3000),
        1..10 => random.below(12),
        10..30 => 4,
        _ => 0,
    };
    (0..len).map(|_| random.next() as u8).collect()
}

fn check_whole(tree: &Tree, model: &Model) {
    let stats = tree.validate().expect("the tree is sound");
    assert_eq!(stats, tree.stats());
    assert_eq!(tree.len(), model.len() as u64);
    let mut cursor = Cursor::new(tree);
    let mut last: Vec<u8> = Vec::new();
    for (key, value) in model {
        assert!(cursor.next(&mut Untraced));
        assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
        let unchanged = cursor.unchanged();
        assert_eq!(last[..unchanged], key[..unchanged]);
        last.clone_from(key);
    }
    assert!(!cursor.next(&mut Untraced) && !cursor.next(&mut Untraced));
    for (key, value) in model.iter().rev() {
        assert!(cursor.prev(&mut Untraced));
        assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
    }
    assert!(!cursor.prev(&mut Untraced) && !cursor.prev(&mut Untraced));
    let pages: Vec<_> = tree.leaf_pages().collect();
    assert_eq!(pages.len() as u64, stats.leaf_pages);
    assert_eq!(pages.iter().map(|p| u64::from(p.entries)).sum::<u64>(), stats.entries);
    assert_eq!(pages.iter().map(|p| u64::from(p.bytes)).sum::<u64>(), stats.leaf_bytes);
}

fn bound<'a>(random: &mut Random, key: &'a [u8]) -> Bound<&'a [u8]> {
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(key),
        _ => Bound::Excluded(key),
    }
}

#[test]
fn distinct_keys_go_in_at_once_and_others_not_at_all() {
    let mut random = Random(11);
    let (mut tree, mut model) = (Tree::default(), Model::new());
    let mut doubts = 0;
    for id in 0..20_000_u32 {
        // Every other key is taken from then on; ids rise, as those of records do.
        let key = format!("{:x}/", random.below(10_000));
        let entry = [key.as_bytes(), &id.to_be_bytes()].concat();
        let taken = model.range(key.clone().into_bytes()..).next().is_some_and(|(e, _)| e.starts_with(key.as_bytes()));
        let added = tree.insert_if_distinct(&entry, key.len(), b"", &mut Untraced);
        assert!(!(taken && added), "{key} is taken");
        assert_eq!(tree.contains(&entry, &mut Untraced), added);
        doubts += u32::from(!taken && !added);
        if !taken {
            tree.insert(&entry, b"", &mut Untraced);
            model.insert(entry, Vec::new());
        }
    }
    check_whole(&tree, &model);
    assert!(doubts < 200, "{doubts} of {} were doubtful", model.len());
}

/// Every question about one key, answered by both.
fn check_key(tree: &Tree, model: &Model, cursor: &mut Cursor, random: &mut Random, probe: &[u8], other: &[u8]) {
    let none = &mut Untraced;
    assert_eq!(tree.get(probe, none), model.get(probe).map(|v| &v[..]));
    assert_eq!(tree.contains(probe, none), model.contains_key(probe));
    let rank = model.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(probe))).count() as u64;
    assert_eq!(tree.rank(probe, none), rank);

    let from = model.range::<[u8], _>((Bound::Included(probe), Bound::Unbounded)).next();
    let mut found = Vec::new();
    let first = tree.first_from(probe, &mut found, none);
    assert_eq!(first, from.map(|(_, v)| &v[..]));
    assert_eq!(found, from.map_or(&[][..], |(k, _)| k));
    assert!(from.is_none() || !tree.is_above_all(probe));

    let (low, high) = (bound(random, probe), bound(random, other));
    let ordered = probe < other || (probe == other && high != Bound::Excluded(other) && low != Bound::Excluded(probe));
    let unbounded = low == Bound::Unbounded || high == Bound::Unbounded;
    let expected = match ordered || unbounded {
        true => model.range::<[u8], _>((low, high)).count() as u64,
        false => 0,
    };
    assert_eq!(tree.count_range(low, high, none), expected, "{low:?} {high:?}");

    *cursor = Cursor::new(tree);
    let steps = random.below(60) as usize;
    let same = |cursor: &Cursor, at: Option<(&Vec<u8>, &Vec<u8>)>| {
        let expected = at.map(|(k, v)| (&k[..], &v[..]));
        let got = cursor.is_on_entry().then(|| (cursor.key(), cursor.value()));
        assert_eq!(got, expected);
    };
    let start = match random.below(5) {
        0 => {
            cursor.seek(probe, none);
            rank
        }
        1 => {
            cursor.seek_above(probe, none);
            rank + u64::from(model.contains_key(probe))
        }
        2 => {
            cursor.seek_rank(rank, none);
            rank
        }
        3 => {
            cursor.seek_at_most(probe, none);
            (rank + u64::from(model.contains_key(probe))).wrapping_sub(1)
        }
        _ => {
            cursor.seek_below(probe, none);
            rank.wrapping_sub(1)
        }
    };
    let entries: Vec<_> = model.iter().collect();
    let nth = |at: i64| usize::try_from(at).ok().and_then(|at| entries.get(at).copied());
    let mut at = start as i64;
    same(cursor, nth(at));
    for _ in 0..steps {
        if random.below(2) == 0 {
            cursor.next(none);
            at = (at + 1).min(model.len() as i64);
        } else {
            cursor.prev(none);
            at = (at - 1).max(-1);
        }
        same(cursor, nth(at));
    }
    // On from there, as a scan that skips does: within the leaf, or to another.
    for _ in 0..3 {
        let skip = random.below(80) as i64;
        let target = match nth(at.max(0) + skip) {
            Some((key, _)) => [key, &[0][..random.below(2) as usize]].concat(),
            None => other.to_vec(),
        };
        let rank = entries.partition_point(|(key, _)| **key < target) as i64;
        at = match random.below(2) {
            0 => {
                cursor.seek(&target, none);
                rank
            }
            _ => {
                cursor.seek_below(&target, none);
                rank - 1
            }
        };
        same(cursor, nth(at));
    }
}

fn run(seed: u64, keys: Keys, page_bytes: u32, operations: usize) {
    let mut random = Random(seed);
    let mut tree = Tree::new(TreeOptions::with_page_bytes(page_bytes));
    let mut model = Model::new();
    let mut snapshots: Vec<(Tree, Cursor, Model)> = Vec::new();
    let mut cursor = Cursor::new(&tree);
    // Phases of growth and decline, so that pages split and merge.
    let mut removals = 2;
    for operation in 0..operations {
        if operation % 1500 == 0 {
            removals = [2, 8, 5][random.below(3) as usize];
        }
        let probe = key(&mut random, keys);
        if random.below(10) < removals {
            let target = match random.below(3) {
                0 => Some(probe),
                _ => model.range(probe..).next().map(|(k, _)| k.clone()),
            };
            if let Some(target) = target {
                let removed = tree.remove(&target, &mut Untraced);
                assert_eq!(removed, model.remove(&target).is_some());
            }
        } else {
            let value = value(&mut random);
            if random.below(4) == 0 {
                let added = tree.insert_if_absent(&probe, &value, &mut Untraced);
                assert_eq!(added, !model.contains_key(&probe));
                model.entry(probe).or_insert(value);
            } else {
                let added = tree.insert(&probe, &value, &mut Untraced);
                assert_eq!(added, model.insert(probe, value).is_none());
            }
        }
        assert_eq!(tree.len(), model.len() as u64);
        if operation % 10 == 0 {
            let (a, b) = (key(&mut random, keys), key(&mut random, keys));
            check_key(&tree, &model, &mut cursor, &mut random, &a, &b);
        }
        if operation % 50 == 0 {
            tree.validate().unwrap_or_else(|e| panic!("seed {seed}, operation {operation}: {e}"));
        }
        match random.below(400) {
            0 => {
                let mut cursor = Cursor::new(&tree);
                cursor.seek_rank(random.below(model.len() as u64 + 1), &mut Untraced);
                snapshots.push((tree.clone(), cursor, model.clone()));
            }
            1 if !snapshots.is_empty() => {
                let at = random.below(snapshots.len() as u64) as usize;
                let (snapshot, mut cursor, then) = snapshots.swap_remove(at);
                check_whole(&snapshot, &then);
                if cursor.is_on_entry() {
                    let rest = then.range(cursor.key().to_vec()..).skip(1);
                    for (key, value) in rest {
                        assert!(cursor.next(&mut Untraced));
                        assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
                    }
                }
            }
            2 if random.below(4) == 0 => {
                tree.compact(&mut Untraced);
                check_whole(&tree, &model);
            }
            3 if !snapshots.is_empty() => {
                // Going on from a snapshot leaves the newer tree as it is.
                let (snapshot, _, then) = snapshots.swap_remove(0);
                let newer = std::mem::replace(&mut tree, snapshot);
                let newer_model = std::mem::replace(&mut model, then);
                let cursor = Cursor::new(&newer);
                snapshots.push((newer, cursor, newer_model));
            }
            _ => {}
        }
    }
    check_whole(&tree, &model);
    for (snapshot, _, then) in &snapshots {
        check_whole(snapshot, then);
    }
    for key in model.keys() {
        assert!(tree.remove(key, &mut Untraced));
    }
    let stats = tree.validate().expect("the tree is sound");
    assert_eq!((stats.entries, stats.height, stats.leaf_pages, stats.inner_pages), (0, 1, 1, 0));
    assert_eq!(stats.bytes(), Tree::default().stats().bytes());
}

#[test]
fn agrees_with_a_map_on_dense_keys() {
    run(1, Keys::Dense, 4096, 10_000);
}

#[test]
fn agrees_with_a_map_on_numbered_keys() {
    run(2, Keys::Numbered, 4096, 20_000);
}

#[test]
fn agrees_with_a_map_on_random_keys() {
    run(3, Keys::Random, 4096, 20_000);
    run(4, Keys::Random, 16 << 10, 10_000);
}

#[test]
fn agrees_with_a_map_on_long_keys() {
    run(5, Keys::Long, 4096, 10_000);
    run(6, Keys::Long, 128 << 10, 10_000);
}

fn numbered(n: u32) -> impl Iterator<Item = ([u8; 8], [u8; 0])> {
    (0..n).map(|i| ((u64::from(i) * 3).to_be_bytes(), []))
}

fn bytes_per_entry(tree: &Tree) -> f64 {
    tree.stats().bytes() as f64 / tree.len() as f64
}

#[test]
fn ascending_inserts_fill_pages_as_a_bulk_build_does() {
    let built = Tree::bulk_build(TreeOptions::default(), numbered(100_000)).expect("sorted");
    let mut grown = Tree::default();
    for (key, value) in numbered(100_000) {
        assert!(grown.insert(&key, &value, &mut Untraced));
    }
    built.validate().expect("the tree is sound");
    grown.validate().expect("the tree is sound");
    assert!(bytes_per_entry(&grown) < 1.03 * bytes_per_entry(&built));
    assert!(built.stats().fill() > 0.98, "{:?}", built.stats());
}

#[test]
fn each_of_many_ascending_sequences_fills_its_pages() {
    let mut tree = Tree::default();
    for minute in 0..3000u32 {
        for sensor in 0..50u32 {
            let key = [format!("sensor-{sensor}\0").as_bytes(), &minute.to_be_bytes()].concat();
            tree.insert(&key, &[], &mut Untraced);
        }
    }
    let grown = bytes_per_entry(&tree);
    tree.validate().expect("the tree is sound");
    tree.compact(&mut Untraced);
    tree.validate().expect("the tree is sound");
    assert!(grown < 1.35 * bytes_per_entry(&tree), "{grown} {}", bytes_per_entry(&tree));
}

#[test]
fn descending_inserts_leave_no_small_pages() {
    let mut tree = Tree::default();
    for i in (0..100_000u32).rev() {
        tree.insert(&i.to_be_bytes(), &[], &mut Untraced);
    }
    let grown = bytes_per_entry(&tree);
    tree.validate().expect("the tree is sound");
    tree.compact(&mut Untraced);
    assert!(grown < 1.35 * bytes_per_entry(&tree), "{grown} {}", bytes_per_entry(&tree));
}

#[test]
fn a_small_tree_takes_a_small_page() {
    let mut tree = Tree::default();
    for i in 0..10u8 {
        tree.insert(&[30, i, 4, 0, i * 8], &[], &mut Untraced);
    }
    assert!(tree.stats().bytes() < 256, "{:?}", tree.stats());
}

#[test]
fn unsorted_entries_are_refused_with_their_position() {
    let entries = [(b"a", []), (b"b", []), (b"b", [])] as [(&[u8; 1], [u8; 0]); 3];
    let refused = Tree::bulk_build(TreeOptions::default(), entries).expect_err("not ascending");
    assert_eq!(refused, OutOfOrder { position: 2 });
}

#[test]
fn keys_of_megabytes_stand_beside_short_ones() {
    let mut tree = Tree::default();
    let large = |i: u8| [vec![7; 3 << 20], vec![i]].concat();
    for i in 0..6u8 {
        assert!(tree.insert(&large(i), &[i], &mut Untraced));
        assert!(tree.insert(&[7, i], &[], &mut Untraced));
        assert!(tree.insert(&[6, i], &[], &mut Untraced));
    }
    tree.validate().expect("the tree is sound");
    assert_eq!(tree.get(&large(3), &mut Untraced), Some(&[3u8][..]));
    assert!(!tree.insert(&large(3), &[0; 300], &mut Untraced));
    assert_eq!(tree.get(&large(3), &mut Untraced), Some(&[0u8; 300][..]));
    assert_eq!(tree.len(), 18);
    tree.compact(&mut Untraced);
    tree.validate().expect("the tree is sound");
    for i in 0..6u8 {
        assert!(tree.remove(&large(i), &mut Untraced));
    }
    tree.validate().expect("the tree is sound");
    assert!(tree.stats().bytes() < 4096);
}

#[derive(Default)]
struct Counter {
    touched: Vec<(PageId, PageKind)>,
    dirtied: Vec<(PageId, PageKind)>,
}

impl PageVisitor for Counter {
    fn touch(&mut self, page: PageId, kind: PageKind, _bytes: u32) {
        self.touched.push((page, kind));
    }
    fn dirty(&mut self, page: PageId, kind: PageKind, _bytes: u32) {
        self.dirtied.push((page, kind));
    }
}

#[test]
fn a_lookup_touches_one_page_a_level_and_a_scan_each_page_once() {
    let tree = Tree::bulk_build(TreeOptions::with_page_bytes(4096), numbered(100_000)).expect("sorted");
    let stats = tree.stats();
    assert!(stats.height >= 3);
    let mut lookup = Counter::default();
    assert!(tree.contains(&300u64.to_be_bytes(), &mut lookup));
    assert_eq!(lookup.touched.len() as u32, stats.height);
    let mut count = Counter::default();
    let low = 300u64.to_be_bytes();
    assert_eq!(tree.count_range(Bound::Included(&low), Bound::Unbounded, &mut count), 99_900);
    assert_eq!(count.touched.len() as u32, stats.height);
    let mut scan = Counter::default();
    let mut cursor = Cursor::new(&tree);
    while cursor.next(&mut scan) {}
    assert_eq!(scan.touched.len() as u64, stats.pages());
    assert!(scan.dirtied.is_empty());
}

#[test]
fn a_write_beside_a_snapshot_dirties_one_page_a_level_and_keeps_ids() {
    let mut tree = Tree::bulk_build(TreeOptions::with_page_bytes(4096), numbered(100_000)).expect("sorted");
    let pages: Vec<PageId> = tree.leaf_pages().map(|page| page.id).collect();
    let snapshot = tree.clone();
    let mut write = Counter::default();
    assert!(tree.remove(&300u64.to_be_bytes(), &mut write));
    assert_eq!(write.dirtied.len() as u32, tree.stats().height);
    assert_eq!(write.dirtied, write.touched.iter().rev().copied().collect::<Vec<_>>());
    assert_eq!(pages, tree.leaf_pages().map(|page| page.id).collect::<Vec<_>>());
    assert_eq!(snapshot.len(), 100_000);
    assert!(snapshot.contains(&300u64.to_be_bytes(), &mut Untraced));
    assert!(!tree.contains(&300u64.to_be_bytes(), &mut Untraced));
}

#[test]
fn validate_reports_damaged_pages_without_panicking() {
    let mut tree = Tree::new(TreeOptions::with_page_bytes(4096));
    for i in 0..60u32 {
        let value = vec![1; (i % 3) as usize];
        tree.insert(format!("key {:05}", i * 7).as_bytes(), &value, &mut Untraced);
    }
    let Node::Leaf(page) = tree.root.clone() else {
        panic!("a small tree is one leaf");
    };
    let mut reported = 0;
    for at in 0..page.body.len() {
        for bit in 0..8 {
            let mut damaged = Leaf::clone(&page);
            damaged.body[at] ^= 1 << bit;
            tree.root = Node::Leaf(Arc::new(damaged));
            if let Err(corrupt) = tree.validate() {
                assert_eq!(corrupt.page, page.id);
                reported += 1;
            }
        }
    }
    // Flips in free bytes, values and some key bytes leave a sound page.
    assert!(reported > page.body.len());
    for cut in 0..page.body.len() {
        let mut damaged = Leaf::clone(&page);
        damaged.body = page.body[..cut].into();
        tree.root = Node::Leaf(Arc::new(damaged));
        assert!(tree.validate().is_err());
    }
}

#[test]
fn trees_and_cursors_go_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Tree>();
    check::<Cursor>();
}
