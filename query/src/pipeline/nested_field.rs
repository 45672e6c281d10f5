//! Setting one field of a document at a dotted path, with documents made around it as needed.

use bindery_document::doc::EMPTY;
use bindery_document::{Builder, Doc, DocBuf, Value};

use crate::projection::{append_slot, is_slot};

/// What is done at the end of a path.
#[derive(Clone, Copy)]
pub(super) enum Change<'v> {
    /// Puts a value in place of the field's; where there is no such field nothing happens.
    Replace(Value<'v>),
    /// Takes the field away and leaves a slot, to which it can come back.
    Remove,
    /// Sets the field, which may be new.
    Set(Value<'v>),
}

/// The document with a field set.
pub(super) fn with_field(doc: Doc<'_>, path: &[Box<str>], value: Value<'_>) -> DocBuf {
    let mut builder = Builder::new();
    write(doc, path, Change::Set(value), &mut builder);
    builder.finish()
}

/// Writes a document with a field set, which comes last at each level of the path, wherever it was.
pub(super) fn write_last(doc: Doc<'_>, path: &[Box<str>], value: Value<'_>, builder: &mut Builder) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let others = doc.iter().filter(|element| element.key != first.as_bytes());
    others.for_each(|element| builder.append_element(element));
    if rest.is_empty() {
        builder.append(first.as_bytes(), value);
        return;
    }
    let held = doc.iter().find(|element| element.key == first.as_bytes() && !is_slot(element));
    let open = builder.open_document(first.as_bytes());
    write_last(held.and_then(|element| element.value().as_document()).unwrap_or(EMPTY), rest, value, builder);
    builder.close(open);
}

/// The document with a computed field, as `$addFields` sets it: in arrays on the way every element gets the field, those
/// that are no documents make way for one.
/// A value that is missing leaves a slot, with documents around it all the same.
pub(super) fn with_added_field(doc: Doc<'_>, path: &[Box<str>], value: Option<Value<'_>>) -> DocBuf {
    let mut builder = Builder::new();
    add(doc, path, value, &mut builder);
    builder.finish()
}

fn add(doc: Doc<'_>, path: &[Box<str>], value: Option<Value<'_>>, builder: &mut Builder) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let mut found = false;
    for element in doc {
        if found || element.key != first.as_bytes() {
            builder.append_element(element);
            continue;
        }
        found = true;
        match element.value() {
            _ if is_slot(&element) => append_added(path, value, builder),
            inner if !rest.is_empty() => add_below(element.key, inner, rest, value, builder),
            _ => append_added(path, value, builder),
        }
    }
    if !found {
        append_added(path, value, builder);
    }
}

/// Adds the field below a value, through arrays in arrays as well.
fn add_below(key: &[u8], held: Value<'_>, path: &[Box<str>], value: Option<Value<'_>>, builder: &mut Builder) {
    match held {
        Value::Array(items) => {
            let open = builder.open_array(key);
            let mut digits = [0; 20];
            for (place, item) in items.iter().enumerate() {
                let key = bindery_document::build::index_key(place, &mut digits);
                add_below(key, item.value(), path, value, builder);
            }
            builder.close(open);
        }
        held => {
            let open = builder.open_document(key);
            add(held.as_document().unwrap_or(EMPTY), path, value, builder);
            builder.close(open);
        }
    }
}

/// What a document has at a path that goes through documents only.
pub(super) fn find<'a>(doc: Doc<'a>, path: &[Box<str>]) -> Option<Value<'a>> {
    let (first, rest) = path.split_first()?;
    let value = doc.get(first)?;
    if rest.is_empty() { Some(value) } else { find(value.as_document()?, rest) }
}

/// Writes a document with a change at a path that goes through documents only.
pub(super) fn write(doc: Doc<'_>, path: &[Box<str>], change: Change<'_>, builder: &mut Builder) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let mut found = false;
    for element in doc {
        if found || element.key != first.as_bytes() {
            builder.append_element(element);
            continue;
        }
        found = true;
        if is_slot(&element) {
            match change {
                Change::Set(_) => append_new(path, change, builder),
                Change::Replace(_) | Change::Remove => builder.append_element(element),
            }
            continue;
        }
        match (element.value(), rest.is_empty(), change) {
            (Value::Document(inner), false, _) => {
                let open = builder.open_document(element.key);
                write(inner, rest, change, builder);
                builder.close(open);
            }
            (_, true, Change::Replace(value) | Change::Set(value)) => builder.append(element.key, value),
            (_, true, Change::Remove) => append_slot(element.key, builder),
            // What is no document gives way to one.
            (_, false, Change::Set(_)) => append_new(path, change, builder),
            (_, false, _) => builder.append_element(element),
        }
    }
    if !found {
        append_new(path, change, builder);
    }
}

/// Appends a computed field, or its slot, with documents around it as the path asks.
fn append_added(path: &[Box<str>], value: Option<Value<'_>>, builder: &mut Builder) {
    match (value, path) {
        (Some(value), _) => append_new(path, Change::Set(value), builder),
        (None, []) => {}
        (None, [last]) => append_slot(last.as_bytes(), builder),
        (None, [first, rest @ ..]) => {
            let open = builder.open_document(first.as_bytes());
            append_added(rest, value, builder);
            builder.close(open);
        }
    }
}

/// Appends a field that is not there yet, with documents around it as the path asks.
fn append_new(path: &[Box<str>], change: Change<'_>, builder: &mut Builder) {
    let (Change::Set(value), Some((first, rest))) = (change, path.split_first()) else {
        return;
    };
    if rest.is_empty() {
        builder.append(first.as_bytes(), value);
    } else {
        let open = builder.open_document(first.as_bytes());
        append_new(rest, change, builder);
        builder.close(open);
    }
}
