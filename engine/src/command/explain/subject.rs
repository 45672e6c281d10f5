//! What is explained: a command's question, and what the command does with the answers.

use bindery_document::{Doc, Error, Result, code};

use super::super::args::Args;
use super::super::find::FindArgs;
use super::super::{Request, count, delete, distinct, find, find_and_modify, update};
use crate::execute::Question;

/// A command that asks a question.
pub(super) struct Subject<'a> {
    pub(super) question: Question<'a>,
    pub(super) top: Top<'a>,
}

/// What runs on top of the plan.
pub(super) enum Top<'a> {
    /// Documents are given.
    Nothing,
    /// They are counted.
    Count,
    /// The values of this path are collected.
    Distinct(&'a str),
    /// They would be changed.
    Write(Box<Write<'a>>),
}

/// What would be changed, and what given back.
pub(super) struct Write<'a> {
    /// The update; a deletion without.
    pub(super) update: Option<update::Statement<'a>>,
    /// Of `findAndModify`, whether the new version is asked for.
    pub(super) gives_new: Option<bool>,
    /// Of `findAndModify`, in which shape it is given back.
    pub(super) fields: Option<Doc<'a>>,
}

impl<'a> Subject<'a> {
    /// Reads the request's command, whose name is given.
    ///
    /// # Errors
    /// What the command says of its arguments; 59 for an unknown one, 20 for one without a plan, 16 for several
    /// statements.
    pub(super) fn of(name: &str, request: &Request<'a>) -> Result<Subject<'a>> {
        let command = request.command;
        let plain = |question, top| Ok(Subject { question, top });
        match name {
            "find" => plain(FindArgs::parse(command)?.question, Top::Nothing),
            "count" => {
                let args = Args::of_command("count", command, &count::FIELDS)?;
                let mut question = Question::new(args.document("query")?.unwrap_or(bindery_document::doc::EMPTY));
                question.limit = count::limit(&args)?;
                question.skip = args.count("skip")?.unwrap_or(0);
                question.hint = find::hint(&args)?;
                question.collation = args.document("collation")?;
                plain(question, Top::Count)
            }
            "distinct" => {
                let args = Args::of_command("distinct", command, &distinct::FIELDS)?;
                args.required("key")?;
                let key = args.string("key")?.unwrap_or_default();
                distinct::check_path(key)?;
                let mut question = Question::new(args.document("query")?.unwrap_or(bindery_document::doc::EMPTY));
                question.collation = args.document("collation")?;
                plain(question, Top::Distinct(key))
            }
            "delete" => {
                let args = Args::of_command("delete", command, &delete::FIELDS)?;
                let statement = only(delete::statements(&args)?)?;
                let write = Write { update: None, gives_new: None, fields: None };
                plain(statement.question, Top::Write(Box::new(write)))
            }
            "update" => {
                let args = Args::of_command("update", command, &update::FIELDS)?;
                let statement = only(update::statements(&args)?)?;
                let mut question = statement.question;
                question.limit = (!statement.multi).then_some(1);
                let write = Write { update: Some(statement), gives_new: None, fields: None };
                plain(question, Top::Write(Box::new(write)))
            }
            "findAndModify" | "findandmodify" => {
                let args = Args::of_command("findAndModify", command, &find_and_modify::FIELDS)?;
                let arguments = find_and_modify::parse(&args)?;
                let question = arguments.statement.question;
                let (new, fields) = (arguments.new, arguments.fields);
                let update = (!arguments.remove).then_some(arguments.statement);
                plain(question, Top::Write(Box::new(Write { update, gives_new: Some(new), fields })))
            }
            known if super::super::is_command(known) => {
                Err(Error::new(code::ILLEGAL_OPERATION, format!("Cannot explain cmd: {known}")))
            }
            unknown => {
                Err(Error::new(code::COMMAND_NOT_FOUND, format!("Explain failed due to unknown command: {unknown}")))
            }
        }
    }
}

fn only<T>(mut statements: Vec<T>) -> Result<T> {
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(Error::new(code::INVALID_LENGTH, "explained write batches must be of size 1")),
    }
}

impl Write<'_> {
    /// The server's name of the stage.
    pub(super) fn name(&self) -> &'static str {
        if self.update.is_some() { "UPDATE" } else { "DELETE" }
    }

    /// Whether a document would be made if none matches.
    pub(super) fn upserts(&self) -> bool {
        self.update.as_ref().is_some_and(|statement| statement.upsert)
    }
}
