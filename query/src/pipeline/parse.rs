//! From an array of documents to stages: names, places, limits.

use std::sync::Arc;

use bindery_document::{Doc, Element, Error, Result, Value, code};

use super::{
    Pipeline, Stage, bucket, bucket_auto, count, densify, documents, facet, fill, filtering, graph_lookup, group,
    limit, lookup, merge, out, project, redact, replace_root, sample, set_window_fields, sort, sort_by_count,
    union_with, unwind,
};
use crate::expression;
use crate::filter::ParseContext;

/// Where a pipeline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A command's pipeline, or a view's.
    Top,
    /// Inside `$lookup`.
    Lookup,
    /// Inside `$unionWith`.
    Union,
    /// Inside `$facet`.
    Facet,
}

/// The most stages that a pipeline may have.
const MAX_STAGES: usize = 1000;

pub(super) fn parse(stages: Doc<'_>, context: &mut ParseContext, place: Place) -> Result<Pipeline> {
    match place {
        Place::Top => parse_stages(stages, context, place),
        Place::Facet | Place::Lookup | Place::Union => {
            expression::ParseContext::inside_pipeline(context, |context| parse_stages(stages, context, place))
        }
    }
}

fn parse_stages(stages: Doc<'_>, context: &mut ParseContext, place: Place) -> Result<Pipeline> {
    let n_stages = stages.count();
    if n_stages > MAX_STAGES {
        return Err(Error::new(
            code::FAILED_TO_PARSE,
            format!("a pipeline has at most {MAX_STAGES} stages, not {n_stages}"),
        ));
    }
    let (mut parsed, mut origins) = (Vec::with_capacity(n_stages), Vec::with_capacity(n_stages));
    let mut n_ported = None;
    for (number, element) in stages.iter().enumerate() {
        context.expressions.watch_ported();
        parse_stage(named(&element)?, context, place, &mut parsed)?;
        if !context.expressions.is_ported() {
            n_ported = n_ported.or(Some(origins.len()));
        }
        origins.resize(parsed.len(), number);
    }
    for (index, element) in stages.iter().enumerate() {
        check_place(named(&element)?.key_str(), place, index, n_stages)?;
    }
    if place == Place::Top {
        let n_ported = n_ported.unwrap_or(parsed.len());
        group::pushed_down::mark(&mut parsed, n_ported)?;
    }
    Ok(Pipeline { stages: parsed, origins, collation: context.collation.clone(), is_ordered: false })
}

/// Checks the name of a collection that a stage reads.
///
/// # Errors
/// 73 for one that no collection can have.
pub(super) fn check_collection(name: &str) -> Result<()> {
    if name.is_empty() || name.contains('\0') {
        return Err(Error::new(code::INVALID_NAMESPACE, "a collection's name must not be empty or hold zero bytes"));
    }
    Ok(())
}

/// Checks the argument of `$collStats`.
///
/// # Errors
/// 14 for fields of wrong types, 31170 for a `count` that asks for more, 51024 for a scale below 1, 40415 for unknown
/// fields.
fn check_coll_stats(spec: Doc<'_>) -> Result<()> {
    let wrong = |code: i32, field: &Element<'_>, why: &str| {
        Err(Error::new(code, format!("$collStats: '{}' {why}", field.key_str())))
    };
    for field in spec {
        let asked = match (field.key, field.value()) {
            (b"count" | b"storageStats" | b"latencyStats" | b"queryExecStats", Value::Document(asked)) => asked,
            (b"count" | b"storageStats" | b"latencyStats" | b"queryExecStats", Value::Null | Value::Undefined) => {
                continue;
            }
            (b"count" | b"storageStats" | b"latencyStats" | b"queryExecStats", _) => {
                return wrong(code::TYPE_MISMATCH, &field, "must be a document");
            }
            _ => return wrong(40415, &field, "is not known"),
        };
        if field.key == b"count" && !asked.is_empty() {
            return wrong(31170, &field, "must be empty");
        }
        match asked.get("scale").filter(|_| field.key == b"storageStats") {
            None | Some(Value::Null | Value::Undefined) => {}
            Some(scale) => match scale.as_f64() {
                None => return wrong(code::TYPE_MISMATCH, &field, "needs a number as 'scale'"),
                Some(scale) if scale.is_nan() || scale < 1.0 => {
                    return wrong(51024, &field, "needs a scale of 1 and more");
                }
                Some(_) => {}
            },
        }
    }
    Ok(())
}

/// The one field of a stage.
fn named<'a>(element: &Element<'a>) -> Result<Element<'a>> {
    let Value::Document(document) = element.value() else {
        let found = element.kind.alias();
        return Err(Error::new(code::TYPE_MISMATCH, format!("a pipeline stage must be a document, not {found}")));
    };
    match (document.first(), document.count()) {
        (Some(stage), 1) => Ok(stage),
        _ => Err(Error::new(40323, "a pipeline stage must have exactly one field")),
    }
}

/// Checks whether a stage may stand where it stands.
fn check_place(name: &str, place: Place, index: usize, n_stages: usize) -> Result<()> {
    let is_output = matches!(name, "$out" | "$merge");
    let is_source = matches!(name, "$documents" | "$indexStats" | "$collStats" | "$planCacheStats");
    match place {
        Place::Facet if is_output || is_source || name == "$facet" => {
            return Err(Error::new(40600, format!("{name} is not allowed inside $facet")));
        }
        Place::Lookup if is_output => return Err(Error::new(51047, format!("{name} is not allowed inside $lookup"))),
        Place::Union if is_output => return Err(Error::new(31441, format!("{name} is not allowed inside $unionWith"))),
        _ => {}
    }
    if is_source && index > 0 {
        return Err(Error::new(40602, format!("{name} must be the first stage")));
    }
    if is_output && index + 1 < n_stages {
        return Err(Error::new(40601, format!("{name} must be the last stage")));
    }
    Ok(())
}

fn parse_stage(stage: Element<'_>, context: &mut ParseContext, place: Place, stages: &mut Vec<Stage>) -> Result<()> {
    let argument = stage.value();
    stages.push(match stage.key {
        b"$match" => Stage::Match(Arc::new(filtering::parse(argument, context)?)),
        b"$project" => Stage::Project(Arc::new(project::parse_project(argument, context)?)),
        b"$addFields" => Stage::Project(Arc::new(project::parse_add_fields("$addFields", argument, context)?)),
        b"$set" => Stage::Project(Arc::new(project::parse_add_fields("$set", argument, context)?)),
        b"$unset" => Stage::Project(Arc::new(project::parse_unset(argument)?)),
        b"$limit" => Stage::Limit(limit::parse_limit(argument)?),
        b"$skip" => Stage::Skip(limit::parse_skip(argument)?),
        b"$sort" => Stage::Sort(Arc::new(sort::parse(argument, context)?)),
        b"$count" => Stage::Count(Arc::from(&*count::parse(argument)?)),
        b"$group" => Stage::Group(Arc::new(group::parse(argument, context)?)),
        b"$unwind" => Stage::Unwind(Arc::new(unwind::parse(argument)?)),
        b"$replaceRoot" => Stage::ReplaceRoot(Arc::new(replace_root::parse_replace_root(argument, context)?)),
        b"$replaceWith" => Stage::ReplaceRoot(Arc::new(replace_root::parse_replace_with(argument, context)?)),
        b"$lookup" => Stage::Lookup(Arc::new(lookup::parse(argument, context)?)),
        b"$graphLookup" => Stage::GraphLookup(Arc::new(graph_lookup::parse(argument, context)?)),
        b"$unionWith" => Stage::UnionWith(Arc::new(union_with::parse(argument, context)?)),
        b"$facet" if place == Place::Facet => {
            return Err(Error::new(40600, "$facet is not allowed inside $facet"));
        }
        b"$facet" => Stage::Facet(Arc::new(facet::parse(argument, context)?)),
        b"$bucketAuto" => Stage::BucketAuto(Arc::new(bucket_auto::parse(argument, context)?)),
        b"$bucket" => {
            stages.extend(bucket::parse(argument, context)?);
            return Ok(());
        }
        b"$sortByCount" => {
            stages.extend(sort_by_count::parse(argument, context)?);
            return Ok(());
        }
        b"$setWindowFields" => Stage::SetWindowFields(Arc::new(set_window_fields::parse(argument, context)?)),
        b"$fill" => {
            stages.extend(fill::parse(argument, context)?);
            return Ok(());
        }
        b"$densify" => Stage::Densify(Arc::new(densify::parse(argument)?)),
        b"$sample" => Stage::Sample(sample::parse(argument)?),
        b"$redact" => Stage::Redact(Arc::new(redact::parse(argument, context)?)),
        b"$documents" => Stage::Documents(Arc::new(documents::parse(argument, context)?)),
        b"$indexStats" => match argument {
            Value::Document(spec) if spec.is_empty() => Stage::IndexStats,
            _ => return Err(Error::new(28803, "$indexStats takes an empty document")),
        },
        b"$collStats" => match argument {
            Value::Document(spec) => {
                check_coll_stats(spec)?;
                Stage::CollStats(Arc::new(spec.into()))
            }
            _ => return Err(Error::new(5_447_000, "$collStats takes a document")),
        },
        b"$planCacheStats" => Stage::PlanCacheStats,
        b"$out" => Stage::Out(Arc::new(out::parse(argument)?)),
        b"$merge" => Stage::Merge(Arc::new(merge::parse(argument, context)?)),
        b"$changeStream" => return Err(Error::new(40573, "$changeStream needs a replica set, which is not supported")),
        b"$geoNear" if place == Place::Facet => {
            return Err(Error::new(40600, "$geoNear is not allowed inside $facet"));
        }
        b"$geoNear" if !stages.is_empty() => return Err(Error::new(40603, "$geoNear must be the first stage")),
        _ => return Err(Error::new(40324, format!("unrecognized pipeline stage name: '{}'", stage.key_str()))),
    });
    Ok(())
}
