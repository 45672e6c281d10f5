//! A question as a command asks it, and what it compiles to.

use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Error, OwnedValue, Result, Value, code};
use bindery_query::collation::Collation;
use bindery_query::expression::{self, Expression};
use bindery_query::filter::{Allowed, Filter, ParseContext};
use bindery_query::plan::{Hint, Purpose, Query, ScanDirection, Shape};
use bindery_query::projection::Projection;
use bindery_query::sort::{Sort, SortOrder};

use crate::collection::State;

/// The parts of a question, not compiled: `find`'s arguments, or as many as a command has.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) filter: Doc<'a>,
    pub(crate) sort: Option<Doc<'a>>,
    pub(crate) projection: Option<Doc<'a>>,
    pub(crate) skip: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) hint: Option<Value<'a>>,
    pub(crate) min: Option<Doc<'a>>,
    pub(crate) max: Option<Doc<'a>>,
    pub(crate) return_key: bool,
    pub(crate) show_record_id: bool,
    pub(crate) collation: Option<Doc<'a>>,
    /// The values of `let`.
    pub(crate) variables: Option<Doc<'a>>,
    /// The values of `c`, which a statement with a pipeline may have.
    pub(crate) constants: Option<Doc<'a>>,
    /// 0 is no limit.
    pub(crate) max_time_ms: u64,
}

/// What parts of a question are compiled with beside the question itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// What `$$NOW` is; milliseconds since the epoch.
    pub(crate) now_millis: i64,
}

impl<'a> Question<'a> {
    /// The question that has a filter only.
    pub(crate) fn new(filter: Doc<'a>) -> Question<'a> {
        Question {
            filter,
            sort: None,
            projection: None,
            skip: 0,
            limit: None,
            hint: None,
            min: None,
            max: None,
            return_key: false,
            show_record_id: false,
            collation: None,
            variables: None,
            constants: None,
            max_time_ms: 0,
        }
    }

    /// Whether `$recordId` is added to the results: not to keys, nor where the projection has a say about it.
    pub(crate) fn shows_record_id(&self) -> bool {
        self.show_record_id
            && !self.return_key
            && self.projection.is_none_or(|projection| projection.get("$recordId").is_none())
    }

    /// Compiles the question for a collection, whose default collation applies where none is asked for.
    ///
    /// # Errors
    /// What the languages say.
    pub(crate) fn compile(&self, scope: &Scope, state: Option<&State>) -> Result<Query> {
        let collation = self.collation(state)?;
        let context = self.context(scope, collation.clone())?;
        let context = ParseContext { expressions: context.expressions.staying_general(), ..context };
        let filter = Arc::new(Filter::parse(self.filter, &context)?);
        if let Some(spec) = self.sort.filter(|spec| spec.count() > 1 && spec.get("$natural").is_some()) {
            SortOrder::parse(spec, None)?;
        }
        // What is wrong with the projection is reported before what is wrong with the sort.
        let shape = self.projection.map(|projection| self.shape(projection, scope, collation.clone())).transpose()?;
        let (mut sort, mut natural) = (None, None);
        if let Some(spec) = self.sort {
            match SortOrder::parse(spec, collation.as_ref())? {
                SortOrder::Fields(order) => sort = Some(Arc::new(order)),
                SortOrder::Unsorted => {}
                SortOrder::Natural { backward } => {
                    natural = Some(if backward { ScanDirection::Backward } else { ScanDirection::Forward });
                }
            }
        }
        if shape.as_ref().is_some_and(|shape| shape.projection.needs_sort_key()) && self.sort.is_none() {
            return Err(Error::new(code::BAD_VALUE, "cannot use sortKey $meta projection without a sort"));
        }
        let shape = shape.map(|shape| {
            let sort_key = sort.clone().filter(|_| shape.projection.needs_sort_key());
            Arc::new(Shape { sort_key, ..shape })
        });
        if let (Some(order), Some(shape), None) = (&sort, &shape, self.limit) {
            sort = Some(Arc::new(Sort::clone(order).after(&shape.projection)));
        }
        let mut hint = self.hint.map(parse_hint).transpose()?;
        if let Some(direction) = natural {
            if hint.as_ref().is_some_and(|hint| !matches!(hint, Hint::Natural(other) if *other == direction)) {
                return Err(Error::new(code::BAD_VALUE, "cannot sort by $natural and hint otherwise"));
            }
            hint = Some(Hint::Natural(direction));
        }
        Ok(Query {
            filter,
            sort,
            shape,
            skip: self.skip,
            limit: self.limit,
            hint,
            min: self.min.map(DocBuf::from),
            max: self.max.map(DocBuf::from),
            return_key: self.return_key,
            collation,
            is_id_equality: self.is_id_equality(),
            purpose: Purpose::Documents,
        })
    }

    /// Whether the filter is `{_id: value}`.
    fn is_id_equality(&self) -> bool {
        let mut fields = self.filter.iter();
        let (Some(first), None) = (fields.next(), fields.next()) else { return false };
        let has_operators = |doc: Doc<'_>| doc.first().is_some_and(|e| e.key.starts_with(b"$"));
        first.key == b"_id" && !matches!(first.value(), Value::Document(doc) if has_operators(doc))
    }

    /// The collation that is asked for, or the collection's.
    pub(crate) fn collation(&self, state: Option<&State>) -> Result<Option<Collation>> {
        match (self.collation, state.and_then(|state| state.options.collation.as_ref())) {
            (Some(asked), _) if !asked.is_empty() => Collation::parse(asked),
            (_, Some(default)) => Collation::parse(default.doc()),
            _ => Ok(None),
        }
    }

    /// Compiles a projection of this question's documents.
    ///
    /// # Errors
    /// What the language says.
    pub(crate) fn shape(&self, projection: Doc<'_>, scope: &Scope, collation: Option<Collation>) -> Result<Shape> {
        let mut expressions = self.expressions(scope)?.with_collation(collation.clone());
        let context = self.context(scope, collation.clone())?.allowing(Allowed::NoWholeDocuments);
        let position = || Filter::parse_in_order(self.filter, &context);
        let compiled =
            Projection::parse_find(projection, collation.as_ref(), &mut expressions, &|| position().map(|_| ()))?;
        let position = compiled.needs_position().then(position).transpose()?;
        let strings = collation.as_ref().map(Collation::string_order);
        Ok(Shape { projection: compiled, strings, position, sort_key: None })
    }

    /// What filters are parsed with.
    pub(crate) fn context(&self, scope: &Scope, collation: Option<Collation>) -> Result<ParseContext> {
        let expressions = self.expressions(scope)?.with_collation(collation.clone());
        Ok(ParseContext { collation, expressions, allowed: Allowed::Everything })
    }

    /// What expressions are parsed with: the time, and the values of `let` and `c`.
    ///
    /// # Errors
    /// 9 for names that are no names of variables, 4890500 for values that are not constant.
    pub(crate) fn expressions(&self, scope: &Scope) -> Result<expression::ParseContext> {
        let mut context = expression::ParseContext::new().with_now(scope.now_millis);
        for variable in self.variables.into_iter().flatten() {
            let name = variable.key_str();
            expression::check_variable_name(name)?;
            let value = Expression::parse(variable.value(), &mut context)?;
            let Some(constant) = value.as_constant() else {
                return Err(Error::new(4_890_500, format!("Command let Expression for '{name}' must be constant")));
            };
            let constant = constant.map(OwnedValue::new);
            context.define_constant(name, constant);
        }
        define_constants(self.constants, &mut context)?;
        Ok(context)
    }
}

/// MongoDB's code for a constant with the name of a system variable.
const SYSTEM_VARIABLE: i32 = 17275;

/// Makes the values of `c` variables of a pipeline and of its filter.
///
/// # Errors
/// 9 for what is no name of a variable, 17275 for the names of MongoDB's own.
fn define_constants(constants: Option<Doc<'_>>, context: &mut expression::ParseContext) -> Result<()> {
    const SYSTEM_VARIABLES: [&str; 8] =
        ["ROOT", "CURRENT", "REMOVE", "NOW", "CLUSTER_TIME", "DESCEND", "PRUNE", "KEEP"];
    for constant in constants.into_iter().flatten() {
        let name = constant.key_str();
        if SYSTEM_VARIABLES.contains(&name) {
            return Err(Error::new(
                SYSTEM_VARIABLE,
                format!("the constant '{name}' has the name of a system variable"),
            ));
        }
        // Unlike variables of `let`, constants may begin with a capital.
        expression::check_variable_name(&name.to_ascii_lowercase())?;
        context.define_constant(name, Some(OwnedValue::new(constant.value())));
    }
    Ok(())
}

/// The direction of a hint of `$natural`.
fn natural(hint: Doc<'_>) -> Option<ScanDirection> {
    let first = hint.first().filter(|e| e.key == b"$natural")?;
    let backward = first.value().as_f64().is_some_and(|n| n < 0.0);
    Some(if backward { ScanDirection::Backward } else { ScanDirection::Forward })
}

fn parse_hint(hint: Value<'_>) -> Result<Hint> {
    match hint {
        Value::String(name) => Ok(Hint::Name(name.as_str().to_owned())),
        Value::Document(key) => match natural(key) {
            Some(_) if key.count() > 1 => {
                Err(Error::new(code::BAD_VALUE, "$natural hint cannot be combined with other fields"))
            }
            Some(direction) => Ok(Hint::Natural(direction)),
            None => Ok(Hint::Key(DocBuf::from(key))),
        },
        _ => Err(Error::new(code::FAILED_TO_PARSE, "Hint must be a string or an object")),
    }
}
