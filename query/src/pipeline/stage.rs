//! The stages, compiled.

use std::sync::Arc;

use bindery_document::{DocBuf, Result, Value};

use super::count::{Count, CountStream};
use super::limit::{Limit, Skip};
use super::sample::Sample;
use super::{
    BucketAuto, Densify, Environment, Facet, GraphLookup, Group, Lookup, Match, Merge, Out, Project, Redact,
    ReplaceRoot, SetWindowFields, Sort, SpelledOut, Stream, UnionWith, Unwind, unshared,
};
use crate::projection::Rest;

/// A compiled stage. Cloning one shares it. `$bucket` and `$sortByCount` are a group and a sort each.
#[derive(Clone, Debug)]
pub enum Stage {
    /// `$match`
    Match(Arc<Match>),
    /// `$project`, `$addFields`, `$set`, `$unset`
    Project(Arc<Project>),
    /// `$limit`
    Limit(u64),
    /// `$skip`
    Skip(u64),
    /// `$sort`
    Sort(Arc<Sort>),
    /// `$count`, with the name of its field
    Count(Arc<str>),
    /// `$group`
    Group(Arc<Group>),
    /// `$unwind`
    Unwind(Arc<Unwind>),
    /// `$replaceRoot`, `$replaceWith`
    ReplaceRoot(Arc<ReplaceRoot>),
    /// `$lookup`
    Lookup(Arc<Lookup>),
    /// `$graphLookup`
    GraphLookup(Arc<GraphLookup>),
    /// `$unionWith`
    UnionWith(Arc<UnionWith>),
    /// `$facet`
    Facet(Arc<Facet>),
    /// `$bucketAuto`
    BucketAuto(Arc<BucketAuto>),
    /// `$setWindowFields`
    SetWindowFields(Arc<SetWindowFields>),
    /// `$densify`
    Densify(Arc<Densify>),
    /// `$sample`, with its size
    Sample(u64),
    /// `$redact`
    Redact(Arc<Redact>),
    /// `$documents`
    Documents(Arc<SpelledOut>),
    /// `$indexStats`: the engine makes the documents
    IndexStats,
    /// `$collStats` with its argument: the engine makes the document
    CollStats(Arc<DocBuf>),
    /// `$planCacheStats`: the engine makes the documents
    PlanCacheStats,
    /// `$out`: the engine carries it out
    Out(Arc<Out>),
    /// `$merge`: the engine carries it out
    Merge(Arc<Merge>),
}

impl Stage {
    /// The stage's name as MongoDB writes it.
    pub fn name(&self) -> &'static str {
        match self {
            Stage::Match(_) => "$match",
            Stage::Project(stage) => stage.name,
            Stage::Limit(_) => "$limit",
            Stage::Skip(_) => "$skip",
            Stage::Sort(_) => "$sort",
            Stage::Count(_) => "$count",
            Stage::Group(_) => "$group",
            Stage::Unwind(_) => "$unwind",
            Stage::ReplaceRoot(_) => "$replaceRoot",
            Stage::Lookup(_) => "$lookup",
            Stage::GraphLookup(_) => "$graphLookup",
            Stage::UnionWith(_) => "$unionWith",
            Stage::Facet(_) => "$facet",
            Stage::BucketAuto(_) => "$bucketAuto",
            Stage::SetWindowFields(_) => "$setWindowFields",
            Stage::Densify(_) => "$densify",
            Stage::Sample(_) => "$sample",
            Stage::Redact(_) => "$redact",
            Stage::Documents(_) => "$documents",
            Stage::IndexStats => "$indexStats",
            Stage::CollStats(_) => "$collStats",
            Stage::PlanCacheStats => "$planCacheStats",
            Stage::Out(_) => "$out",
            Stage::Merge(_) => "$merge",
        }
    }

    /// What a stage that tells of a collection asks for.
    pub fn asked(&self) -> Value<'_> {
        match self {
            Stage::CollStats(asked) => Value::Document(asked.doc()),
            _ => Value::Document(bindery_document::doc::EMPTY),
        }
    }

    pub(super) fn open(&self, input: Box<dyn Stream>, env: &Environment) -> Result<Box<dyn Stream>> {
        Ok(match self {
            Stage::Match(stage) => Arc::clone(stage).open(input, env),
            Stage::Project(stage) => super::project::open(vec![Arc::clone(stage)], false, input, env),
            Stage::Limit(left) => Box::new(Limit { input, left: *left }),
            Stage::Skip(left) => Box::new(Skip { input, left: *left }),
            Stage::Sort(stage) => Arc::clone(stage).open(input, env),
            Stage::Count(name) => {
                let count = Count { name: Arc::clone(name) };
                Box::new(CountStream { count, input: Some(input), env: env.clone(), current: None })
            }
            Stage::Group(stage) => Arc::clone(stage).open(input, env),
            Stage::Unwind(stage) => Arc::clone(stage).open(input, env),
            Stage::ReplaceRoot(stage) => Arc::clone(stage).open(input, env),
            Stage::Lookup(stage) => Arc::clone(stage).open(input, env),
            Stage::GraphLookup(stage) => Arc::clone(stage).open(input, env),
            Stage::UnionWith(stage) => Arc::clone(stage).open(input, env),
            Stage::Facet(stage) => Arc::clone(stage).open(input, env),
            Stage::BucketAuto(stage) => Arc::clone(stage).open(input, env),
            Stage::SetWindowFields(stage) => Arc::clone(stage).open(input, env),
            Stage::Densify(stage) => Arc::clone(stage).open(input, env),
            Stage::Sample(size) => Box::new(Sample {
                input: Some(input),
                size: *size,
                env: env.clone(),
                chosen: Vec::new().into_iter(),
                current: None,
            }),
            Stage::Redact(stage) => Arc::clone(stage).open(input, env),
            Stage::Documents(stage) => Arc::clone(stage).open(env)?,
            // What these give is the input, and where the documents go is not the stream's business.
            Stage::IndexStats | Stage::CollStats(_) | Stage::PlanCacheStats | Stage::Out(_) | Stage::Merge(_) => input,
        })
    }

    /// Whether it adds fields to the documents that it reads, or may lead to a stage that does.
    pub(super) fn adds_fields(&self) -> bool {
        match self {
            Stage::Project(project) => project.projection.rest() != Rest::Dropped,
            Stage::Unwind(unwind) => unwind.index.is_some(),
            Stage::Lookup(_) | Stage::GraphLookup(_) | Stage::SetWindowFields(_) | Stage::Facet(_) => true,
            _ => false,
        }
    }

    pub(super) fn fold(&mut self) -> Result<()> {
        match self {
            Stage::Project(stage) => unshared(stage)?.projection.fold(),
            Stage::Group(stage) => unshared(stage)?.fold(),
            Stage::ReplaceRoot(stage) => unshared(stage)?.root.fold(),
            Stage::Lookup(stage) => unshared(stage)?.fold(),
            Stage::GraphLookup(stage) => unshared(stage)?.fold(),
            Stage::UnionWith(stage) => unshared(stage)?.pipeline.finish(),
            Stage::Facet(stage) => unshared(stage)?.fold(),
            Stage::BucketAuto(stage) => unshared(stage)?.fold(),
            Stage::SetWindowFields(stage) => unshared(stage)?.fold(),
            Stage::Redact(stage) => unshared(stage)?.decision.fold(),
            Stage::Documents(stage) => unshared(stage)?.documents.fold(),
            _ => Ok(()),
        }
    }
}
