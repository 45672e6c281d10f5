//! Files as people have them: good ones, and broken in every way that a reader meets.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use bson::{DateTime, rawdoc};

use super::*;
use crate::error::Place;

/// A file that goes when the test does.
struct Scratch(PathBuf);

impl Scratch {
    fn new(extension: &str, content: &[u8]) -> Scratch {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bindery-import-{}-{n}.{extension}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("the temporary folder can be written");
        Scratch(path)
    }

    fn read(&self) -> Result<Vec<bson::RawDocumentBuf>> {
        let format = Format::of(&self.0).expect("a known extension");
        let mut bytes = 0;
        let documents = read_files(
            &[(self.0.clone(), format)],
            |document, out| {
                out.push(document);
                Ok(())
            },
            |n| bytes += n,
        )?;
        let size = std::fs::metadata(&self.0).expect("still there").len();
        assert_eq!(bytes, size, "progress adds up to the file's size");
        Ok(documents.iter().map(|d| d.to_owned()).collect())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(extension: &str, content: impl AsRef<[u8]>) -> Result<Vec<bson::RawDocumentBuf>> {
    Scratch::new(extension, content.as_ref()).read()
}

fn assert_breaks(extension: &str, content: impl AsRef<[u8]>, at: Place, part: &str) {
    match read(extension, content) {
        Err(Error::File { place, message, .. }) => {
            assert!(message.contains(part), "{message}");
            assert_eq!(place, at, "{message}");
        }
        other => panic!("expected an error about {part:?}, got {other:?}"),
    }
}

#[test]
fn csv_has_types_and_leaves_missing_values_out() {
    let documents = read("csv", "id,at,t,ok,name\n1,2020-01-01 00:00:00,2.5,true,\"a, b\"\n2,,NA,false,\n");
    let at = DateTime::from_millis(1_577_836_800_000);
    assert_eq!(
        documents.expect("reads"),
        [rawdoc! { "id": 1, "at": at, "t": 2.5, "ok": true, "name": "a, b" }, rawdoc! { "id": 2, "ok": false },]
    );
}

#[test]
fn csv_with_row_names_semicolons_and_a_mark() {
    let documents = read("csv", "\u{feff}\"x\";\"y\"\r\n\"1\";7;8\r\n\"2\";9;10\r\n").expect("reads");
    assert_eq!(documents, [rawdoc! { "row": 1, "x": 7, "y": 8 }, rawdoc! { "row": 2, "x": 9, "y": 10 }]);
}

#[test]
fn broken_csv_names_the_line() {
    assert_breaks("csv", "a,b\n1,2\n3\n", Place::Line(3), "1 values, but 2 columns");
    assert_breaks("csv", "a,b\n1,2,3,4\n", Place::Line(2), "4 values");
    assert_breaks("csv", "a,a\n1,2\n", Place::Line(1), "two columns are named `a`");
    assert_breaks("csv", "a,\n1,2\n", Place::Line(1), "no name");
    assert_breaks("csv", "a,b\n", Place::File, "no lines");
    assert_breaks("csv", "a,b\n1,\"2\n3,4\n", Place::Line(2), "not closed");
    assert_breaks("csv", b"a,b\n1,2\n1,\xff\n", Place::Line(3), "`b` is not UTF-8");
}

#[test]
fn json_in_lines_in_a_row_and_as_an_array() {
    let expected = [rawdoc! { "a": 1 }, rawdoc! { "a": { "b": [1_i64, 2.5] } }];
    let second = r#"{"a": {"b": [{"$numberLong": "1"}, 2.5]}}"#;
    for text in [
        format!("{{\"a\": 1}}\n\n{second}\n"),
        format!("{{\n  \"a\": 1\n}} {second}"),
        format!("\u{feff}[{{\"a\": 1}},\n {second} ]\n"),
    ] {
        assert_eq!(read("json", &text).expect(&text), expected);
    }
    assert!(matches!(read("json", "[]"), Err(Error::File { message, .. }) if message.contains("no documents")));
}

#[test]
fn broken_json_names_the_line() {
    assert_breaks("ndjson", "{\"a\": 1}\n{\"a\": }\n", Place::Line(2), "column 7");
    assert_breaks("ndjson", "{\"a\": 1}\n{\"a\": 1", Place::Line(2), "ends within a document");
    assert_breaks("ndjson", "{\"a\": 1}\n[1]\n", Place::Line(2), "not an array");
    assert_breaks("ndjson", "{\"a\": 1}\n\n7\n", Place::Line(3), "not a number");
    assert_breaks("json", "[{\"a\": 1}\n{\"a\": 2}]", Place::Line(2), "comma");
    assert_breaks("json", "[{\"a\": 1},\n", Place::Line(2), "document was expected");
    assert_breaks("json", "[{\"a\": 1}\n", Place::Line(2), "ends within the array");
    assert_breaks("json", "[{\"a\": 1}] x", Place::Line(1), "follows");
    assert_breaks("json", b"{\"a\": \"\xff\"}", Place::Line(1), "unicode");
}

#[test]
fn a_dump_is_documents_in_a_row() {
    let documents = [rawdoc! { "a": 1 }, rawdoc! { "b": { "c": ["x"] } }];
    let bytes: Vec<u8> = documents.iter().flat_map(|d| d.as_bytes().to_vec()).collect();
    assert_eq!(read("bson", &bytes).expect("reads"), documents);
}

#[test]
fn a_broken_dump_names_the_offset() {
    let good = rawdoc! { "a": 1, "s": "text" };
    let good = good.as_bytes();
    let size = good.len() as u64;
    let with = |tail: &[u8]| [good, tail].concat();
    assert_breaks("bson", with(&[1, 0]), Place::Offset(size), "within a document's length");
    assert_breaks("bson", with(&[4, 0, 0, 0, 0]), Place::Offset(size), "no document's length");
    assert_breaks("bson", with(&[0xff; 8]), Place::Offset(size), "no document's length");
    assert_breaks("bson", with(&[0xff, 0xff, 0xff, 0, 0]), Place::Offset(size), "the file ends 5 bytes");
    assert_breaks("bson", with(&[8, 0, 0, 0, 0x7a, 0, 0, 0]), Place::Offset(size), "not valid BSON");
}

#[test]
fn every_cut_and_flip_of_a_dump_is_an_error_or_documents() {
    let document = rawdoc! { "a": 1, "s": "text", "d": { "x": [1.5, true, null] }, "t": DateTime::from_millis(5) };
    let good = document.as_bytes().to_vec();
    for cut in 1..good.len() {
        assert!(read("bson", &good[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..good.len() {
        for bit in [0x01, 0x80] {
            let mut bytes = good.clone();
            bytes[at] ^= bit;
            let _ = read("bson", &bytes);
        }
    }
}

#[test]
fn what_is_no_data_file_is_refused_at_once() {
    assert_breaks("csv", "", Place::File, "empty");
    assert_breaks("json", " \n", Place::File, "empty");
    assert_breaks("bson", [0x1f, 0x8b, 8, 0], Place::File, "gzip");
    assert_breaks("bson", 0x8199_e26d_u32.to_le_bytes(), Place::File, "archive");
    let missing = std::env::temp_dir().join("bindery-no-such-file.csv");
    assert!(matches!(super::read(&missing, Format::Json), Err(Error::File { place: Place::File, .. })));
    let folder = std::env::temp_dir();
    assert!(matches!(super::read(&folder, Format::Json), Err(Error::File { .. })));
}

#[test]
fn dropping_the_receiver_stops_the_reader() {
    let lines = "{\"a\": \"some text to make it longer\"}\n".repeat(400_000);
    let file = Scratch::new("ndjson", lines.as_bytes());
    let (size, chunks) = super::read(&file.0, Format::Json).expect("opens");
    assert_eq!(size, lines.len() as u64);
    let first = chunks.recv().expect("a chunk").expect("good");
    assert!(first.documents.bytes() >= CHUNK_BYTES && first.position < size);
}
