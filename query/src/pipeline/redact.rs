//! `$redact`: an expression decides for each document inside a document whether it stays.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Result, Value};

use super::{Environment, Stream};
use crate::expression::{Expression, Scope};
use crate::filter::{ElemMatchObject, ElemMatchValue, Filter, ParseContext};
use crate::projection::Metadata;

/// The stage.
#[derive(Debug)]
pub struct Redact {
    /// What decides: gives `$$DESCEND`, `$$PRUNE` or `$$KEEP`. Its paths start at the document inside, which is
    /// bound as `$$CURRENT`; `$$ROOT` stays the whole.
    pub decision: Expression,
}

/// The variables that a decision may give, and their values.
const DECISIONS: [(&str, &str); 3] = [("DESCEND", "descend"), ("PRUNE", "prune"), ("KEEP", "keep")];

/// Parses the expression.
///
/// # Errors
/// Those of expressions.
pub(super) fn parse(argument: Value<'_>, context: &ParseContext) -> Result<Redact> {
    let mut inner = context.expressions.clone();
    for (name, value) in DECISIONS {
        inner.define_constant(name, Some(OwnedValue::new(Value::from(value))));
    }
    let names = vec!["CURRENT".to_owned()];
    let decision = inner.with_variables(names, |inner| Expression::parse_unfolded(argument, inner))?;
    Ok(Redact { decision })
}

/// What a query behind a redaction can ask before it too: conditions that a document cannot come to pass by losing
/// fields. MongoDB asks them there as well, so that an index can answer them; the query stays where it is.
///
/// Source: MongoDB's manual, "Aggregation Pipeline Optimization", `$redact` and `$match`; which conditions count was
/// asked of a real server.
pub(super) fn portion_before(filter: &Filter) -> Option<Filter> {
    let is_plain = |value: &OwnedValue| {
        !matches!(value.value(), Value::Null | Value::Undefined | Value::Array(_) | Value::Document(_))
    };
    if filter.path().is_some_and(|path| {
        path.as_str().split('.').any(|name| name.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty())
    }) {
        return None;
    }
    let portions = |filters: &[Filter]| filters.iter().filter_map(portion_before).collect::<Vec<_>>();
    match filter {
        Filter::And(conditions) => {
            let mut portions = portions(conditions);
            match portions.len() {
                0 | 1 => portions.pop(),
                _ => Some(Filter::And(portions)),
            }
        }
        Filter::Or(conditions) => {
            let portions = portions(conditions);
            (portions.len() == conditions.len()).then_some(Filter::Or(portions))
        }
        Filter::ElemMatchObject(test) if !matches!(*test.filter, Filter::Or(_)) => {
            let filter = Box::new(portion_before(&test.filter)?);
            Some(Filter::ElemMatchObject(ElemMatchObject { path: test.path.clone(), filter }))
        }
        Filter::ElemMatchValue(test) => {
            let filters = portions(&test.filters);
            (!filters.is_empty()).then(|| Filter::ElemMatchValue(ElemMatchValue { path: test.path.clone(), filters }))
        }
        Filter::Compare(test) => is_plain(&test.operand).then(|| filter.clone()),
        Filter::In(test) => (!test.has_null() && test.values.iter().all(is_plain)).then(|| filter.clone()),
        Filter::Regex(_) | Filter::Type(_) | Filter::Mod(_) | Filter::Bits(_) => Some(filter.clone()),
        _ => None,
    }
}

impl Redact {
    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(RedactStream { stage: self, input, env: env.clone(), current: DocBuf::new(), as_is: false })
    }

    /// Writes what stays of a document; false if nothing does, not even the document.
    fn redact(&self, document: Doc<'_>, whole: &Scope<'_>, builder: &mut Builder) -> Result<bool> {
        let current = [Some(Value::Document(document))];
        let frame = whole.bind(&current);
        let scope = whole.inside(&frame);
        let decision = self.decision.evaluate(&scope)?;
        match decision.get().and_then(|v| v.as_str()) {
            Some("keep") => document.iter().for_each(|element| builder.append_element(element)),
            Some("prune") => return Ok(false),
            Some("descend") => {
                for element in document {
                    self.descend(element.key, element.value(), whole, builder)?;
                }
            }
            _ => return Err(Error::new(17053, "$redact must give $$DESCEND, $$PRUNE or $$KEEP")),
        }
        Ok(true)
    }

    /// Writes what stays of a field or an element; false if it goes.
    fn descend(&self, key: &[u8], value: Value<'_>, whole: &Scope<'_>, builder: &mut Builder) -> Result<bool> {
        match value {
            Value::Document(inner) => {
                let mut kept = Builder::new();
                if !self.redact(inner, whole, &mut kept)? {
                    return Ok(false);
                }
                builder.append(key, Value::Document(kept.finish().doc()));
            }
            Value::Array(items) => {
                let open = builder.open_array(key);
                let mut index = 0;
                let mut digits = [0; 20];
                for item in items {
                    let key = bindery_document::build::index_key(index, &mut digits);
                    index += usize::from(self.descend(key, item.value(), whole, builder)?);
                }
                builder.close(open);
            }
            other => builder.append(key, other),
        }
        Ok(true)
    }
}

struct RedactStream {
    stage: Arc<Redact>,
    input: Box<dyn Stream>,
    env: Environment,
    current: DocBuf,
    /// Whether the input's document is given as it is.
    as_is: bool,
}

impl Stream for RedactStream {
    fn advance(&mut self) -> Result<bool> {
        while self.input.advance()? {
            let mut builder = Builder::new();
            let document = self.input.current();
            if self.stage.redact(document, &self.env.scope(document), &mut builder)? {
                self.current = builder.finish();
                self.as_is = self.current.as_bytes() == document.as_bytes();
                return Ok(true);
            }
            self.env.check_interrupt()?;
        }
        Ok(false)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }

    fn metadata(&self) -> Metadata<'_> {
        if self.as_is { self.input.metadata() } else { Metadata::default() }
    }
}
