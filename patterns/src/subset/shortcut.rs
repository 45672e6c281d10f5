//! What a parent answers without its children, and pushes that touch none of those that are there.

use bindery_document::{Doc, Element, Kind, Value};
use bindery_query::filter::Filter;
use bindery_query::sort::SortField;

use super::fold::{Held, child_bytes};
use super::unfold::Children;
use super::{STEP, Subset};

/// What of the array is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// These elements, by position.
    Part {
        /// How many come before.
        skip: u64,
        /// How many at most.
        limit: u64,
    },
    /// All of it.
    All,
}

/// The logical size from which on pushes take the long way, which knows the exact size.
const NEAR_LIMIT_BYTES: i64 = 15 << 20;

impl Subset {
    /// What a `find` projection needs of the array.
    pub fn need_of_projection(&self, projection: Option<Doc<'_>>) -> Need {
        let Some(projection) = projection.filter(|projection| !projection.is_empty()) else { return Need::All };
        let (mut need, mut inclusion) = (None, None);
        for element in projection {
            let (name, value) = (element.key_str(), element.value());
            if name == &*self.array {
                need = Some(match value {
                    Value::Document(argument) => slice(argument),
                    value if is_flag(&value) && !value.is_truthy() => Need::Nothing,
                    _ => Need::All,
                });
                continue;
            }
            if name.split('.').next() == Some(&*self.array) || !is_flag(&value) {
                // A part of the children, or an expression, which may look at anything.
                return Need::All;
            }
            if name != "_id" {
                inclusion = Some(value.is_truthy());
            }
        }
        need.unwrap_or(if inclusion == Some(true) { Need::Nothing } else { Need::All })
    }

    /// Whether the children that a parent holds decide about it in an order by a field of the array: that field's
    /// greatest value, or its least, is what the layout has first.
    pub fn top_decides(&self, field: &SortField) -> bool {
        let in_array = field.path.strip_prefix(&*self.array).and_then(|rest| rest.strip_prefix('.'));
        let first = self.sort.fields().first();
        self.top > 0
            && first.is_some_and(|first| in_array == Some(&*first.path) && field.descending == first.descending)
    }

    /// Whether a filter looks at the array.
    pub fn is_asked_by(&self, filter: &Filter) -> bool {
        match filter {
            Filter::And(parts) | Filter::Or(parts) | Filter::Nor(parts) => {
                parts.iter().any(|part| self.is_asked_by(part))
            }
            Filter::Not(part) => self.is_asked_by(part),
            Filter::AlwaysTrue | Filter::AlwaysFalse | Filter::SampleRate(_) => false,
            other => other.path().is_none_or(|path| path.first() == &*self.array),
        }
    }

    /// Whether an update, as it was written, may look at or change the array.
    pub fn is_touched_by(&self, update: &Value<'_>) -> bool {
        let Value::Document(update) = update else { return true };
        let is_ours = |path: &str| path.split('.').next() == Some(&*self.array);
        update.iter().any(|operator| match operator.value() {
            Value::Document(paths) if operator.key.starts_with(b"$") => paths.iter().any(|argument| {
                let renames = operator.key == b"$rename";
                is_ours(argument.key_str()) || renames && argument.value().as_str().is_none_or(is_ours)
            }),
            _ => true,
        })
    }

    /// The update's `$push` on the array, if that is all it does to it and the way it does it can be short.
    pub fn push_of<'a>(&self, update: &Value<'a>) -> Option<Push<'a>> {
        let Value::Document(update) = update else { return None };
        let mut push = None;
        for operator in *update {
            let Value::Document(paths) = operator.value() else { return None };
            if !operator.key.starts_with(b"$") || operator.key == b"$rename" {
                return None;
            }
            for argument in paths {
                if argument.key_str().split('.').next() != Some(&*self.array) {
                    continue;
                }
                if operator.key != b"$push" || argument.key != self.array.as_bytes() {
                    return None;
                }
                push = Some(self.push(argument)?);
            }
        }
        push
    }

    fn push<'a>(&self, argument: Element<'a>) -> Option<Push<'a>> {
        let Value::Document(modifiers) = argument.value() else {
            return Some(Push { children: vec![argument], sorted: false });
        };
        let Some(Value::Array(each)) = modifiers.get("$each") else {
            let is_child = modifiers.first().is_none_or(|first| !first.key.starts_with(b"$"));
            return is_child.then(|| Push { children: vec![argument], sorted: false });
        };
        let mut sorted = false;
        for modifier in modifiers {
            match (modifier.key, modifier.value()) {
                (b"$each", _) => {}
                (b"$sort", Value::Document(sort)) if sort.as_bytes() == self.declared.as_bytes() => sorted = true,
                _ => return None,
            }
        }
        Some(Push { children: each.iter().collect(), sorted })
    }

    /// The parent after a push, with the positions of the new children; `None` if that takes the long way.
    ///
    /// `fields` is the new logical document, whose array does not matter; `children` what the stored parent said.
    pub fn pushed(&self, fields: Doc<'_>, children: &Children<'_>, push: &Push<'_>) -> Option<(Vec<u8>, Vec<i64>)> {
        let added: usize = push.children.iter().map(|child| child.bytes.len()).sum();
        let known = fields.as_bytes().len().saturating_add(added);
        if push.children.is_empty() || children.bytes.saturating_add(known as i64) > NEAR_LIMIT_BYTES {
            return None;
        }
        let orders: Vec<_> = push.children.iter().map(|child| self.order_of(child)).collect();
        let are_sorted = orders.is_sorted_by(|a, b| !b.is_before(a));
        let new_plain = orders.iter().all(super::Order::is_plain);
        let mut top: Vec<Element<'_>> = children.top.iter().collect();
        let n = push.children.len() as i64;
        let (positions, in_order): (Vec<i64>, bool) = if push.sorted {
            // All of the new children must come before all that are there.
            let first = top.first().map(|first| self.order_of(first));
            let in_front = first.is_none_or(|first| orders.iter().all(|order| order.is_before(&first)));
            if !(children.in_order && new_plain && are_sorted && in_front) {
                return None;
            }
            let start = if children.total == 0 { 0 } else { children.first.checked_sub(n.checked_mul(STEP)?)? };
            ((0..n).map(|i| start + i * STEP).collect(), true)
        } else {
            let start = if children.total == 0 { 0 } else { children.last.checked_add(STEP)? };
            start.checked_add(n.checked_mul(STEP)?)?;
            let in_order = match children.in_order {
                false => false,
                // Whether the order goes on is seen only by the last child.
                true if children.total as usize > top.len() => return None,
                true => {
                    let goes_on =
                        |last: &Element<'_>| orders.first().is_none_or(|new| !new.is_before(&self.order_of(last)));
                    new_plain && are_sorted && top.last().is_none_or(goes_on)
                }
            };
            ((0..n).map(|i| start + i * STEP).collect(), in_order)
        };
        for (child, order) in push.children.iter().zip(&orders).take(if push.sorted { 0 } else { usize::MAX }) {
            let at = top.partition_point(|other| !order.is_before(&self.order_of(other)));
            top.insert(at, *child);
        }
        if push.sorted {
            top.splice(0..0, push.children.iter().copied());
        }
        top.truncate(self.top);
        let (low, high) = (*positions.first()?, *positions.last()?);
        let held = Held {
            top: top.iter().map(|child| (child.kind, child.bytes)).collect(),
            total: children.total + push.children.len() as u32,
            bytes: children.bytes + push.children.iter().map(|child| child_bytes(child.bytes)).sum::<i64>(),
            first: if children.total == 0 { low } else { children.first.min(low) },
            last: if children.total == 0 { high } else { children.last.max(high) },
            in_order,
        };
        Some((self.write_parent(fields, Some(&held)), positions))
    }

    /// Whether a logical document may be near what one may hold, so that its exact size must be known.
    pub fn is_near_limit(&self, fields: Doc<'_>, children: Option<&Children<'_>>) -> bool {
        let bytes = i64::try_from(fields.as_bytes().len()).unwrap_or(i64::MAX);
        bytes.saturating_add(children.map_or(0, |children| children.bytes)) > NEAR_LIMIT_BYTES
    }

    /// The parent after an update that leaves the array alone.
    pub fn kept(&self, fields: Doc<'_>, children: Option<&Children<'_>>) -> Vec<u8> {
        let held = children.map(|children| Held {
            top: children.top.iter().map(|child| (child.kind, child.bytes)).collect(),
            total: children.total,
            bytes: children.bytes,
            first: children.first,
            last: children.last,
            in_order: children.in_order,
        });
        self.write_parent(fields, held.as_ref())
    }
}

/// Children that are pushed, in the order given.
#[derive(Clone, Debug)]
pub struct Push<'a> {
    /// The new children.
    pub children: Vec<Element<'a>>,
    /// Whether the array is sorted by the layout's order with them; else they go to the end.
    pub sorted: bool,
}

fn is_flag(value: &Value<'_>) -> bool {
    value.kind().is_number() || value.kind() == Kind::Boolean
}

/// What `{$slice: n}` and `{$slice: [skip, n]}` need.
fn slice(argument: Doc<'_>) -> Need {
    let mut fields = argument.iter();
    let (Some(first), None) = (fields.next(), fields.next()) else { return Need::All };
    let whole = |value: Value<'_>| value.as_exact_i64().and_then(|n| u64::try_from(n).ok());
    let part = match (first.key, first.value()) {
        (b"$slice", Value::Array(pair)) => {
            let numbers: Vec<Option<u64>> = pair.iter().map(|number| whole(number.value())).collect();
            match numbers.as_slice() {
                [Some(skip), Some(limit)] if *limit > 0 => Some((*skip, *limit)),
                _ => None,
            }
        }
        (b"$slice", number) => whole(number).filter(|n| *n > 0).map(|n| (0, n)),
        _ => None,
    };
    part.map_or(Need::All, |(skip, limit)| Need::Part { skip, limit })
}
