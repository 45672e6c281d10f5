//! `update`: statements of a filter and an update, with upsert and multi.

use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Result, Value, code};
use bindery_index::RecordId;
use bindery_query::filter::{Allowed, Filter};
use bindery_query::update::{self, Applied, Changes, Now, Options, Update};

use super::args::Args;
use super::statements::{WriteErrors, check_batch_size, check_statement_ids, is_ordered};
use super::{Request, Target, create, find, insert, not_on_a_view};
use crate::collection::{State, WriteGuard};
use crate::execute::{Question, matching_records};
use crate::layout;
use crate::trace::Cx;
use crate::write::{self, Changed};

/// MongoDB's code for constants of an update that is no pipeline.
const CONSTANTS_WITHOUT_PIPELINE: i32 = 51198;

pub(super) const FIELDS: [&str; 6] = ["updates", "ordered", "bypassDocumentValidation", "let", "stmtId", "stmtIds"];

const STATEMENT_FIELDS: [&str; 9] =
    ["q", "u", "c", "multi", "upsert", "upsertSupplied", "arrayFilters", "collation", "hint"];

/// One statement, read but not compiled.
pub(crate) struct Statement<'a> {
    pub(crate) question: Question<'a>,
    pub(crate) update: Value<'a>,
    pub(crate) array_filters: Vec<Doc<'a>>,
    pub(crate) multi: bool,
    pub(crate) upsert: bool,
}

/// What a statement did.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) matched: u64,
    pub(crate) modified: u64,
    pub(crate) upserted: Option<OwnedValue>,
}

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("update", request.command, &FIELDS)?;
    let name = request.writable_name()?;
    let ordered = is_ordered(&args)?;
    let bypass = args.loose_flag("bypassDocumentValidation")?.unwrap_or(false);
    let statements = statements(&args)?;

    let mut errors = WriteErrors::default();
    let (mut n, mut modified) = (0, 0);
    let mut upserted = Vec::new();
    for (position, statement) in statements.iter().enumerate() {
        let mut outcome = Outcome::default();
        match update_statement(request, name, statement, bypass, &mut outcome, cx) {
            Ok(()) => {
                n += outcome.matched + u64::from(outcome.upserted.is_some());
                modified += outcome.modified;
                upserted.extend(outcome.upserted.map(|id| (position, id)));
            }
            // What a statement did before it failed stays done, but is not counted.
            Err(error) => {
                errors.push(position, request.name_namespace(error, name));
                if ordered {
                    break;
                }
            }
        }
    }
    // MongoDB looks at the stages' names once more when all is done, and then the whole command fails.
    for statement in &statements {
        if let Value::Array(pipeline) = statement.update {
            update::check_stage_names(pipeline)?;
        }
    }
    let mut reply = Builder::new();
    reply.append("n", n as i32);
    errors.show(&mut reply);
    if !upserted.is_empty() {
        let list = reply.open_array("upserted");
        for (i, (position, id)) in upserted.iter().enumerate() {
            let mut digits = [0; 20];
            let entry = reply.open_document(bindery_document::build::index_key(i, &mut digits));
            reply.append("index", *position as i32);
            reply.append("_id", id.value());
            reply.close(entry);
        }
        reply.close(list);
    }
    reply.append("nModified", modified as i32);
    Ok(reply)
}

/// The statements of a command.
///
/// # Errors
/// What is wrong with any of them, 16 for none or too many.
pub(super) fn statements<'a>(args: &Args<'a>) -> Result<Vec<Statement<'a>>> {
    let variables = args.document("let")?;
    let list = args.required_documents("updates")?;
    check_batch_size(list.len())?;
    check_statement_ids(args, list.len())?;
    let mut statements = Vec::new();
    for statement in list {
        let mut statement = parse(&Args::of_statement("update.updates", statement, &STATEMENT_FIELDS)?)?;
        statement.question.variables = variables;
        if let Value::Array(pipeline) = statement.update {
            update::check_stages_are_documents(pipeline)?;
        }
        statements.push(statement);
    }
    Ok(statements)
}

fn parse<'a>(args: &Args<'a>) -> Result<Statement<'a>> {
    let mut question = Question::new(args.required_document("q")?);
    question.collation = args.document("collation")?;
    question.hint = find::hint(args)?;
    question.constants = args.document("c")?;
    let update = args.required_or_null("u")?;
    if !matches!(update, Value::Document(_) | Value::Array(_)) {
        return Err(Error::new(code::FAILED_TO_PARSE, "Update argument must be either an object or an array"));
    }
    Ok(Statement {
        question,
        update,
        array_filters: array_filters(args)?,
        multi: args.flag("multi")?,
        upsert: args.flag("upsert")?,
    })
}

/// The documents of `arrayFilters`.
pub(super) fn array_filters<'a>(args: &Args<'a>) -> Result<Vec<Doc<'a>>> {
    Ok(args.documents("arrayFilters")?.unwrap_or_default())
}

fn update_statement(
    request: &Request<'_>,
    name: &str,
    statement: &Statement<'_>,
    bypass: bool,
    outcome: &mut Outcome,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let collection = match request.target(name) {
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Layout(collection) => {
            return layout::update(request, &collection, statement, bypass, outcome, cx);
        }
        Target::Collection(collection) => collection,
        Target::Absent if statement.upsert => create::open_or_create(request, name)?,
        Target::Absent => {
            Compiled::new(request, statement, None)?;
            return Ok(());
        }
    };
    let mut guard = collection.lock_for_writing();
    let compiled = Compiled::new(request, statement, Some(&guard.snapshot()))?;
    let mut question = statement.question;
    if !statement.multi {
        question.limit = Some(1);
    }
    let found = matching_records(request.server, &guard, &question, cx)?;
    if found.records.is_empty() && found.failure.is_none() && statement.upsert {
        outcome.upserted = Some(compiled.upsert(request, &mut guard, bypass, cx)?.0);
        return Ok(());
    }
    let mut buffer = Vec::new();
    for record_id in found.records {
        cx.step()?;
        let modified = compiled.apply(&mut guard, record_id, bypass, &mut buffer, cx)?;
        outcome.matched += 1;
        outcome.modified += u64::from(modified);
    }
    found.failure.map_or(Ok(()), Err)
}

/// A statement's filter and update, compiled.
pub(crate) struct Compiled {
    filter: Filter,
    /// What the filter describes, where this is not to be seen from its compiled form.
    description: Option<Filter>,
    update: Update,
    now: Now,
}

impl Compiled {
    /// # Errors
    /// What the languages say.
    pub(crate) fn new(request: &Request<'_>, statement: &Statement<'_>, state: Option<&State>) -> Result<Compiled> {
        let scope = request.server.scope();
        let collation = statement.question.collation(state)?;
        let mut context = statement.question.context(&scope, collation.clone())?;
        if statement.upsert {
            context.allowed = Allowed::NoExpressions;
        }
        // What is wrong with the update is reported before what is wrong with the filter.
        let options = Options { collation, multi: statement.multi };
        let update = match (statement.update, statement.question.constants) {
            (Value::Array(pipeline), _) => {
                let mut context = statement.question.context(&scope, options.collation.clone())?;
                Update::parse_pipeline(pipeline, &statement.array_filters, options, &mut context)?
            }
            (_, Some(_)) => {
                return Err(Error::new(
                    CONSTANTS_WITHOUT_PIPELINE,
                    "Constant values may only be specified for pipeline updates",
                ));
            }
            (document, None) => Update::parse(document, &statement.array_filters, options)?,
        };
        let filter = Filter::parse(statement.question.filter, &context)?;
        let description = match &filter {
            Filter::AlwaysFalse if statement.upsert => {
                Some(Filter::parse_as_description(statement.question.filter, &context)?)
            }
            _ => None,
        };
        let now = Now {
            date_ms: scope.now_millis,
            timestamp: ((scope.now_millis / 1000) as u64) << 32 | request.server.next_increment(),
        };
        Ok(Compiled { filter, description, update, now })
    }

    /// Updates a record that matches; says whether it counts as modified. The new version is left in `buffer`.
    ///
    /// # Errors
    /// What the update and the write door say; nothing is changed then.
    pub(super) fn apply(
        &self,
        guard: &mut WriteGuard<'_>,
        record_id: RecordId,
        bypass: bool,
        buffer: &mut Vec<u8>,
        cx: &mut Cx<'_>,
    ) -> Result<bool> {
        let applied = {
            let state = guard.peek();
            let Some(bytes) = state.records.get(record_id, &mut cx.visitor) else {
                return Ok(false);
            };
            self.apply_to(Doc::from_stored(bytes), buffer)?
        };
        if applied.modified {
            let changed = Changed::By(&self.update, applied.changes);
            write::update(guard, record_id, Doc::from_stored(buffer), changed, bypass, cx)?;
        } else if !applied.touched.is_empty() {
            let touched = Changed::By(&self.update, Changes::Paths(applied.touched));
            return Ok(guard.peek().indexes.iter().any(|index| touched.touches(index)));
        }
        Ok(applied.modified)
    }

    /// Updates a document that matches, on its own. The new version is left in `buffer`.
    ///
    /// # Errors
    /// What the update says.
    pub(crate) fn apply_to(&self, document: Doc<'_>, buffer: &mut Vec<u8>) -> Result<Applied> {
        let matched = match self.update.needs_position() {
            true => self.filter.matches_at(document)?.1.map(|position| position as usize),
            false => None,
        };
        self.update.apply(document, matched, self.now, buffer)
    }

    /// Whether the update has a positional `$`, so that what the filter matched in an array counts.
    pub(crate) fn needs_position(&self) -> bool {
        self.update.needs_position()
    }

    /// The document that the filter and the update describe, for an upsert.
    ///
    /// # Errors
    /// What the update says.
    pub(crate) fn new_document(&self) -> Result<DocBuf> {
        self.update.upsert(self.description.as_ref().unwrap_or(&self.filter), self.now)
    }

    /// Inserts the document that the filter and the update describe; gives its `_id` and itself.
    ///
    /// # Errors
    /// What the update and the write door say.
    pub(super) fn upsert(
        &self,
        request: &Request<'_>,
        guard: &mut WriteGuard<'_>,
        bypass: bool,
        cx: &mut Cx<'_>,
    ) -> Result<(OwnedValue, DocBuf)> {
        let document = self.new_document()?;
        let prepared = insert::prepare_upserted(request.server, document.doc())?;
        let document = Doc::from_stored(&prepared);
        write::insert(guard, document, bypass, cx)?;
        let id = document.get("_id").unwrap_or(Value::Null);
        Ok((OwnedValue::new(id), DocBuf::from(document)))
    }
}
