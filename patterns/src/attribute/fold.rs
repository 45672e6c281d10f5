//! From a logical document to a stored one.

use std::collections::HashSet;

use bindery_document::{Builder, Doc, build::index_key};

use super::{Attribute, part};

impl Attribute {
    /// Writes the stored form into `out`: kept fields in their order, then the array, if there are attributes.
    pub fn fold(&self, logical: Doc<'_>, out: Vec<u8>) -> Vec<u8> {
        let mut stored = Builder::with_buffer(out);
        let mut kept = 0;
        for field in logical.iter().filter(|field| !self.is_attribute(field.key)) {
            stored.append_element(field);
            kept += 1;
        }
        let mut array = None;
        let (mut before, mut position) = (0, 0);
        let mut seen: HashSet<&[u8]> = HashSet::new();
        for field in logical {
            if !self.is_attribute(field.key) {
                before += 1;
                continue;
            }
            if array.is_none() {
                array = Some(stored.open_array(&*self.path));
            }
            let entry = stored.open_document(index_key(position, &mut [0; 20]));
            let name = if seen.insert(field.key) { part::NAME } else { part::AGAIN };
            stored.append(name, field.key_str());
            stored.append_bytes(part::VALUE.as_bytes(), field.kind, field.bytes);
            if before != kept {
                stored.append(part::AFTER, before);
            }
            stored.close(entry);
            position += 1;
        }
        if let Some(array) = array {
            stored.close(array);
        }
        stored.finish().into_bytes()
    }
}
