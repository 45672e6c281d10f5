//! `$fill`: values for null and missing fields. It is parsed into `$setWindowFields` and `$addFields`.

use std::sync::Arc;

use bindery_document::{Builder, Doc, Error, Result, Value, code};

use super::{Stage, project, set_window_fields};
use crate::filter::ParseContext;

/// MongoDB's code for a null in place of an array.
const NO_ARRAY: i32 = 10_065;

fn fail<T>(code: i32, message: &str) -> Result<T> {
    Err(Error::new(code, format!("$fill: {message}")))
}

/// Parses the stage.
///
/// # Errors
/// 9, 14, 10065, 40415, 6050200 to 6050203 for malformed fields, 605001 for a linear fill without an order; those of the
/// stages that it becomes.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<Vec<Stage>> {
    let Value::Document(spec) = argument else {
        return fail(code::FAILED_TO_PARSE, "takes a document");
    };
    let (mut partition_by, mut partition_fields, mut sort_by, mut output) = (None, None, None, None);
    for element in spec {
        match (element.key, element.value()) {
            // A null is passed over, except in place of an array.
            (b"partitionBy" | b"sortBy" | b"output", Value::Null | Value::Undefined) => {}
            (b"partitionByFields", Value::Null | Value::Undefined) => {
                return fail(NO_ARRAY, "'partitionByFields' must be an array");
            }
            (b"partitionBy", value @ Value::Document(_)) => partition_by = Some(value),
            (b"partitionByFields", Value::Array(fields)) => {
                let fits = |value: Value<'_>| matches!(value, Value::String(_) | Value::Null | Value::Undefined);
                if !fields.iter().all(|field| fits(field.value())) {
                    return fail(code::TYPE_MISMATCH, "'partitionByFields' must be strings");
                }
                partition_fields = Some(fields);
            }
            (b"sortBy", Value::Document(by)) => sort_by = Some(by),
            (b"output", Value::Document(fields)) => output = Some(fields),
            (b"partitionBy" | b"partitionByFields" | b"sortBy" | b"output", _) => {
                return fail(code::TYPE_MISMATCH, &format!("'{}' has a wrong type", element.key_str()));
            }
            _ => return fail(40415, &format!("unknown field '{}'", element.key_str())),
        }
    }
    let Some(output) = output else {
        return fail(40414, "needs 'output'");
    };
    if output.is_empty() {
        return fail(6_050_203, "'output' must not be empty");
    }
    if partition_by.is_some() && partition_fields.is_some() {
        return fail(code::TYPE_MISMATCH, "takes 'partitionBy' or 'partitionByFields', not both");
    }
    let (methods, values) = read_output(output)?;
    let mut stages = Vec::new();
    if !methods.is_empty() {
        let spec = window_spec(partition_by, partition_fields, sort_by, &methods)?;
        stages.push(Stage::SetWindowFields(Arc::new(set_window_fields::parse(Value::Document(spec.doc()), context)?)));
    }
    if !values.is_empty() {
        let mut builder = Builder::new();
        for (name, value) in &values {
            let open = builder.open_document(name);
            let operands = builder.open_array("$ifNull");
            builder.append("0", Value::from(format!("${name}").as_str()));
            builder.append("1", *value);
            builder.close(operands);
            builder.close(open);
        }
        let spec = builder.finish();
        let fields = project::parse_add_fields("$addFields", Value::Document(spec.doc()), context)?;
        stages.push(Stage::Project(Arc::new(fields)));
    }
    Ok(stages)
}

type Named<'a, T> = Vec<(&'a str, T)>;

/// The fields by method, and those by value.
fn read_output(output: Doc<'_>) -> Result<(Named<'_, &'static str>, Named<'_, Value<'_>>)> {
    let (mut methods, mut values) = (Vec::new(), Vec::new());
    for element in output {
        let Value::Document(field) = element.value() else {
            return fail(6_050_200, &format!("'output.{}' must be a document", element.key_str()));
        };
        let (mut method, mut value) = (None, None);
        for part in field {
            match (part.key, part.value()) {
                (b"method", Value::String(name)) => method = Some(name.as_str()),
                (b"method", Value::Null | Value::Undefined) => {}
                (b"method", _) => return fail(code::TYPE_MISMATCH, "a method must be a string"),
                (b"value", given) => value = Some(given),
                _ => return fail(40415, &format!("unknown field '{}'", part.key_str())),
            }
        }
        match (method, value) {
            (Some(_), Some(_)) => return fail(6_050_201, "a field has a method or a value, not both"),
            (Some("locf"), None) => methods.push((element.key_str(), "$locf")),
            (Some("linear"), None) => methods.push((element.key_str(), "$linearFill")),
            (Some(other), None) => return fail(6_050_202, &format!("unknown method '{other}'")),
            (None, Some(value)) => values.push((element.key_str(), value)),
            (None, None) => {}
        }
    }
    Ok((methods, values))
}

fn window_spec(
    partition_by: Option<Value<'_>>,
    partition_fields: Option<Doc<'_>>,
    sort_by: Option<Doc<'_>>,
    methods: &[(&str, &'static str)],
) -> Result<bindery_document::DocBuf> {
    let mut builder = Builder::new();
    if let Some(partition) = partition_by {
        builder.append("partitionBy", partition);
    }
    if let Some(fields) = partition_fields {
        let open = builder.open_document("partitionBy");
        for field in fields {
            let name = match field.value() {
                Value::String(name) => name,
                Value::Null | Value::Undefined => continue,
                _ => return fail(code::TYPE_MISMATCH, "'partitionByFields' must be strings"),
            };
            builder.append(name.as_bytes(), Value::from(format!("${}", name.as_str()).as_str()));
        }
        builder.close(open);
    }
    if let Some(by) = sort_by {
        builder.append("sortBy", Value::Document(by));
    }
    let output = builder.open_document("output");
    for (name, function) in methods {
        let open = builder.open_document(name);
        builder.append(function, Value::from(format!("${name}").as_str()));
        builder.close(open);
    }
    builder.close(output);
    Ok(builder.finish())
}
