//! Many inputs in one file: thousands of small ones would burden the repository, and they compress well together.
//!
//! A file `inputs/<target>.gz` is gzip of, for each input, its length (4 bytes, little-endian) and its bytes;
//! the shortest input first, equal lengths in the order of their bytes, so that the same inputs give the same file.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// The file that holds a target's inputs.
pub fn file_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs").join(format!("{target}.gz"))
}

/// Reads a file of inputs.
///
/// # Errors
/// What reading says; [`io::ErrorKind::UnexpectedEof`] for a file that was cut.
pub fn read(file: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut bytes = Vec::new();
    GzDecoder::new(fs::File::open(file)?).read_to_end(&mut bytes)?;
    let mut rest = bytes.as_slice();
    let mut inputs = Vec::new();
    while !rest.is_empty() {
        let mut length = [0; 4];
        rest.read_exact(&mut length)?;
        let input = rest.split_off(..u32::from_le_bytes(length) as usize).ok_or(io::ErrorKind::UnexpectedEof)?;
        inputs.push(input.to_vec());
    }
    Ok(inputs)
}

/// Writes a file of inputs.
///
/// # Errors
/// What writing says.
pub fn write(file: &Path, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
    inputs.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    inputs.dedup();
    let mut out = GzEncoder::new(fs::File::create(file)?, Compression::best());
    for input in inputs {
        out.write_all(&(input.len() as u32).to_le_bytes())?;
        out.write_all(&input)?;
    }
    out.finish()?;
    Ok(())
}
