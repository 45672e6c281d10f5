//! From a logical document to a parent and its children.

use bindery_document::{Builder, Doc, Element, Kind, Path, Value, build::index_key, doc};
use bindery_index::keygen::Keys;

use super::{Subset, field};

/// What decides about a child's place in the layout's order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    key: Vec<u8>,
    /// Whether it is a document with one value to order by: only then do `$sort` of `$push`, the side
    /// collection's index and this order agree.
    is_plain: bool,
}

impl Order {
    /// See the field.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whether it comes before another; equal ones do not.
    pub fn is_before(&self, other: &Order) -> bool {
        self.key < other.key
    }
}

/// The children that a parent holds, with their total figures.
#[derive(Clone, Debug)]
pub(super) struct Held<'a> {
    pub(super) top: Vec<(Kind, &'a [u8])>,
    pub(super) total: u32,
    pub(super) bytes: i64,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) in_order: bool,
}

impl Subset {
    /// The children of a logical document; `None` if the field is missing or no array.
    pub fn children<'a>(&self, logical: Doc<'a>) -> Option<Vec<Element<'a>>> {
        let array = logical.element(self.array.as_bytes()).filter(|array| array.kind == Kind::Array)?;
        Some(Doc::from_stored(array.bytes).iter().collect())
    }

    /// The stored parent of a logical document whose children have positions from `first` to `last`.
    pub fn fold_parent(&self, logical: Doc<'_>, first: i64, last: i64) -> Vec<u8> {
        let held = self.children(logical).map(|children| {
            let mut orders: Vec<(Order, usize)> = Vec::with_capacity(children.len());
            let mut keys = Keys::new();
            for (at, child) in children.iter().enumerate() {
                orders.push((self.order_with(child, &mut keys), at));
            }
            let in_order =
                orders.iter().all(|(order, _)| order.is_plain) && orders.is_sorted_by(|a, b| a.0.key <= b.0.key);
            orders.sort_by(|(a, i), (b, j)| a.key.cmp(&b.key).then(i.cmp(j)));
            let top = orders.iter().take(self.top).filter_map(|(_, at)| children.get(*at));
            Held {
                top: top.map(|child| (child.kind, child.bytes)).collect(),
                total: children.len() as u32,
                bytes: children.iter().map(|child| child_bytes(child.bytes)).sum(),
                first: if children.is_empty() { 0 } else { first },
                last: if children.is_empty() { 0 } else { last },
                in_order,
            }
        });
        self.write_parent(logical, held.as_ref())
    }

    /// Writes a parent: the fields of a document, with these children in the array's place.
    pub(super) fn write_parent(&self, fields: Doc<'_>, held: Option<&Held<'_>>) -> Vec<u8> {
        let mut out = Builder::new();
        let mut pending = held;
        for element in fields {
            match pending {
                Some(held) if element.key == self.array.as_bytes() => {
                    let array = out.open_array(&*self.array);
                    for (i, (kind, bytes)) in held.top.iter().enumerate() {
                        out.append_bytes(index_key(i, &mut [0; 20]), *kind, bytes);
                    }
                    out.close(array);
                    pending = None;
                }
                _ => out.append_element(element),
            }
        }
        let subset = out.open_document(field::SUBSET);
        if let Some(held) = held {
            out.append(field::TOTAL, i32::try_from(held.total).unwrap_or(i32::MAX));
            out.append(field::BYTES, held.bytes);
            out.append(field::FIRST, held.first);
            out.append(field::LAST, held.last);
            out.append(field::IN_ORDER, held.in_order);
        }
        out.close(subset);
        out.finish().into_bytes()
    }

    /// A child as the side collection holds it.
    pub fn fold_child(&self, parent: Value<'_>, at: i64, child: (Kind, &[u8])) -> Vec<u8> {
        let mut out = Builder::new();
        out.append(&*self.key, parent);
        out.append(field::AT, at);
        out.append_bytes(field::CHILD.as_bytes(), child.0, child.1);
        out.finish().into_bytes()
    }

    /// A child's place in the layout's order.
    pub fn order_of(&self, child: &Element<'_>) -> Order {
        self.order_with(child, &mut Keys::new())
    }

    fn order_with(&self, child: &Element<'_>, keys: &mut Keys) -> Order {
        let document = match child.kind {
            Kind::Document => Doc::from_stored(child.bytes),
            _ => doc::EMPTY,
        };
        let key = self.sort.key(document, keys).map_or_else(|_| Vec::new(), <[u8]>::to_vec);
        let is_plain = child.kind == Kind::Document
            && self.sort.fields().iter().all(|field| {
                let mut plain = true;
                let path = Path::parse(&field.path);
                let mut reached = document;
                for part in path.components() {
                    match reached.get(part.name()) {
                        Some(Value::Document(inner)) => reached = inner,
                        Some(Value::Array(_)) => plain = false,
                        _ => break,
                    }
                }
                plain
            });
        Order { key, is_plain }
    }
}

/// What a child adds to the size of its array, but for the digits of its index.
pub(super) fn child_bytes(value: &[u8]) -> i64 {
    value.len() as i64 + 8
}
