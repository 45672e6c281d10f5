//! BSON without lengths: a form in which any bytes are documents.
//!
//! A changed byte in real BSON nearly always breaks a length, and the input is refused before anything
//! interesting sees it. This form says the same with ends instead of lengths, and reads on whatever comes:
//!
//! | what | bytes |
//! |---|---|
//! | document | elements, then 00 or the end of the input |
//! | array | elements without names, then 00 or the end |
//! | element | BSON's type byte (others stand for one of the types), name up to 00, value |
//! | numbers, dates, ObjectIds, decimals | as in BSON; zeros where the input ends |
//! | boolean | one byte, its lowest bit counts |
//! | text | up to 00; 1B stands for a zero in the text; what is no UTF-8 becomes U+FFFD |
//! | binary | subtype, length (one byte), content |
//! | regular expression, `DBPointer`, code with scope | their parts in order |
//!
//! Names and text are there as they are, so that a dictionary of operators and a comparison seen by the
//! fuzzer both find their place. [`write_document`] is the way back, for first inputs made of real documents.

use bindery_document::validate::MAX_DEPTH;
use bindery_document::{Builder, Decimal, Doc, DocBuf, Kind, Text, Value};

/// What stands for a zero byte in text.
const ZERO: u8 = 0x1B;

/// Reads an input from front to back; at its end it gives zeros and empty documents.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of the whole input.
    pub fn new(input: &'a [u8]) -> Reader<'a> {
        Reader { rest: input }
    }

    /// Whether nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// One byte, for a target's own choices.
    pub fn byte(&mut self) -> u8 {
        let [byte] = self.bytes();
        byte
    }

    /// One document; valid, and nested no deeper than documents from outside may be.
    pub fn document(&mut self) -> DocBuf {
        let mut out = Builder::new();
        self.elements(&mut out, false, 0);
        out.finish()
    }

    /// Documents up to the end of the input, `most` at most.
    pub fn documents(&mut self, most: usize) -> Vec<DocBuf> {
        let mut documents = Vec::new();
        while !self.is_at_end() && documents.len() < most {
            documents.push(self.document());
        }
        documents
    }

    fn elements(&mut self, out: &mut Builder, is_array: bool, level: usize) {
        for index in 0_usize.. {
            let kind = match self.byte() {
                0 => return,
                byte => Kind::from_byte(byte).unwrap_or(Kind::ALL[byte as usize % Kind::ALL.len()]),
            };
            let name = if is_array { index.to_string() } else { self.text(false) };
            self.value(out, &name, kind, level);
        }
    }

    fn value(&mut self, out: &mut Builder, name: &str, kind: Kind, level: usize) {
        match kind {
            Kind::Double => out.append(name, f64::from_le_bytes(self.bytes())),
            Kind::String => out.append(name, Value::String(Text::from(&*self.text(true)))),
            Kind::JavaScript => out.append(name, Value::JavaScript(Text::from(&*self.text(true)))),
            Kind::Symbol => out.append(name, Value::Symbol(Text::from(&*self.text(true)))),
            Kind::Document | Kind::Array if level < MAX_DEPTH => {
                let open = out.open_kind(kind, name);
                self.elements(out, kind == Kind::Array, level + 1);
                out.close(open);
            }
            Kind::JavaScriptWithScope if level < MAX_DEPTH => {
                let code = self.text(true);
                let mut scope = Builder::new();
                self.elements(&mut scope, false, level + 1);
                let scope = scope.finish();
                out.append(name, Value::JavaScriptWithScope { code: Text::from(&*code), scope: scope.doc() });
            }
            Kind::Binary => {
                let (subtype, length) = (self.byte(), self.byte() as usize);
                let (bytes, rest) = self.rest.split_at(length.min(self.rest.len()));
                self.rest = rest;
                out.append(name, Value::Binary { subtype, bytes });
            }
            Kind::ObjectId => out.append(name, Value::ObjectId(self.bytes())),
            Kind::Boolean => out.append(name, self.byte() & 1 == 1),
            Kind::DateTime => out.append(name, Value::DateTime(i64::from_le_bytes(self.bytes()))),
            Kind::Regex => {
                let (pattern, options) = (self.text(false), self.text(false));
                out.append(name, Value::Regex { pattern: Text::from(&*pattern), options: Text::from(&*options) });
            }
            Kind::DbPointer => {
                let namespace = self.text(true);
                out.append(name, Value::DbPointer { namespace: Text::from(&*namespace), id: self.bytes() });
            }
            Kind::Int32 => out.append(name, i32::from_le_bytes(self.bytes())),
            Kind::Timestamp => out.append(name, Value::Timestamp(u64::from_le_bytes(self.bytes()))),
            Kind::Int64 => out.append(name, i64::from_le_bytes(self.bytes())),
            Kind::Decimal128 => out.append(name, Value::Decimal128(Decimal::from_bytes(self.bytes()))),
            Kind::Undefined => out.append(name, Value::Undefined),
            Kind::MaxKey => out.append(name, Value::MaxKey),
            Kind::MinKey => out.append(name, Value::MinKey),
            Kind::Null | Kind::Document | Kind::Array | Kind::JavaScriptWithScope => out.append(name, Value::Null),
        }
    }

    /// Text up to a zero; names and patterns cannot hold zeros themselves.
    fn text(&mut self, may_hold_zeros: bool) -> String {
        let end = self.rest.iter().position(|&b| b == 0).unwrap_or(self.rest.len());
        let text = String::from_utf8_lossy(&self.rest[..end]);
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        if may_hold_zeros { text.replace(ZERO as char, "\0") } else { text.into_owned() }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let (taken, rest) = self.rest.split_at(N.min(self.rest.len()));
        bytes[..taken.len()].copy_from_slice(taken);
        self.rest = rest;
        bytes
    }
}

/// Appends a document in this form. [`Reader::document`] gives it back, but for what the form cannot say: names of
/// array elements, binary of more than 255 bytes (cut) and the byte that stands for zeros.
pub fn write_document(doc: Doc<'_>, out: &mut Vec<u8>) {
    write_elements(doc, false, out);
}

fn write_elements(doc: Doc<'_>, is_array: bool, out: &mut Vec<u8>) {
    for element in doc {
        out.push(element.kind as u8);
        if !is_array {
            write_text(element.key, out);
        }
        match element.value() {
            Value::String(text) | Value::JavaScript(text) | Value::Symbol(text) => write_text(text.0, out),
            Value::Document(inner) => write_elements(inner, false, out),
            Value::Array(inner) => write_elements(inner, true, out),
            Value::Binary { subtype, bytes } => {
                let bytes = &bytes[..bytes.len().min(u8::MAX as usize)];
                out.extend([subtype, bytes.len() as u8]);
                out.extend(bytes);
            }
            Value::DbPointer { namespace, id } => {
                write_text(namespace.0, out);
                out.extend(id);
            }
            Value::JavaScriptWithScope { code, scope } => {
                write_text(code.0, out);
                write_elements(scope, false, out);
            }
            // The rest is written as BSON writes it.
            other => other.write_to(out),
        }
    }
    out.push(0);
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend(text.iter().map(|&b| if b == 0 { ZERO } else { b }));
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::validate::validate;

    #[test]
    fn documents_come_back_and_any_bytes_are_documents() {
        let id = [7; 12];
        let mut inner = Builder::new();
        inner.append("b", "x\0y");
        let inner = inner.finish();
        let mut out = Builder::new();
        for (name, value) in [
            ("double", Value::Double(1.5)),
            ("document", Value::Document(inner.doc())),
            ("binary", Value::Binary { subtype: 2, bytes: &[0, 1] }),
            ("id", Value::ObjectId(id)),
            ("bool", Value::Boolean(true)),
            ("regex", Value::Regex { pattern: Text::from("a.b"), options: Text::from("i") }),
            ("pointer", Value::DbPointer { namespace: Text::from("a.b"), id }),
            ("scoped", Value::JavaScriptWithScope { code: Text::from("f"), scope: inner.doc() }),
            ("max", Value::MaxKey),
            ("int", Value::Int32(-1)),
        ] {
            out.append(name, value);
        }
        let array = out.open_array("array");
        out.append_index(0, Value::MinKey);
        out.append_index(1, Value::Null);
        out.close(array);
        let document = out.finish();
        let mut bytes = Vec::new();
        write_document(document.doc(), &mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.document().as_bytes(), document.as_bytes());
        assert!(reader.is_at_end());
        for at in 0..bytes.len() {
            for byte in [0, 3, 4, 0xFF] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                for document in Reader::new(&changed).documents(100) {
                    assert_eq!(validate(document.as_bytes()), Ok(()));
                }
            }
        }
        for byte in [3, 4, 15] {
            assert_eq!(validate(Reader::new(&[byte; 1000]).document().as_bytes()), Ok(()));
        }
    }
}
