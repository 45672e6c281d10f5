//! `delete`.

use bindery_document::{Builder, Error, Result, code};

use super::args::Args;
use super::statements::{WriteErrors, check_batch_size, check_statement_ids, is_ordered};
use super::{Request, Target, find, not_on_a_view};
use crate::execute::{Question, matching_records};
use crate::layout;
use crate::trace::Cx;
use crate::write;

pub(super) const FIELDS: [&str; 6] = ["deletes", "ordered", "let", "bypassDocumentValidation", "stmtId", "stmtIds"];

/// One statement, read but not compiled.
pub(super) struct Statement<'a> {
    pub(super) question: Question<'a>,
    one: bool,
}

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("delete", request.command, &FIELDS)?;
    let name = request.writable_name()?;
    let ordered = is_ordered(&args)?;
    let statements = statements(&args)?;

    let mut errors = WriteErrors::default();
    let mut deleted = 0i64;
    for (position, statement) in statements.iter().enumerate() {
        match delete(request, name, statement, cx) {
            Ok(count) => deleted += count,
            Err(error) => {
                errors.push(position, error);
                if ordered {
                    break;
                }
            }
        }
    }
    let mut reply = Builder::new();
    reply.append("n", i32::try_from(deleted).unwrap_or(i32::MAX));
    errors.show(&mut reply);
    Ok(reply)
}

/// The statements of a command.
///
/// # Errors
/// What is wrong with any of them, 16 for none or too many.
pub(super) fn statements<'a>(args: &Args<'a>) -> Result<Vec<Statement<'a>>> {
    let variables = args.document("let")?;
    let list = args.required_documents("deletes")?;
    check_batch_size(list.len())?;
    check_statement_ids(args, list.len())?;
    let mut statements = Vec::new();
    for statement in list {
        let mut statement =
            parse(&Args::of_statement("delete.deletes", statement, &["q", "limit", "collation", "hint"])?)?;
        statement.question.variables = variables;
        statements.push(statement);
    }
    Ok(statements)
}

fn parse<'a>(args: &Args<'a>) -> Result<Statement<'a>> {
    let mut question = Question::new(args.required_document("q")?);
    question.collation = args.document("collation")?;
    question.hint = find::hint(args)?;
    let limit = args.required_or_null("limit")?;
    let one = match limit.as_f64() {
        // What is no number is no limit.
        None | Some(0.0) => false,
        Some(1.0) => true,
        _ => return Err(Error::new(code::FAILED_TO_PARSE, "The limit field in delete objects must be 0 or 1.")),
    };
    if one {
        question.limit = Some(1);
    }
    Ok(Statement { question, one })
}

fn delete(request: &Request<'_>, name: &str, statement: &Statement<'_>, cx: &mut Cx<'_>) -> Result<i64> {
    let collection = match request.target(name) {
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Absent => {
            statement.question.compile(&request.server.scope(), None)?;
            return Ok(0);
        }
        Target::Layout(collection) => return layout::delete(request, &collection, &statement.question, cx),
        Target::Collection(collection) => collection,
    };
    let mut guard = collection.lock_for_writing();
    let found = matching_records(request.server, &guard, &statement.question, cx)?;
    let mut count = 0;
    for record in found.records {
        cx.step()?;
        write::delete(&mut guard, record, cx)?;
        count += 1;
        if statement.one {
            return Ok(count);
        }
    }
    found.failure.map_or(Ok(count), Err)
}
