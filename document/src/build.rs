//! Building documents byte by byte.

use std::fmt;

use crate::{Doc, Element, Kind, Value, validate};

/// A document that owns its bytes; always well-formed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DocBuf {
    bytes: Vec<u8>,
}

impl DocBuf {
    /// The empty document.
    pub fn new() -> DocBuf {
        DocBuf { bytes: vec![5, 0, 0, 0, 0] }
    }

    /// Takes bytes from outside.
    ///
    /// # Errors
    /// What [`validate`](crate::validate::validate) says of them.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<DocBuf, validate::Invalid> {
        validate::validate(&bytes)?;
        Ok(DocBuf { bytes })
    }

    /// Takes bytes that were validated before; nothing is checked here.
    pub fn from_stored(bytes: Vec<u8>) -> DocBuf {
        DocBuf { bytes }
    }

    /// Takes a document of the `bson` crate.
    ///
    /// # Errors
    /// When it does not fit BSON (a zero byte in a key).
    pub fn from_bson(doc: &bson::Document) -> Result<DocBuf, bson::error::Error> {
        Ok(DocBuf { bytes: doc.to_vec()? })
    }

    /// The view.
    #[inline]
    pub fn doc(&self) -> Doc<'_> {
        Doc::from_stored(&self.bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives the bytes away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Default for DocBuf {
    fn default() -> DocBuf {
        DocBuf::new()
    }
}

impl fmt::Debug for DocBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.doc(), f)
    }
}

impl From<Doc<'_>> for DocBuf {
    fn from(doc: Doc<'_>) -> DocBuf {
        DocBuf { bytes: doc.as_bytes().to_vec() }
    }
}

/// Where an embedded document was opened; given back to [`Builder::close`].
#[derive(Debug)]
#[must_use = "an opened document must be closed"]
pub struct Open {
    start: usize,
}

/// Appends elements to a growing buffer; embedded documents are written in place, without copies.
///
/// ```
/// use bindery_document::{Builder, Value};
/// let mut builder = Builder::new();
/// builder.append("a", Value::Int32(1));
/// let open = builder.open_document("b");
/// builder.append("c", Value::Null);
/// builder.close(open);
/// assert_eq!(builder.finish().as_bytes().len(), 23);
/// ```
#[derive(Debug)]
pub struct Builder {
    bytes: Vec<u8>,
}

impl Builder {
    /// A builder of an empty document.
    pub fn new() -> Builder {
        Builder::with_buffer(Vec::new())
    }

    /// A builder that uses the buffer's memory; its content is dropped.
    pub fn with_buffer(mut bytes: Vec<u8>) -> Builder {
        bytes.clear();
        bytes.extend_from_slice(&[0; 4]);
        Builder { bytes }
    }

    /// The number of bytes written so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == 4
    }

    /// Appends an element.
    pub fn append<'a>(&mut self, key: impl AsRef<[u8]>, value: impl Into<Value<'a>>) {
        let value = value.into();
        self.start_element(value.kind(), key.as_ref());
        value.write_to(&mut self.bytes);
    }

    /// Appends an element as it is.
    pub fn append_element(&mut self, element: Element<'_>) {
        self.append_bytes(element.key, element.kind, element.bytes);
    }

    /// Appends a value's bytes under a key.
    pub fn append_bytes(&mut self, key: &[u8], kind: Kind, bytes: &[u8]) {
        self.start_element(kind, key);
        self.bytes.extend_from_slice(bytes);
    }

    /// Opens an embedded document; what is appended until [`Builder::close`] goes into it.
    pub fn open_document(&mut self, key: impl AsRef<[u8]>) -> Open {
        self.open(Kind::Document, key.as_ref())
    }

    /// Opens an array; the caller writes its keys ([`Builder::append_index`] helps).
    pub fn open_array(&mut self, key: impl AsRef<[u8]>) -> Open {
        self.open(Kind::Array, key.as_ref())
    }

    /// Appends an array element under its decimal index.
    pub fn append_index<'a>(&mut self, index: usize, value: impl Into<Value<'a>>) {
        let mut digits = [0; 20];
        self.append(index_key(index, &mut digits), value);
    }

    /// Opens an embedded document or array of the kind given.
    pub fn open_kind(&mut self, kind: Kind, key: impl AsRef<[u8]>) -> Open {
        debug_assert!(matches!(kind, Kind::Document | Kind::Array));
        self.open(kind, key.as_ref())
    }

    /// Appends elements as they lie in another document, such as [`Elements::run_since`] gives them.
    ///
    /// [`Elements::run_since`]: crate::Elements::run_since
    #[inline]
    pub fn append_run(&mut self, elements: &[u8]) {
        self.bytes.extend_from_slice(elements);
    }

    /// Takes back everything appended since the builder had this [length](Builder::len); a document
    /// opened since then must not be closed any more.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len.max(4));
    }

    /// The bytes written since the builder had this [length](Builder::len).
    pub fn written_since(&self, len: usize) -> &[u8] {
        self.bytes.get(len..).unwrap_or_default()
    }

    /// Closes the innermost open document.
    pub fn close(&mut self, open: Open) {
        self.bytes.push(0);
        let length = (self.bytes.len() - open.start) as u32;
        self.bytes[open.start..open.start + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// The finished document.
    pub fn finish(mut self) -> DocBuf {
        self.close(Open { start: 0 });
        DocBuf { bytes: self.bytes }
    }

    fn open(&mut self, kind: Kind, key: &[u8]) -> Open {
        self.start_element(kind, key);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        Open { start }
    }

    fn start_element(&mut self, kind: Kind, key: &[u8]) {
        self.bytes.push(kind as u8);
        self.bytes.extend_from_slice(key);
        self.bytes.push(0);
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// The decimal digits of an array index, written into the caller's buffer.
pub fn index_key(mut index: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (index % 10) as u8;
        index /= 10;
        if index == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_documents_are_those_of_the_bson_crate() {
        let mut builder = Builder::new();
        builder.append("a", 1);
        let open = builder.open_document("b");
        let inner = builder.open_array("c");
        builder.append_index(0, "x");
        builder.append_index(1, Value::Null);
        builder.close(inner);
        builder.close(open);
        builder.append("d", true);
        let expected = bson::doc! {"a": 1, "b": {"c": ["x", null]}, "d": true};
        assert_eq!(builder.finish().as_bytes(), expected.to_vec().expect("bytes"));
    }

    #[test]
    fn index_keys_are_decimal() {
        assert_eq!(index_key(0, &mut [0; 20]), b"0");
        assert_eq!(index_key(1203, &mut [0; 20]), b"1203");
    }
}
