//! `$push`, with its modifiers `$each`, `$position`, `$sort` and `$slice`.
//!
//! Whatever the order in which the modifiers are written: the values are put in at the position, then the
//! array is sorted, then cut.

use std::cmp::Ordering;

use bindery_document::{Builder, Doc, Element, Error, Kind, OwnedValue, Result, Value, code};

use super::{Context, Items, Outcome, array_items, item_value, write_items};

/// What to put in, and what to do with the array then.
#[derive(Debug)]
pub(in crate::update) struct Push {
    values: Vec<OwnedValue>,
    position: Option<i64>,
    sort: Option<Sort>,
    slice: Option<i64>,
}

/// How to sort the array.
#[derive(Debug)]
enum Sort {
    /// The elements themselves.
    Whole {
        /// Whether downwards.
        descending: bool,
    },
    /// By fields of the elements, each upwards or (`true`) downwards.
    Fields(Vec<(Box<str>, bool)>),
}

impl Push {
    /// Takes the argument: a value, or a document of modifiers with `$each` among them.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for wrong modifiers.
    pub(super) fn parse(path: &str, argument: Value<'_>) -> Result<Push> {
        let modifiers = argument.as_document().filter(|doc| doc.element(b"$each").is_some());
        let Some(modifiers) = modifiers else {
            return Ok(Push { values: vec![OwnedValue::new(argument)], position: None, sort: None, slice: None });
        };
        let mut push = Push { values: Vec::new(), position: None, sort: None, slice: None };
        for (position, modifier) in modifiers.iter().enumerate() {
            if modifiers.iter().take(position).any(|other| other.key == modifier.key) {
                return Err(bad(path, format!("'{}' is given twice", modifier.key_str())));
            }
            let value = modifier.value();
            match modifier.key {
                b"$each" => {
                    let Value::Array(each) = value else {
                        return Err(bad(path, format!("$each needs an array, not {}", value.kind().alias())));
                    };
                    push.values = each.iter().map(|item| OwnedValue::new(item.value())).collect();
                }
                b"$position" => push.position = Some(whole_number(path, "$position", value)?),
                b"$slice" => push.slice = Some(whole_number(path, "$slice", value)?),
                b"$sort" => push.sort = Some(Sort::parse(path, value)?),
                _ => return Err(bad(path, format!("'{}' is no modifier", modifier.key_str()))),
            }
        }
        Ok(push)
    }

    /// The values to put in.
    pub(super) fn values(&self) -> &[OwnedValue] {
        &self.values
    }

    /// Changes a field.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for a field that is no array.
    pub(super) fn update(&self, field: Element<'_>, context: &Context<'_>, out: &mut Builder) -> Result<Outcome> {
        if field.kind == Kind::Array && self.is_append() && !self.values.is_empty() {
            self.append(field, out);
            return Ok(Outcome::Written);
        }
        let mut items = array_items(field, "$push", code::BAD_VALUE)?;
        let cuts = self.slice.is_some_and(|slice| slice.unsigned_abs() < items.len() as u64);
        if self.values.is_empty() && (self.sort.is_none() || items.is_empty()) && !cuts {
            // To MongoDB a sort always changes the array. It finds out better when it writes in place, which it does
            // not do where an index is concerned.
            return Ok(if self.sort.is_some() { Outcome::Touched } else { Outcome::Unchanged });
        }
        self.arrange(&mut items, context);
        write_items(field.key, &items, out);
        Ok(Outcome::Written)
    }

    /// Makes a missing field.
    pub(super) fn create(&self, key: &[u8], context: &Context<'_>, out: &mut Builder) {
        let mut items = Vec::with_capacity(self.values.len());
        self.arrange(&mut items, context);
        write_items(key, &items, out);
    }

    fn is_append(&self) -> bool {
        self.position.is_none() && self.sort.is_none() && self.slice.is_none()
    }

    /// The common case: the old elements as they are, then the new ones.
    fn append(&self, field: Element<'_>, out: &mut Builder) {
        let old = Doc::from_stored(field.bytes);
        let open = out.open_array(field.key);
        out.append_run(old.iter().remaining());
        for (index, value) in (old.item_count()..).zip(&self.values) {
            out.append_index(index, value.value());
        }
        out.close(open);
    }

    fn arrange<'a>(&'a self, items: &mut Items<'a>, context: &Context<'_>) {
        let at = match self.position {
            None => items.len(),
            Some(position) if position >= 0 => usize::try_from(position).unwrap_or(usize::MAX).min(items.len()),
            Some(from_end) => {
                items.len().saturating_sub(usize::try_from(from_end.unsigned_abs()).unwrap_or(usize::MAX))
            }
        };
        items.splice(at..at, self.values.iter().map(|value| (value.kind(), value.bytes())));
        match &self.sort {
            None => {}
            Some(Sort::Whole { descending }) => items.sort_by(|a, b| {
                let order = context.options.compare(&item_value(a), &item_value(b));
                if *descending { order.reverse() } else { order }
            }),
            Some(Sort::Fields(fields)) => {
                items.sort_by(|a, b| compare_fields(fields, &item_value(a), &item_value(b), context));
            }
        }
        if let Some(slice) = self.slice {
            let keep = usize::try_from(slice.unsigned_abs()).unwrap_or(usize::MAX).min(items.len());
            if slice < 0 {
                items.drain(..items.len() - keep);
            } else {
                items.truncate(keep);
            }
        }
    }
}

impl Sort {
    fn parse(path: &str, argument: Value<'_>) -> Result<Sort> {
        let wrong = || bad(path, "$sort needs 1, -1 or fields with 1 or -1".to_owned());
        let direction = |value: Value<'_>| match value.as_exact_i64() {
            Some(1) => Ok(false),
            Some(-1) => Ok(true),
            _ => Err(wrong()),
        };
        let Value::Document(fields) = argument else {
            return Ok(Sort::Whole { descending: direction(argument)? });
        };
        let fields = fields
            .iter()
            .map(|field| {
                let name = field.key_str();
                if name.split('.').any(str::is_empty) {
                    return Err(bad(path, format!("$sort has a field with an empty name in it, '{name}'")));
                }
                Ok((name.into(), direction(field.value())?))
            })
            .collect::<Result<Vec<(Box<str>, bool)>>>()?;
        if fields.is_empty() {
            return Err(wrong());
        }
        Ok(Sort::Fields(fields))
    }
}

/// Compares two elements by their fields; a missing one counts as null, and so do all of a scalar.
fn compare_fields(fields: &[(Box<str>, bool)], a: &Value<'_>, b: &Value<'_>, context: &Context<'_>) -> Ordering {
    for (path, descending) in fields {
        let x = a.as_document().and_then(|doc| lookup(doc, path)).unwrap_or(Value::Null);
        let y = b.as_document().and_then(|doc| lookup(doc, path)).unwrap_or(Value::Null);
        let order = context.options.compare(&x, &y);
        if order != Ordering::Equal {
            return if *descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// The value at a dotted path, numbers being array indexes; arrays are not looked through.
fn lookup<'a>(doc: Doc<'a>, path: &str) -> Option<Value<'a>> {
    let mut names = path.split('.');
    let mut value = doc.get(names.next()?)?;
    for name in names {
        value = match value {
            Value::Document(doc) | Value::Array(doc) => doc.get(name)?,
            _ => return None,
        };
    }
    Some(value)
}

fn whole_number(path: &str, modifier: &str, value: Value<'_>) -> Result<i64> {
    value.as_exact_i64().ok_or_else(|| bad(path, format!("{modifier} needs a whole number")))
}

fn bad(path: &str, what: String) -> Error {
    Error::new(code::BAD_VALUE, format!("$push of '{path}': {what}"))
}
