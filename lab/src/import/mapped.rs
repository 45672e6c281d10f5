//! A file as a slice of bytes, mapped rather than read.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// The bytes of a regular file, for as long as this lives.
#[derive(Debug)]
pub(super) struct MappedFile {
    /// `None` for an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

impl MappedFile {
    /// Maps `path` for reading. Fails where it cannot be opened or is not a regular file.
    pub(super) fn open(path: &Path) -> Result<MappedFile> {
        let unreadable = |error: std::io::Error| Error::file(path, format!("cannot be read: {error}"));
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(Error::file(path, "not a file"));
        }
        if metadata.len() == 0 {
            return Ok(MappedFile { map: None });
        }
        Ok(MappedFile { map: Some(map(&file).map_err(unreadable)?) })
    }

    /// The whole content.
    pub(super) fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

#[expect(unsafe_code, reason = "the operating system cannot promise that nobody else writes to a file")]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the mapping is private and read only, and every reader treats its bytes as untrusted:
    // it copies a document out before it relies on what it checked. Somebody who truncates the file
    // meanwhile makes the process stop with SIGBUS, as it would any program that maps its input; what
    // was read so far lies in memory of our own and is never written back.
    unsafe { memmap2::MmapOptions::new().map_copy_read_only(file) }
}
