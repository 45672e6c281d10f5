//! Updates by a pipeline: the stages that make one document of one document.
//!
//! | stage | what it does |
//! |---|---|
//! | `$set`, `$addFields` | computes fields |
//! | `$unset` | leaves fields out |
//! | `$project` | keeps, leaves out or computes fields |
//! | `$replaceRoot`, `$replaceWith` | computes the whole document |
//!
//! Each stage sees what the one before has made. The `_id` comes back at the end if a stage dropped it.
//! Fields come in the order written, not in the order of names as with operators.

use bindery_document::doc::EMPTY;
use bindery_document::{Doc, DocBuf, Element, Error, Result, Value, code};

use super::Options;
use crate::expression::{self, Expression, Scope, StringOrder};
use crate::projection::{Language, Projection, Slotted};

/// MongoDB's codes for malformed stages.
mod wrong {
    pub(super) const STAGE_FIELDS: i32 = 40323;
    pub(super) const UNKNOWN_STAGE: i32 = 40324;
    pub(super) const SET_ARGUMENT: i32 = 40272;
    pub(super) const UNSET_ARGUMENT: i32 = 31002;
    pub(super) const UNSET_EMPTY: i32 = 31119;
    pub(super) const UNSET_ITEM: i32 = 31120;
    pub(super) const PROJECT_ARGUMENT: i32 = 15969;
    pub(super) const REPLACE_ROOT_ARGUMENT: i32 = 40229;
    pub(super) const REPLACE_ROOT_UNKNOWN: i32 = 40415;
    pub(super) const REPLACE_ROOT_MISSING: i32 = 40414;
    pub(super) const ROOT_IS_NO_DOCUMENT: i32 = 40228;
}

/// The stages that MongoDB has, whether or not an update may use them.
const STAGES: [&str; 42] = [
    "$addFields",
    "$bucket",
    "$bucketAuto",
    "$changeStream",
    "$collStats",
    "$count",
    "$currentOp",
    "$densify",
    "$documents",
    "$facet",
    "$fill",
    "$geoNear",
    "$graphLookup",
    "$group",
    "$indexStats",
    "$limit",
    "$listLocalSessions",
    "$listSessions",
    "$lookup",
    "$match",
    "$merge",
    "$out",
    "$planCacheStats",
    "$project",
    "$redact",
    "$replaceRoot",
    "$replaceWith",
    "$sample",
    "$search",
    "$searchMeta",
    "$set",
    "$setWindowFields",
    "$skip",
    "$sort",
    "$sortByCount",
    "$unionWith",
    "$unset",
    "$unwind",
    "$listCatalog",
    "$setVariableFromSubPipeline",
    "$shardedDataDistribution",
    "$operationMetrics",
];

/// Checks that every element of a pipeline is a document of one known stage. A command does this for all its
/// pipelines before it runs anything.
///
/// # Errors
/// [`code::TYPE_MISMATCH`] for what is no document, 40323 if it has not one field, 40324 for an unknown name.
pub fn check_stage_names(pipeline: Doc<'_>) -> Result<()> {
    for element in pipeline {
        let stage = stage(&element)?;
        if !STAGES.contains(&stage.key_str()) {
            return Err(Error::new(wrong::UNKNOWN_STAGE, format!("'{}' is no pipeline stage", stage.key_str())));
        }
    }
    Ok(())
}

/// The one field of a stage.
fn stage<'a>(element: &Element<'a>) -> Result<Element<'a>> {
    let Value::Document(document) = element.value() else {
        return Err(Error::new(
            code::TYPE_MISMATCH,
            format!("a pipeline stage must be a document, not {}", element.kind.alias()),
        ));
    };
    match (document.first(), document.count()) {
        (Some(stage), 1) => Ok(stage),
        _ => Err(Error::new(wrong::STAGE_FIELDS, "a pipeline stage must have exactly one field")),
    }
}

/// A compiled pipeline.
#[derive(Debug)]
pub(super) struct Pipeline(Vec<Stage>);

#[derive(Debug)]
enum Stage {
    Project(Box<Projection>),
    ReplaceRoot(Expression),
}

impl Pipeline {
    /// Compiles the stages.
    ///
    /// # Errors
    /// As [`check_stage_names`]; [`code::INVALID_OPTIONS`] for a stage that an update must not have; those of
    /// the stages, of projections and of expressions.
    pub(super) fn parse(
        pipeline: Doc<'_>,
        options: &Options,
        context: &mut expression::ParseContext,
    ) -> Result<Pipeline> {
        check_stage_names(pipeline)?;
        let stages = pipeline.iter().map(|element| parse_stage(stage(&element)?, options, context));
        Ok(Pipeline(stages.collect::<Result<Vec<Stage>>>()?))
    }

    /// Writes what the stages make of a document.
    ///
    /// # Errors
    /// Those of expressions; 40228 when a new root is no document.
    pub(super) fn apply(&self, doc: Doc<'_>, options: &Options, out: &mut Vec<u8>) -> Result<()> {
        let compare = options.collation.clone().map(|collation| move |a: &[u8], b: &[u8]| collation.compare(a, b));
        let strings = compare.as_ref().map(|compare| compare as &StringOrder);
        let mut document = Slotted::new(doc);
        for stage in &self.0 {
            match stage {
                Stage::Project(projection) => {
                    document.project(projection, Scope::new(EMPTY).with_strings(strings))?;
                }
                Stage::ReplaceRoot(expression) => {
                    let root = new_root(expression, Scope::new(document.doc()).with_strings(strings))?;
                    document.replace(root.doc());
                }
            }
        }
        out.clear();
        out.extend_from_slice(document.doc().as_bytes());
        Ok(())
    }
}

fn new_root(expression: &Expression, scope: Scope<'_>) -> Result<DocBuf> {
    let root = expression.evaluate(&scope)?;
    match root.get() {
        Some(Value::Document(root)) => Ok(DocBuf::from(root)),
        other => {
            let found = other.map_or("missing", |value| value.kind().alias());
            Err(Error::new(wrong::ROOT_IS_NO_DOCUMENT, format!("the new root must be a document, but it is {found}")))
        }
    }
}

fn parse_stage(stage: Element<'_>, options: &Options, context: &mut expression::ParseContext) -> Result<Stage> {
    let argument = stage.value();
    let document = |error_code: i32| {
        argument.as_document().ok_or_else(|| {
            Error::new(error_code, format!("{} needs a document, not {}", stage.key_str(), argument.kind().alias()))
        })
    };
    let project = |projection: Projection| Ok(Stage::Project(Box::new(projection)));
    match stage.key {
        b"$set" | b"$addFields" => project(Projection::parse_added_fields(document(wrong::SET_ARGUMENT)?, context)?),
        b"$unset" => project(parse_unset(argument)?),
        b"$project" => {
            let spec = document(wrong::PROJECT_ARGUMENT)?;
            project(Projection::parse(spec, Language::Aggregate, options.collation.as_ref(), context)?)
        }
        b"$replaceWith" => Ok(Stage::ReplaceRoot(Expression::parse(argument, context)?)),
        b"$replaceRoot" => {
            let spec = document(wrong::REPLACE_ROOT_ARGUMENT)?;
            if let Some(other) = spec.iter().find(|field| field.key != b"newRoot") {
                return Err(Error::new(
                    wrong::REPLACE_ROOT_UNKNOWN,
                    format!("$replaceRoot has no field '{}'", other.key_str()),
                ));
            }
            let Some(root) = spec.get("newRoot") else {
                return Err(Error::new(wrong::REPLACE_ROOT_MISSING, "$replaceRoot needs 'newRoot'"));
            };
            Ok(Stage::ReplaceRoot(Expression::parse(root, context)?))
        }
        _ => {
            Err(Error::new(code::INVALID_OPTIONS, format!("the stage {} is not allowed in an update", stage.key_str())))
        }
    }
}

fn parse_unset(argument: Value<'_>) -> Result<Projection> {
    match argument {
        Value::String(path) => Projection::excluding([path.as_str()]),
        Value::Array(paths) if paths.is_empty() => {
            Err(Error::new(wrong::UNSET_EMPTY, "$unset needs at least one field"))
        }
        Value::Array(paths) => {
            let paths = paths
                .iter()
                .map(|path| path.value().as_str().ok_or_else(|| Error::new(wrong::UNSET_ITEM, "$unset needs strings")));
            Projection::excluding(paths.collect::<Result<Vec<&str>>>()?)
        }
        other => Err(Error::new(
            wrong::UNSET_ARGUMENT,
            format!("$unset needs a string or an array of them, not {}", other.kind().alias()),
        )),
    }
}
