//! The store against a plain model, and its promises one by one.

use std::collections::BTreeMap;

use super::*;
use crate::page::PageKind;

/// A small generator (xorshift64*), so that a failure is repeated by its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn document(&mut self, len: usize) -> Vec<u8> {
        let seed = self.next();
        (0..len as u64).map(|at| (seed.wrapping_add(at * 31) >> 3) as u8).collect()
    }

    /// Mostly short, some near the limits of the page, few large.
    fn document_of_any_size(&mut self, page_bytes: usize) -> Vec<u8> {
        let len = match self.below(1000) {
            0..3 => 20_000 + self.below(80_001),
            3..10 => page_bytes as u64 / 4 - 2 + self.below(5),
            10..40 => self.below(page_bytes as u64),
            40..50 => self.below(2),
            50..200 => 100 + self.below(400),
            _ => 5 + self.below(100),
        };
        self.document(len as usize)
    }
}

type Model = BTreeMap<u64, Vec<u8>>;

#[track_caller]
fn assert_same(records: &Records, model: &Model) {
    records.validate().unwrap();
    assert_eq!(records.len(), model.len() as u64);
    assert_eq!(records.data_bytes(), model.values().map(|d| d.len() as u64).sum::<u64>());
    assert_eq!(records.first().map(|rid| rid.0), model.keys().next().copied());
    assert_eq!(records.last().map(|rid| rid.0), model.keys().last().copied());
    let mut cursor = records.cursor();
    for (rid, document) in model {
        assert_eq!(cursor.next(&mut Untraced), Some((RecordId(*rid), document.as_slice())));
    }
    assert_eq!(cursor.next(&mut Untraced), None);
    cursor.seek_to_start();
    let mut walked = model.iter();
    while let Some(run) = cursor.next_run(&mut Untraced) {
        for (rid, document) in run.take(7) {
            assert_eq!(Some((&rid.0, &document.to_vec())), walked.next());
        }
    }
    assert_eq!(walked.next(), None);
    for (rid, document) in model.iter().rev() {
        assert_eq!(cursor.prev(&mut Untraced), Some((RecordId(*rid), document.as_slice())));
    }
    assert_eq!(cursor.prev(&mut Untraced), None);
}

/// One random operation on both; returns what it did.
fn step(records: &mut Records, model: &mut Model, random: &mut Random, shrinking: bool) -> String {
    let page = records.page_bytes();
    let next = records.next_id().0;
    // An id in use, or one near it.
    let some_id = |random: &mut Random, model: &Model| {
        let at = random.below(model.len() as u64 + 1) as usize;
        let id = model.keys().nth(at).copied().unwrap_or(next);
        if random.below(8) == 0 { (id + random.below(5)).saturating_sub(2) } else { id }
    };
    let removes = if shrinking { 60 } else { 15 };
    let choice = random.below(100);
    if choice < removes {
        let rid = some_id(random, model);
        assert_eq!(records.remove(RecordId(rid), &mut Untraced), model.remove(&rid).is_some());
        return format!("remove {rid}");
    }
    match choice % 10 {
        0..3 => {
            let document = random.document_of_any_size(page);
            let rid = records.append(&document, &mut Untraced);
            assert_eq!(rid.0, next);
            let done = format!("append {} bytes", document.len());
            model.insert(rid.0, document);
            done
        }
        3..5 => {
            let rid = match random.below(20) {
                0 => next + random.below(200),
                1 if random.below(40) == 0 => next + random.below(1 << 33),
                2..6 => random.below(next + 3),
                _ => some_id(random, model) + random.below(3),
            };
            let document = random.document_of_any_size(page);
            let inserted = records.insert_at(RecordId(rid), &document, &mut Untraced);
            assert_eq!(inserted.is_ok(), !model.contains_key(&rid));
            let done = format!("insert {} bytes at {rid}", document.len());
            model.entry(rid).or_insert(document);
            done
        }
        5..7 => {
            let rid = some_id(random, model);
            let document = match model.get(&rid) {
                Some(old) if random.below(2) == 0 => random.document(old.len()),
                _ => random.document_of_any_size(page),
            };
            let updated = records.update(RecordId(rid), &document, &mut Untraced);
            assert_eq!(updated, model.contains_key(&rid));
            let done = format!("update {rid} to {} bytes", document.len());
            model.entry(rid).and_modify(|old| *old = document);
            done
        }
        _ => {
            let rid = some_id(random, model);
            let Some(old) = model.get_mut(&rid) else {
                return "nothing".to_owned();
            };
            let old_len = old.len();
            let new_len = match random.below(4) {
                0 => old_len.saturating_sub(random.below(60) as usize),
                _ => old_len + random.below(60) as usize,
            };
            old.resize(new_len, 0);
            let tail = random.next() as u8;
            let patched = old_len.min(new_len);
            old[patched..].fill(tail);
            let write = |document: &mut [u8]| {
                assert!(document[patched..].iter().all(|byte| *byte == 0));
                document[patched..].fill(tail);
            };
            assert!(records.update_with(RecordId(rid), new_len, write, &mut Untraced));
            format!("patch {rid} to {new_len} bytes")
        }
    }
}

/// Random operations against a model, with snapshots that must not change.
fn run_against_model(seed: u64, page_bytes: usize, operations: usize) {
    let mut random = Random(seed);
    let mut records = Records::with_page_bytes(page_bytes);
    let mut model = Model::new();
    let mut snapshots: Vec<(Records, Model)> = Vec::new();
    for nth in 0..operations {
        // Phases of growth and of decline.
        let shrinking = nth / 1500 % 3 == 2;
        let done = step(&mut records, &mut model, &mut random, shrinking);
        let context = || format!("seed {seed}, operation {nth}: {done}");
        if nth % 16 == 0 {
            records.validate().unwrap_or_else(|error| panic!("{}: {error}", context()));
        }
        let rid = random.below(records.next_id().0 + 1);
        let found = records.get(RecordId(rid), &mut Untraced);
        assert_eq!(found, model.get(&rid).map(Vec::as_slice), "{}", context());
        if nth % 100 == 0 {
            let rank = model.range(..rid).count() as u64;
            assert_eq!(records.rank(RecordId(rid), &mut Untraced), rank, "{}", context());
            let nth_id = model.range(rid..).next().map(|(id, _)| RecordId(*id));
            assert_eq!(records.nth(rank, &mut Untraced), nth_id, "{}", context());
            let mut cursor = records.cursor_at(RecordId(rid));
            let before = model.range(..rid).next_back().map(|(id, _)| RecordId(*id));
            assert_eq!(cursor.prev(&mut Untraced).map(|found| found.0), before, "{}", context());
            cursor.seek(RecordId(rid));
            assert_eq!(cursor.next(&mut Untraced).map(|found| found.0), nth_id, "{}", context());
        }
        if nth % 500 == 499 {
            if snapshots.len() == 4 {
                let (records, model) = snapshots.remove(random.below(4) as usize);
                assert_same(&records, &model);
            }
            snapshots.push((records.clone(), model.clone()));
        }
        if nth % 4000 == 3999 {
            records.compact();
            assert_same(&records, &model);
        }
    }
    assert_same(&records, &model);
    for (records, model) in &snapshots {
        assert_same(records, model);
    }
    for rid in model.keys() {
        assert!(records.remove(RecordId(*rid), &mut Untraced));
    }
    let stats = records.validate().unwrap();
    assert_eq!((stats.entries, stats.pages(), records.data_bytes()), (0, 1, 0));
    assert!(stats.bytes() < 64);
}

#[test]
fn agrees_with_a_model_on_small_pages() {
    run_against_model(0x5EED_0001, 4 << 10, 12_000);
}

#[test]
fn agrees_with_a_model_on_default_pages() {
    run_against_model(0x5EED_0002, DEFAULT_PAGE_BYTES, 12_000);
}

#[test]
fn agrees_with_a_model_on_the_largest_pages() {
    run_against_model(0x5EED_0003, 128 << 10, 10_000);
}

/// Many small documents, so that the tree has three levels, thinned out at random to nothing.
#[test]
fn thins_out_without_keeping_memory() {
    let mut random = Random(77);
    let mut records = Records::with_page_bytes(4 << 10);
    let mut ids: Vec<u64> = Vec::new();
    for _ in 0..60_000 {
        let document = random.document(40 + (random.0 % 50) as usize);
        ids.push(records.append(&document, &mut Untraced).0);
    }
    assert_eq!(records.stats().height, 3);
    for at in (1..ids.len()).rev() {
        ids.swap(at, random.below(at as u64 + 1) as usize);
    }
    while !ids.is_empty() {
        for rid in ids.split_off(ids.len() - ids.len().min(5000)) {
            assert!(records.remove(RecordId(rid), &mut Untraced));
        }
        let stats = records.validate().unwrap();
        assert!(
            stats.bytes() <= records.data_bytes() * 4 + 256,
            "{} bytes for {}: {stats:?}",
            stats.bytes(),
            records.data_bytes()
        );
    }
    assert!(records.stats().bytes() < 64);
    assert_eq!(records.next_id(), RecordId(60_001));
}

/// Four levels, so that a way leads from one inner page to the next over several above them.
#[test]
fn cursors_cross_inner_pages_of_all_levels() {
    let mut random = Random(11);
    let mut records = Records::with_page_bytes(4 << 10);
    let mut model = Model::new();
    for _ in 0..30_000 {
        let document = random.document(1000);
        model.insert(records.append(&document, &mut Untraced).0, document);
    }
    for _ in 0..3000 {
        let rid = random.below(30_000);
        assert_eq!(records.remove(RecordId(rid), &mut Untraced), model.remove(&rid).is_some());
    }
    assert_eq!(records.stats().height, 4);
    assert_same(&records, &model);
    let mut cursor = records.cursor_at_end();
    for _ in 0..500 {
        let rid = RecordId(random.below(30_010));
        let rank = records.rank(rid, &mut Untraced);
        assert_eq!(rank, model.len() as u64 - model.range(rid.0..).count() as u64);
        let (before, from) = (model.range(..rid.0).next_back(), model.range(rid.0..).next());
        let (before, from) = (before.map(|entry| *entry.0), from.map(|entry| *entry.0));
        assert_eq!(records.nth(rank, &mut Untraced).map(|rid| rid.0), from);
        cursor.seek(rid);
        if random.below(2) == 0 {
            assert_eq!(cursor.prev(&mut Untraced).map(|entry| entry.0.0), before);
            cursor.seek(rid);
        }
        assert_eq!(cursor.next(&mut Untraced).map(|entry| entry.0.0), from);
    }
    records.compact();
    assert_same(&records, &model);
}

#[test]
fn appended_documents_fill_their_pages() {
    let mut records = Records::new();
    for nth in 0..100_000_u64 {
        records.append(&[nth as u8; 80], &mut Untraced);
    }
    let stats = records.validate().unwrap();
    assert!(stats.fill() > 0.95, "{stats:?}");
    assert!(stats.bytes() < records.data_bytes() * 107 / 100, "{stats:?}");
    let mut compacted = records.clone();
    compacted.compact();
    let after = compacted.validate().unwrap();
    assert!(after.bytes() <= stats.bytes() && after.fill() > 0.99, "{after:?}");
}

#[test]
fn a_small_store_does_not_pay_for_a_page() {
    let mut records = Records::new();
    assert!(records.stats().bytes() < 64);
    records.append(&[1; 60], &mut Untraced);
    assert!(records.stats().bytes() <= 256);
    for _ in 0..9 {
        records.append(&[1; 60], &mut Untraced);
    }
    assert!(records.stats().bytes() <= 2048, "{:?}", records.stats());
}

#[test]
fn sparse_ids_do_not_pay_for_the_holes() {
    let mut records = Records::new();
    for nth in 0..10_000_u64 {
        records.insert_at(RecordId(nth * 1000), &[nth as u8; 80], &mut Untraced).unwrap();
    }
    let stats = records.validate().unwrap();
    assert!(stats.bytes() < records.data_bytes() * 115 / 100, "{stats:?}");
    let mut records = Records::new();
    for nth in 0..100_u64 {
        records.insert_at(RecordId(nth << 50), &[nth as u8; 80], &mut Untraced).unwrap();
    }
    assert_eq!(records.validate().unwrap().leaf_pages, 100);
}

#[test]
fn ids_may_come_in_descending_or_random_order() {
    let mut records = Records::with_page_bytes(4 << 10);
    for rid in (0..5000).rev() {
        records.insert_at(RecordId(rid), &rid.to_le_bytes(), &mut Untraced).unwrap();
    }
    let stats = records.validate().unwrap();
    assert!(stats.fill() > 0.8, "{stats:?}");
    let mut random = Random(5);
    let mut records = Records::with_page_bytes(4 << 10);
    while records.len() < 5000 {
        let rid = RecordId(random.below(10_000));
        let taken = records.contains(rid);
        let inserted = records.insert_at(rid, &rid.0.to_le_bytes(), &mut Untraced);
        assert_eq!(inserted, if taken { Err(InsertError::Occupied(rid)) } else { Ok(()) });
    }
    records.validate().unwrap();
}

#[test]
fn ids_out_of_range_are_refused() {
    let mut records = Records::new();
    let rid = RecordId(MAX_RECORD_ID.0 + 1);
    let refused = Err(InsertError::OutOfRange(rid));
    assert_eq!(records.insert_at(rid, b"12345", &mut Untraced), refused);
    records.insert_at(MAX_RECORD_ID, b"12345", &mut Untraced).unwrap();
    records.insert_at(RecordId(0), b"12345", &mut Untraced).unwrap();
    assert_eq!(records.validate().unwrap().leaf_pages, 2);
    assert_eq!(records.get(RecordId(u64::MAX), &mut Untraced), None);
    assert_eq!(records.get(RecordId(1), &mut Untraced), None);
}

#[test]
fn documents_of_16_mb_lie_in_one_piece() {
    let mut records = Records::new();
    let document = Random(3).document(16 << 20);
    let small = records.append(b"small", &mut Untraced);
    let large = records.append(&document, &mut Untraced);
    assert_eq!(records.get(large, &mut Untraced), Some(document.as_slice()));
    let stats = records.validate().unwrap();
    assert_eq!(stats.overflow_pages, (16 << 20) / DEFAULT_PAGE_BYTES as u64 + 1);
    assert!(stats.overflow_bytes >= 16 << 20);
    assert_ne!(records.page_of(small), records.page_of(large));
    assert!(records.update(large, b"now small", &mut Untraced));
    assert_eq!(records.page_of(small), records.page_of(large));
    assert_eq!(records.validate().unwrap().overflow_pages, 0);
}

/// Lists what is reported, in order.
#[derive(Default)]
struct Trace {
    touched: Vec<(PageKind, PageId)>,
    dirtied: Vec<(PageKind, PageId)>,
    bytes: u64,
}

impl PageVisitor for Trace {
    fn touch(&mut self, page: PageId, kind: PageKind, bytes: u32) {
        self.touched.push((kind, page));
        self.bytes += u64::from(bytes);
    }
    fn dirty(&mut self, page: PageId, kind: PageKind, _bytes: u32) {
        self.dirtied.push((kind, page));
    }
}

#[test]
fn accesses_are_reported_page_by_page() {
    let mut records = Records::with_page_bytes(4 << 10);
    for nth in 0..1000_u64 {
        records.append(&[nth as u8; 80], &mut Untraced);
    }
    let large = records.append(&[9; 5000], &mut Untraced);
    assert_eq!(records.stats().height, 2);
    let kinds = |pages: &[(PageKind, PageId)]| pages.iter().map(|page| page.0).collect::<Vec<_>>();

    let mut trace = Trace::default();
    records.get(RecordId(500), &mut trace).unwrap();
    assert_eq!(kinds(&trace.touched), [PageKind::Inner, PageKind::RecordLeaf]);
    assert_eq!(trace.touched[1].1, records.page_of(RecordId(500)).unwrap());

    let mut trace = Trace::default();
    records.get(large, &mut trace).unwrap();
    let down = [PageKind::Inner, PageKind::RecordLeaf, PageKind::Overflow];
    assert_eq!(kinds(&trace.touched), down);

    let mut trace = Trace::default();
    assert!(records.update(RecordId(500), &[1; 80], &mut trace));
    assert_eq!(kinds(&trace.dirtied), [PageKind::RecordLeaf]);

    let mut trace = Trace::default();
    records.append(&[1; 80], &mut trace);
    assert_eq!(kinds(&trace.dirtied), [PageKind::RecordLeaf, PageKind::Inner]);

    // A whole scan reads each page, and no bytes that the statistics do not count.
    let mut trace = Trace::default();
    let mut cursor = records.cursor();
    while cursor.next(&mut trace).is_some() {}
    let leaves = trace.touched.iter().filter(|page| page.0 == PageKind::RecordLeaf).count() as u64;
    let stats = records.stats();
    assert_eq!(leaves, stats.leaf_pages);
    assert_eq!(trace.bytes, stats.bytes());
}

#[test]
fn a_page_keeps_its_id_when_a_snapshot_makes_it_move() {
    let mut records = Records::new();
    let rid = records.append(&[1; 80], &mut Untraced);
    let snapshot = records.clone();
    assert!(records.update(rid, &[2; 80], &mut Untraced));
    assert_eq!(snapshot.get(rid, &mut Untraced), Some([1; 80].as_slice()));
    assert_eq!(records.get(rid, &mut Untraced), Some([2; 80].as_slice()));
    assert_eq!(snapshot.page_of(rid), records.page_of(rid));
}

/// Small stores of which most is removed before documents come and grow again: the slots of new documents grow
/// towards the room that removed ones have left.
#[test]
fn the_room_of_removed_documents_goes_to_the_directory_too() {
    for seed in 1..=400 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
        let mut records = Records::new();
        let mut model = Model::new();
        for _ in 0..20 + random.below(30) {
            let len = 5 + random.below(150) as usize;
            let document = random.document(len);
            model.insert(records.append(&document, &mut Untraced).0, document);
        }
        let removed: Vec<u64> = model.keys().copied().filter(|_| random.below(4) > 0).collect();
        for id in removed {
            assert!(records.remove(RecordId(id), &mut Untraced));
            model.remove(&id);
        }
        for _ in 0..30 {
            let len = 5 + random.below(60) as usize;
            let document = random.document(len);
            let some = model.keys().nth(random.below(model.len() as u64 + 1) as usize).copied();
            match some.filter(|_| random.below(2) == 0) {
                Some(id) => {
                    assert!(records.update(RecordId(id), &document, &mut Untraced));
                    model.insert(id, document);
                }
                None => {
                    model.insert(records.append(&document, &mut Untraced).0, document);
                }
            }
            assert_same(&records, &model);
        }
    }
}

/// Documents that grow a little at a time, as open buckets do, side by side.
#[test]
fn growing_documents_stay_in_good_order() {
    let mut records = Records::new();
    let ids: Vec<RecordId> = (0..300).map(|_| records.append(&[0; 100], &mut Untraced)).collect();
    for round in 1..=60_usize {
        for rid in &ids {
            let len = 100 + round * 60;
            let write = |document: &mut [u8]| document[len - 60..].fill(round as u8);
            assert!(records.update_with(*rid, len, write, &mut Untraced));
        }
    }
    let stats = records.validate().unwrap();
    assert!(stats.fill() > 0.6, "{stats:?}");
    for rid in &ids {
        let document = records.get(*rid, &mut Untraced).unwrap();
        assert!((1..=60).all(|round| document[100 + round * 60 - 1] == round as u8));
    }
}

#[test]
fn a_store_can_be_read_beside_its_writer() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Records>();
    shared::<Cursor>();
}
