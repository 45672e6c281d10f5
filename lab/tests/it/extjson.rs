//! Extended JSON against the drivers' BSON corpus: canonical text to bytes and back, malformed text refused.
//!
//! Runs where `BINDERY_SPECS` names the folder of the drivers' specification tests.

use bindery_lab::extjson::{parse_document, write_document};
use bson::RawDocumentBuf;
use serde_json::Value;

use crate::specs::{cases, files, unhex};

/// Text that is compared without regard to spaces and escapes.
fn same_json(a: &str, b: &str) -> bool {
    matches!((serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}

#[test]
fn canonical_text_and_bytes_are_one() {
    let mut faults = Vec::new();
    for (name, file) in files() {
        for case in cases(&file, "valid") {
            let (Some(hex), Some(text)) = (case["canonical_bson"].as_str(), case["canonical_extjson"].as_str()) else {
                continue;
            };
            let document = RawDocumentBuf::from_bytes(unhex(hex)).expect("a document");
            let written = write_document(&document).unwrap_or_else(|e| e.to_string());
            if !same_json(&written, text) {
                faults.push(format!("{name}: {}: {written} instead of {text}", case["description"]));
            }
            let is_lossy = case["lossy"].as_bool() == Some(true);
            match parse_document(text) {
                Ok(parsed) if parsed.as_bytes() == document.as_bytes() || is_lossy => {}
                parsed => faults.push(format!("{name}: {}: {text} gives {parsed:?}", case["description"])),
            }
            let relaxed = case["relaxed_extjson"].as_str().map(|text| (text, parse_document(text)));
            if let Some((text, Err(error))) = relaxed {
                faults.push(format!("{name}: {}: {text}: {error}", case["description"]));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn malformed_text_is_refused() {
    let mut faults = Vec::new();
    for (name, file) in files() {
        for case in cases(&file, "parseErrors") {
            let Some(text) = case["string"].as_str() else { continue };
            // Of decimals the text stands alone.
            let decimal = file["bson_type"].as_str() == Some("0x13") && !text.trim_start().starts_with('{');
            let text = if decimal { format!("{{\"d\": {{\"$numberDecimal\": \"{text}\"}}}}") } else { text.to_owned() };
            if let Ok(parsed) = parse_document(&text) {
                faults.push(format!("{name}: {}: {text} gives {parsed:?}", case["description"]));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
