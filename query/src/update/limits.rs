//! The limits of stored documents: size and nesting.

use bindery_document::validate::{self, MAX_DOCUMENT_BYTES, MAX_STORED_DEPTH};
use bindery_document::{Doc, Error, Result, code};

/// What MongoDB adds to the largest document for its own fields when it builds one (16 KiB).
const BUILDING_MARGIN_BYTES: usize = 16 * 1024;

/// MongoDB's code for an updated document that is larger than one may be, but could be built.
const UPDATED_TOO_LARGE: i32 = 17419;

/// Checks the size of a document that an update has made.
///
/// # Errors
/// 17419 over 16 MiB, [`code::BSON_OBJECT_TOO_LARGE`] over 16 MiB and 16 KiB.
pub fn check_updated_size(bytes: usize) -> Result<()> {
    if bytes > MAX_DOCUMENT_BYTES + BUILDING_MARGIN_BYTES {
        return Err(too_large(code::BSON_OBJECT_TOO_LARGE, bytes));
    }
    if bytes > MAX_DOCUMENT_BYTES {
        return Err(too_large(UPDATED_TOO_LARGE, bytes));
    }
    Ok(())
}

/// Checks the size of a document that is inserted.
///
/// # Errors
/// [`code::BSON_OBJECT_TOO_LARGE`] over 16 MiB.
pub fn check_inserted_size(bytes: usize) -> Result<()> {
    if bytes > MAX_DOCUMENT_BYTES {
        return Err(too_large(code::BSON_OBJECT_TOO_LARGE, bytes));
    }
    Ok(())
}

/// Checks the nesting of a document that is to be stored; walks it whole.
///
/// # Errors
/// [`code::OVERFLOW`] for more than 179 levels below the top.
pub fn check_depth(doc: Doc<'_>) -> Result<()> {
    if validate::depth(doc) > MAX_STORED_DEPTH {
        return Err(Error::new(
            code::OVERFLOW,
            format!("the document is nested deeper than {MAX_STORED_DEPTH} levels below its top"),
        ));
    }
    Ok(())
}

fn too_large(error_code: i32, bytes: usize) -> Error {
    Error::new(error_code, format!("a document of {bytes} bytes is larger than the {MAX_DOCUMENT_BYTES} allowed"))
}
