//! From an array of documents to stages: names, places, limits.

use std::sync::Arc;

use bindery_document::{Doc, Element, Error, Result, Value, code};

use super::{Pipeline, Stage, count, filtering, group, limit, project, replace_root, sort, unwind};
use crate::filter::ParseContext;

/// Where a pipeline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A command's pipeline, or a view's.
    Top,
}

/// The most stages that a pipeline may have.
const MAX_STAGES: usize = 1000;

pub(super) fn parse(stages: Doc<'_>, context: &mut ParseContext, place: Place) -> Result<Pipeline> {
    let n_stages = stages.count();
    if n_stages > MAX_STAGES {
        return Err(Error::new(
            code::FAILED_TO_PARSE,
            format!("a pipeline has at most {MAX_STAGES} stages, not {n_stages}"),
        ));
    }
    let mut parsed = Vec::with_capacity(n_stages);
    for element in stages {
        parse_stage(named(&element)?, context, place, &mut parsed)?;
    }
    join_limits(&mut parsed)?;
    Ok(Pipeline { stages: parsed, collation: context.collation.clone() })
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

fn parse_stage(stage: Element<'_>, context: &mut ParseContext, _place: Place, stages: &mut Vec<Stage>) -> Result<()> {
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
        _ => return Err(Error::new(40324, format!("unrecognized pipeline stage name: '{}'", stage.key_str()))),
    });
    Ok(())
}

/// Lets a sort know how many documents are wanted of it.
fn join_limits(stages: &mut [Stage]) -> Result<()> {
    for at in 0..stages.len() {
        let (before, after) = stages.split_at_mut(at + 1);
        let Some(Stage::Sort(sort)) = before.last_mut() else {
            continue;
        };
        let mut skipped = 0u64;
        for stage in after.iter() {
            match stage {
                Stage::Skip(n) => skipped = skipped.saturating_add(*n),
                Stage::Limit(n) => {
                    super::unshared(sort)?.limit = Some(n.saturating_add(skipped));
                    break;
                }
                _ => break,
            }
        }
    }
    Ok(())
}
