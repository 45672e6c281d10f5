//! The stages, compiled.

use std::sync::Arc;

use bindery_document::Result;

use super::count::CountStream;
use super::limit::{Limit, Skip};
use super::{Environment, Group, Match, Project, ReplaceRoot, Sort, Stream, Unwind, unshared};

/// A compiled stage. Cloning one shares it.
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
        }
    }

    pub(super) fn open(&self, input: Box<dyn Stream>, env: &Environment) -> Result<Box<dyn Stream>> {
        Ok(match self {
            Stage::Match(stage) => Arc::clone(stage).open(input, env),
            Stage::Project(stage) => Arc::clone(stage).open(input, env),
            Stage::Limit(left) => Box::new(Limit { input, left: *left }),
            Stage::Skip(left) => Box::new(Skip { input, left: *left }),
            Stage::Sort(stage) => Arc::clone(stage).open(input, env),
            Stage::Count(name) => {
                let name = (&**name).into();
                Box::new(CountStream { name, input: Some(input), env: env.clone(), current: None })
            }
            Stage::Group(stage) => Arc::clone(stage).open(input, env),
            Stage::Unwind(stage) => Arc::clone(stage).open(input, env),
            Stage::ReplaceRoot(stage) => Arc::clone(stage).open(input, env),
        })
    }

    pub(super) fn fold(&mut self) -> Result<()> {
        match self {
            Stage::Group(stage) => unshared(stage)?.fold(),
            Stage::ReplaceRoot(stage) => unshared(stage)?.root.fold(),
            _ => Ok(()),
        }
    }
}
