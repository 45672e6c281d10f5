//! The drivers' BSON corpus, read from the folder of their specification tests that `BINDERY_SPECS` names.

use std::path::PathBuf;

use serde_json::Value;

/// The files of the corpus with their names; none where there is no such folder.
pub(crate) fn files() -> Vec<(String, Value)> {
    let Some(specs) = std::env::var_os("BINDERY_SPECS") else {
        eprintln!("BINDERY_SPECS is not set: the BSON corpus was not read");
        return Vec::new();
    };
    let folder = PathBuf::from(specs).join("bson-corpus");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"))
    {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        files.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), json));
    }
    assert!(!files.is_empty(), "no files in {}", folder.display());
    files
}

/// The cases of one list of a file.
pub(crate) fn cases<'a>(file: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    file[list].as_array().into_iter().flatten()
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
}
