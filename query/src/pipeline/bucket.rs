//! `$bucket`: a group by ranges of values, sorted. It is parsed into those two stages.

use std::sync::Arc;

use bindery_document::{Builder, DocBuf, Error, OwnedValue, Result, Value, order};

use super::group::{self, Accumulator, Group};
use super::{Stage, sort};
use crate::expression::Expression;
use crate::filter::ParseContext;

fn fail<T>(code: i32, message: &str) -> Result<T> {
    Err(Error::new(code, format!("$bucket: {message}")))
}

/// Parses the stage.
///
/// # Errors
/// 40191 to 40202 for malformed fields; those of expressions and accumulators.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<[Stage; 2]> {
    let Value::Document(spec) = argument else {
        return fail(40201, "takes a document");
    };
    let (mut group_by, mut boundaries, mut default, mut fields) = (None, None, None, None);
    for element in spec {
        match (element.key, element.value()) {
            (b"groupBy", value) => group_by = Some(parse_group_by(value)?),
            (b"boundaries", Value::Array(items)) => {
                let values: Result<Vec<OwnedValue>> =
                    items.iter().map(|item| constant(item.value(), 40191, context)).collect();
                boundaries = Some(values?);
            }
            (b"boundaries", _) => return fail(40200, "boundaries must be an array"),
            (b"default", value) => default = Some(constant(value, 40195, context)?),
            (b"output", Value::Document(output)) => fields = Some(output),
            (b"output", _) => return fail(40196, "output must be a document"),
            _ => return fail(40197, &format!("unknown field '{}'", element.key_str())),
        }
    }
    let (Some(group_by), Some(boundaries)) = (group_by, boundaries) else {
        return fail(40198, "needs groupBy and boundaries");
    };
    check_boundaries(&boundaries, default.as_ref())?;
    let switch = switch(group_by, &boundaries, default.as_ref());
    let id = Expression::parse_unfolded(Value::Document(switch.doc()), &mut context.expressions)?;
    let fields = match fields {
        None => vec![("count".into(), Accumulator::count_one())],
        Some(fields) => {
            let mut parse = |name, value| group::accumulator::parse_field(name, value, context);
            fields.iter().map(|f| Ok((f.key_str().into(), parse(f.key_str(), f.value())?))).collect::<Result<_>>()?
        }
    };
    let mut written = Builder::new();
    written.append("_id", Value::Document(switch.doc()));
    match spec.get("output") {
        Some(Value::Document(output)) => output.iter().for_each(|field| written.append_element(field)),
        _ => super::sort_by_count::append_count(&mut written),
    }
    let group = Group::new(id, fields, context.collation.clone(), written.finish());
    let mut order = Builder::new();
    order.append("_id", 1);
    let order = order.finish();
    let sort = sort::parse(Value::Document(order.doc()), context)?;
    Ok([Stage::Group(Arc::new(group)), Stage::Sort(Arc::new(sort))])
}

fn parse_group_by(value: Value<'_>) -> Result<OwnedValue> {
    let is_expression = match value {
        Value::String(text) => text.as_bytes().first() == Some(&b'$'),
        Value::Document(doc) => doc.first().is_some_and(|first| first.key.first() == Some(&b'$')),
        _ => false,
    };
    if is_expression { Ok(OwnedValue::new(value)) } else { fail(40202, "groupBy must be a path or an expression") }
}

fn constant(value: Value<'_>, code: i32, context: &mut ParseContext) -> Result<OwnedValue> {
    let expression = Expression::parse(value, &mut context.expressions)?;
    match expression.as_constant() {
        Some(Some(value)) => Ok(OwnedValue::new(value)),
        _ => fail(code, "boundaries and default must be constant"),
    }
}

fn check_boundaries(boundaries: &[OwnedValue], default: Option<&OwnedValue>) -> Result<()> {
    let (Some(first), Some(last), true) = (boundaries.first(), boundaries.last(), boundaries.len() >= 2) else {
        return fail(40192, "needs at least two boundaries");
    };
    for pair in boundaries.windows(2) {
        let [low, high] = pair else {
            continue;
        };
        if low.kind().rank() != high.kind().rank() {
            return fail(40193, "boundaries must be of one type");
        }
        if order::compare(&low.value(), &high.value()).is_ge() {
            return fail(40194, "boundaries must ascend");
        }
    }
    if let Some(default) = default {
        let inside = order::compare(&default.value(), &first.value()).is_ge()
            && order::compare(&default.value(), &last.value()).is_lt();
        if inside {
            return fail(40199, "default must lie outside the boundaries");
        }
    }
    Ok(())
}

/// The expression that gives a document's bucket: a `$switch` over the ranges.
fn switch(group_by: OwnedValue, boundaries: &[OwnedValue], default: Option<&OwnedValue>) -> DocBuf {
    let mut builder = Builder::new();
    let switch = builder.open_document("$switch");
    let branches = builder.open_array("branches");
    let mut digits = [0; 20];
    for (index, pair) in boundaries.windows(2).enumerate() {
        let [low, high] = pair else {
            continue;
        };
        let branch = builder.open_document(bindery_document::build::index_key(index, &mut digits));
        let case = builder.open_document("case");
        let and = builder.open_array("$and");
        for (place, operator, bound) in [("0", "$gte", low), ("1", "$lt", high)] {
            let comparison = builder.open_document(place);
            let operands = builder.open_array(operator);
            builder.append("0", group_by.value());
            append_literal("1", bound, &mut builder);
            builder.close(operands);
            builder.close(comparison);
        }
        builder.close(and);
        builder.close(case);
        append_literal("then", low, &mut builder);
        builder.close(branch);
    }
    builder.close(branches);
    if let Some(default) = default {
        append_literal("default", default, &mut builder);
    }
    builder.close(switch);
    builder.finish()
}

fn append_literal(key: &str, value: &OwnedValue, builder: &mut Builder) {
    let literal = builder.open_document(key);
    builder.append("$literal", value.value());
    builder.close(literal);
}
