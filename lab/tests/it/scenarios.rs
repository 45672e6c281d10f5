//! The built-in scenarios, small: every schema answers as the naive one does, and the figures of
//! those written by hand are a real MongoDB's.

use bindery_lab::report::SchemaFigures;
use bindery_lab::scenario::attribute::Attribute;
use bindery_lab::scenario::bucket::Bucket;
use bindery_lab::scenario::subset::Subset;

use crate::transfer::transfers;

fn bytes_read(schema: &SchemaFigures, question: usize) -> f64 {
    schema.questions[question].pages.expect("the engine traces").bytes
}

#[test]
fn bucket_answers_agree_and_figures_transfer() {
    let comparison = transfers(&Bucket::generated(1, 20, 2_000).expect("good data"));
    let [naive, hour, day, native_hour, native_day] = comparison.schemas.as_slice() else { panic!("five schemas") };
    // An hour of one reading a minute.
    assert!((59.0..=60.0).contains(&naive.questions[0].rows), "{}", naive.questions[0].rows);
    assert_eq!(naive.questions[0].keys_examined, naive.questions[0].rows);
    assert!(hour.questions[0].documents_examined <= 2.0);
    assert_eq!((hour.loaded.documents, day.loaded.documents), (20 * 34, 20 * 2));
    assert!(day.loaded.index_bytes() < naive.loaded.index_bytes() / 10);
    // A day's summary reads what lies together.
    assert!(bytes_read(hour, 1) < bytes_read(naive, 1));
    // Native buckets are as many, and are pruned as well.
    assert_eq!((native_hour.loaded.documents, native_day.loaded.documents), (20 * 34, 20 * 2));
    assert!(native_hour.questions[0].documents_examined <= 2.0);
    assert!(bytes_read(native_hour, 0) < bytes_read(naive, 0));
}

#[test]
fn attribute_answers_agree_and_figures_transfer() {
    let comparison = transfers(&Attribute::generated(1, 3_000).expect("good data"));
    let [naive, sparse, by_hand, native] = comparison.schemas.as_slice() else { panic!("four schemas") };
    // Attributes beyond the limit have no index.
    assert_eq!(naive.questions[1].documents_examined, 3_000.0);
    assert_eq!((naive.loaded.indexes.len(), by_hand.loaded.indexes.len()), (64, 2));
    // Nulls take room in plain indexes, names and values in the array.
    assert!(sparse.loaded.index_bytes() < naive.loaded.index_bytes());
    assert!(by_hand.loaded.data_bytes > naive.loaded.data_bytes);
    // Plain indexes take an entry of every product.
    assert_eq!(naive.questions[4].index_entries_written, 64.0);
    // Whatever is asked for, the native layout has an index for it.
    assert!(native.questions.iter().all(|question| question.documents_examined < 1_000.0));
    assert!(naive.mix.as_ref().is_some_and(|mix| mix.pages > 20));
}

#[test]
fn subset_answers_agree_and_figures_transfer() {
    let comparison = transfers(&Subset::generated(1, 600).expect("good data"));
    let [naive, referenced, by_hand, native] = comparison.schemas.as_slice() else { panic!("four schemas") };
    assert_eq!(by_hand.questions[0].documents_examined, 1.0);
    assert!(referenced.questions[0].documents_examined > 2.0);
    // Only the ten newest lie with the parent.
    assert!(bytes_read(by_hand, 0) < bytes_read(naive, 0));
    assert_eq!(native.questions[0].documents_examined, 1.0);
    assert!(bytes_read(native, 0) < bytes_read(naive, 0));
}
