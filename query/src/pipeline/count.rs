//! `$count`: one document with the number of documents; none of none.

use std::ops::ControlFlow;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, doc};

use super::{Environment, Stream};

/// Parses the name of the field.
///
/// # Errors
/// 40156 for what is no string, 40157 for an empty one, 40158 for a dollar in front, 40159 for a zero byte,
/// 40160 for a dot, 15948 for `_id`.
pub(super) fn parse(argument: Value<'_>) -> Result<Box<str>> {
    let Value::String(name) = argument else {
        return Err(Error::new(40156, "$count takes a string"));
    };
    let name = name.as_str();
    let fault = if name.is_empty() {
        (40157, "is empty")
    } else if name.starts_with('$') {
        (40158, "starts with a dollar")
    } else if name.contains('\0') {
        (40159, "holds a zero byte")
    } else if name.contains('.') {
        (40160, "holds a dot")
    } else if name == "_id" {
        (15948, "is taken by the group")
    } else {
        return Ok(name.into());
    };
    Err(Error::new(fault.0, format!("the name of $count's field {}: '{name}'", fault.1)))
}

/// The number as MongoDB writes it: an int if it fits.
pub(super) fn count_value(n: u64) -> Value<'static> {
    match i32::try_from(n) {
        Ok(n) => Value::Int32(n),
        Err(_) => Value::Int64(i64::try_from(n).unwrap_or(i64::MAX)),
    }
}

/// A `$count` whose number comes from elsewhere.
#[derive(Clone, Debug)]
pub struct Count {
    pub(super) name: Arc<str>,
}

impl Count {
    /// The stage's document; none if nothing was counted.
    pub fn document(&self, n: u64) -> Option<DocBuf> {
        (n > 0).then(|| {
            let mut builder = Builder::new();
            builder.append(self.name.as_bytes(), count_value(n));
            builder.finish()
        })
    }
}

pub(super) struct CountStream {
    pub(super) count: Count,
    pub(super) input: Option<Box<dyn Stream>>,
    pub(super) env: Environment,
    pub(super) current: Option<DocBuf>,
}

impl Stream for CountStream {
    fn advance(&mut self) -> Result<bool> {
        self.current = None;
        let Some(mut input) = self.input.take() else {
            return Ok(false);
        };
        let mut n = 0;
        input.drain(&mut |_, _| {
            n += 1;
            self.env.check_interrupt()?;
            Ok(ControlFlow::Continue(()))
        })?;
        self.current = self.count.document(n);
        Ok(self.current.is_some())
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, DocBuf::doc)
    }
}
