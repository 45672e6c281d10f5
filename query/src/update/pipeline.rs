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
use bindery_document::{Doc, Element, Error, Result, Value, code};

use super::Options;
use crate::collation::Collation;
use crate::expression::Scope;
use crate::filter::ParseContext;
use crate::pipeline::{Pipeline, Stage};
use crate::projection::{Input, Metadata, Slotted};

/// MongoDB's code for a stage of a name that it does not have.
const UNKNOWN_STAGE: i32 = 40324;

/// MongoDB's code for a stage that has not one field.
const STAGE_FIELDS: i32 = 40323;

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

/// Checks that every element of a pipeline is a document. A command does this for all its pipelines before it runs
/// anything.
///
/// # Errors
/// [`code::TYPE_MISMATCH`].
pub fn check_stages_are_documents(pipeline: Doc<'_>) -> Result<()> {
    pipeline.iter().try_for_each(|element| match element.value() {
        Value::Document(_) => Ok(()),
        _ => Err(no_document(&element)),
    })
}

fn no_document(element: &Element<'_>) -> Error {
    Error::new(code::TYPE_MISMATCH, format!("a pipeline stage must be a document, not {}", element.kind.alias()))
}

/// Checks that every element of a pipeline is a document of one known stage. A command does this for all its
/// pipelines after it has run them.
///
/// # Errors
/// [`code::TYPE_MISMATCH`] for what is no document, 40323 if it has not one field, 40324 for an unknown name.
pub fn check_stage_names(pipeline: Doc<'_>) -> Result<()> {
    for element in pipeline {
        let stage = stage(&element)?;
        if !STAGES.contains(&stage.key_str()) {
            return Err(Error::new(UNKNOWN_STAGE, format!("'{}' is no pipeline stage", stage.key_str())));
        }
    }
    Ok(())
}

/// The one field of a stage.
fn stage<'a>(element: &Element<'a>) -> Result<Element<'a>> {
    let Value::Document(document) = element.value() else {
        return Err(no_document(element));
    };
    match (document.first(), document.count()) {
        (Some(stage), 1) => Ok(stage),
        _ => Err(Error::new(STAGE_FIELDS, "a pipeline stage must have exactly one field")),
    }
}

/// A compiled pipeline.
#[derive(Debug)]
pub(super) struct UpdatePipeline(Pipeline);

impl UpdatePipeline {
    /// Compiles the stages.
    ///
    /// # Errors
    /// As [`Pipeline::parse`]; [`code::INVALID_OPTIONS`] for a stage that an update must not have.
    pub(super) fn parse(stages: Doc<'_>, context: &mut ParseContext) -> Result<UpdatePipeline> {
        let pipeline = Pipeline::parse_unfolded(stages, context)?;
        match pipeline.stages().iter().find(|stage| !matches!(stage, Stage::Project(_) | Stage::ReplaceRoot(_))) {
            None => Ok(UpdatePipeline(pipeline)),
            Some(stage) => Err(Error::new(
                code::INVALID_OPTIONS,
                format!("the stage {} is not allowed in an update", stage.name()),
            )),
        }
    }

    /// Writes what the stages make of a document.
    ///
    /// # Errors
    /// Those of expressions; 40228 when a new root is no document.
    pub(super) fn apply(&self, doc: Doc<'_>, options: &Options, out: &mut Vec<u8>) -> Result<()> {
        let strings = options.collation.as_ref().map(Collation::string_order);
        let strings = strings.as_deref();
        let mut document = Slotted::new(doc);
        for stage in self.0.stages() {
            let scope = Scope::new(EMPTY).with_strings(strings);
            match stage {
                Stage::Project(stage) => {
                    let input = Input { scope, position: None, metadata: Metadata::default() };
                    document.project(&stage.projection, &input)?;
                }
                Stage::ReplaceRoot(stage) => {
                    let root = stage.new_root(&scope.with_root(document.doc()))?;
                    document.replace(root.doc());
                }
                // Refused when the pipeline was parsed.
                _ => {}
            }
        }
        out.clear();
        out.extend_from_slice(document.doc().as_bytes());
        Ok(())
    }
}
