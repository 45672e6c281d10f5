//! From a parent and its children to the logical document.

use bindery_document::{Builder, Doc, Element, Kind, Value, build::index_key};

use super::{Subset, field};

/// A stored parent, taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Parent<'a> {
    /// The document's own `_id`.
    pub id: Value<'a>,
    /// What is known of the children; none where the logical document has no array.
    pub children: Option<Children<'a>>,
}

/// What a stored parent says of its children.
#[derive(Clone, Copy, Debug)]
pub struct Children<'a> {
    /// The first of them by the layout's order.
    pub top: Doc<'a>,
    /// How many there are.
    pub total: u32,
    /// The bytes of the array's elements, about.
    pub bytes: i64,
    /// The least position.
    pub first: i64,
    /// The greatest position.
    pub last: i64,
    /// Whether the logical array stands in the layout's order.
    pub in_order: bool,
}

impl Subset {
    /// Takes a stored parent apart.
    pub fn parent<'a>(&self, stored: Doc<'a>) -> Parent<'a> {
        let id = stored.get("_id").unwrap_or(Value::Null);
        let Some(Value::Document(subset)) = stored.iter().last().map(|last| last.value()) else {
            return Parent { id, children: None };
        };
        let number = |name: &str| subset.get(name).and_then(|value| value.as_exact_i64()).unwrap_or_default();
        let top = stored.element(self.array.as_bytes()).filter(|array| array.kind == Kind::Array);
        let children = top.filter(|_| !subset.is_empty()).map(|top| Children {
            top: Doc::from_stored(top.bytes),
            total: u32::try_from(number(field::TOTAL)).unwrap_or(0),
            bytes: number(field::BYTES),
            first: number(field::FIRST),
            last: number(field::LAST),
            in_order: subset.get(field::IN_ORDER).is_some_and(|value| value.is_truthy()),
        });
        Parent { id, children }
    }

    /// Writes the logical document with these children in the array, if it has one.
    pub fn unfold<'c>(
        &self,
        stored: Doc<'_>,
        children: impl Iterator<Item = (Kind, &'c [u8])>,
        out: Vec<u8>,
    ) -> Vec<u8> {
        let mut logical = Builder::with_buffer(out);
        let mut children = self.parent(stored).children.is_some().then_some(children);
        let fields = stored.count().saturating_sub(1);
        for element in stored.iter().take(fields) {
            match children.take_if(|_| element.key == self.array.as_bytes()) {
                Some(children) => {
                    let array = logical.open_array(&*self.array);
                    for (i, (kind, bytes)) in children.enumerate() {
                        logical.append_bytes(index_key(i, &mut [0; 20]), kind, bytes);
                    }
                    logical.close(array);
                }
                None => logical.append_element(element),
            }
        }
        logical.finish().into_bytes()
    }

    /// The position and the child of a document of the side collection.
    pub fn child<'a>(&self, stored: Doc<'a>) -> Option<(i64, Element<'a>)> {
        let at = stored.get(field::AT)?.as_exact_i64()?;
        Some((at, stored.element(field::CHILD.as_bytes())?))
    }
}
