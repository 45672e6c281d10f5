//! The clauses of a query, as they were written, each with the reason why it holds or not.

use std::ops::ControlFlow;

use bindery_document::path::{Leaf, Reached};
use bindery_document::{Builder, Doc, DocBuf, Element, Error, Kind, Path, Result, Value};

use super::{Detail, append_documents, append_error, append_values, field_of, schema};
use crate::filter::parse::operator_document;
use crate::filter::{Filter, ParseContext};

/// What MongoDB says of clauses that it cannot explain.
const NOT_EXPLAINED: i32 = 4_994_600;
/// The most considered values that are shown.
const MAX_VALUES: usize = 10;

/// A part of a query.
pub(super) enum Clause<'q> {
    /// `$and`, `$or` or `$nor`, or several conditions side by side.
    List { operator: &'static str, members: Vec<Clause<'q>> },
    /// `$not`.
    Not(Box<Clause<'q>>),
    /// One condition on a path.
    Test(Test<'q>),
    /// `$expr`.
    Expression { operand: Value<'q>, filter: Filter },
    /// `$jsonSchema`.
    Schema { schema: Doc<'q>, filter: Filter },
}

/// One condition on a path.
pub(super) struct Test<'q> {
    operator: &'q str,
    path: Path,
    /// `{path: condition}`, as it was written.
    specified: DocBuf,
    filter: Filter,
}

impl<'q> Clause<'q> {
    /// The clauses of a query document.
    ///
    /// # Errors
    /// As [`Filter::parse`], and 4994600 for clauses that have no explanation.
    pub(super) fn of_query(query: Doc<'q>, context: &ParseContext) -> Result<Clause<'q>> {
        let mut members = Vec::new();
        for element in query {
            match (element.key_str(), element.value()) {
                ("$and", Value::Array(list)) => members.push(Clause::of_list("$and", list, context)?),
                ("$or", Value::Array(list)) => members.push(Clause::of_list("$or", list, context)?),
                ("$nor", Value::Array(list)) => members.push(Clause::of_list("$nor", list, context)?),
                ("$comment", _) => {}
                ("$expr", operand) => {
                    let filter = Filter::parse_in_order(field_of("$expr", operand).doc(), context)?;
                    members.push(Clause::Expression { operand, filter });
                }
                ("$jsonSchema", Value::Document(schema)) => {
                    let filter = Filter::parse_in_order(field_of("$jsonSchema", element.value()).doc(), context)?;
                    members.push(Clause::Schema { schema, filter });
                }
                (name, _) if name.starts_with('$') => {
                    return Err(Error::new(NOT_EXPLAINED, format!("there is no explanation for {name}")));
                }
                (path, value) => match operator_document(&value, false) {
                    Some(conditions) => Clause::of_conditions(path, conditions, context, &mut members)?,
                    None => members.push(Clause::equality_or_regex(path, value, context)?),
                },
            }
        }
        Ok(Clause::all_of(members))
    }

    fn of_list(operator: &'static str, list: Doc<'q>, context: &ParseContext) -> Result<Clause<'q>> {
        let queries = list.iter().filter_map(|element| match element.value() {
            Value::Document(query) => Some(query),
            _ => None,
        });
        let members = queries.map(|query| Clause::of_query(query, context)).collect::<Result<_>>()?;
        Ok(Clause::List { operator, members })
    }

    /// A single clause is itself; several, or none, are an `$and`.
    fn all_of(mut members: Vec<Clause<'q>>) -> Clause<'q> {
        match members.len() {
            1 => members.remove(0),
            _ => Clause::List { operator: "$and", members },
        }
    }

    /// The conditions of an operator document on a path.
    fn of_conditions(
        path: &str,
        conditions: Doc<'q>,
        context: &ParseContext,
        members: &mut Vec<Clause<'q>>,
    ) -> Result<()> {
        let mut has_regex = false;
        for element in conditions {
            let mut condition = Builder::new();
            match element.key_str() {
                "$regex" | "$options" if has_regex => continue,
                "$regex" | "$options" => {
                    // One condition in two fields.
                    has_regex = true;
                    let halves = conditions.iter().filter(|e| matches!(e.key, b"$regex" | b"$options"));
                    halves.for_each(|half| condition.append_element(half));
                }
                "$not" => {
                    members.push(Clause::Not(Box::new(Clause::negated(path, element.value(), context)?)));
                    continue;
                }
                _ => condition.append_element(element),
            }
            let operator = if has_regex && element.key == b"$options" { "$regex" } else { element.key_str() };
            let specified = field_of(path, Value::Document(condition.finish().doc()));
            members.push(Clause::test(operator, path, specified, context)?);
        }
        Ok(())
    }

    /// What `$not` negates.
    fn negated(path: &str, operand: Value<'q>, context: &ParseContext) -> Result<Clause<'q>> {
        let Value::Document(conditions) = operand else {
            return Clause::equality_or_regex(path, operand, context);
        };
        let mut members = Vec::new();
        Clause::of_conditions(path, conditions, context, &mut members)?;
        Ok(Clause::all_of(members))
    }

    fn equality_or_regex(path: &str, value: Value<'q>, context: &ParseContext) -> Result<Clause<'q>> {
        let operator = if matches!(value, Value::Regex { .. }) { "$regex" } else { "$eq" };
        Clause::test(operator, path, field_of(path, value), context)
    }

    fn test(operator: &'q str, path: &str, specified: DocBuf, context: &ParseContext) -> Result<Clause<'q>> {
        let filter = Filter::parse_in_order(specified.doc(), context)?;
        Ok(Clause::Test(Test { operator, path: Path::parse(path), specified, filter }))
    }

    /// Whether the clause holds. One that fails does not.
    fn holds(&self, document: Doc<'_>) -> bool {
        match self {
            Clause::List { operator: "$or", members } => members.iter().any(|member| member.holds(document)),
            Clause::List { operator: "$nor", members } => !members.iter().any(|member| member.holds(document)),
            Clause::List { members, .. } => members.iter().all(|member| member.holds(document)),
            Clause::Not(clause) => !clause.holds(document),
            Clause::Test(Test { filter, .. }) | Clause::Expression { filter, .. } | Clause::Schema { filter, .. } => {
                filter.matches(document).unwrap_or(false)
            }
        }
    }

    /// Why the clause holds, or why it does not: `held` says which, and must be true of it.
    ///
    /// # Errors
    /// What evaluating a schema's rules says.
    pub(super) fn explain(&self, document: Doc<'_>, held: bool, detail: Detail) -> Result<DocBuf> {
        let mut out = Builder::new();
        match self {
            Clause::List { operator, members } => {
                out.append("operatorName", *operator);
                // None of the members of a `$nor` may hold, so those that do are its failure.
                let shown = held != (*operator == "$nor");
                let name = if shown { "clausesSatisfied" } else { "clausesNotSatisfied" };
                let mut list = Vec::new();
                for (nth, member) in members.iter().enumerate().filter(|(_, member)| member.holds(document) == shown) {
                    let mut entry = Builder::new();
                    entry.append("index", nth as i32);
                    entry.append("details", Value::Document(member.explain(document, shown, detail)?.doc()));
                    list.push(entry.finish());
                }
                append_documents(name, &list, &mut out);
            }
            Clause::Not(clause) => {
                out.append("operatorName", "$not");
                out.append("details", Value::Document(clause.explain(document, !held, detail)?.doc()));
            }
            Clause::Test(test) => test.explain(document, held, detail, &mut out),
            Clause::Expression { operand, filter } => {
                explain_expression(*operand, filter, document, held, detail, &mut out);
            }
            Clause::Schema { .. } if held => {
                out.append("operatorName", "$jsonSchema");
                out.append("reason", "schema matched");
            }
            Clause::Schema { schema, .. } => return schema::explain(*schema, document, detail),
        }
        Ok(out.finish())
    }
}

fn explain_expression(
    operand: Value<'_>,
    filter: &Filter,
    document: Doc<'_>,
    held: bool,
    detail: Detail,
    out: &mut Builder,
) {
    out.append("operatorName", "$expr");
    if detail == Detail::Full {
        out.append("specifiedAs", Value::Document(field_of("$expr", operand).doc()));
    }
    let result = match filter {
        Filter::Expr(test) => test.result(document),
        // A constant expression has become its answer.
        _ => Ok(Some(bindery_document::OwnedValue::new(Value::Boolean(held)))),
    };
    match result {
        Ok(result) => {
            out.append("reason", if held { "expression did match" } else { "expression did not match" });
            if let Some(result) = result.filter(|_| detail == Detail::Full) {
                out.append("expressionResult", result.value());
            }
        }
        Err(error) => {
            out.append("reason", "failed to evaluate aggregation expression");
            let open = out.open_document("details");
            append_error(&error, out);
            out.close(open);
        }
    }
}

/// What explains an operator on a path.
struct Words {
    /// The reasons where the test that the name stands for (without its "not") comes out false, and true.
    reasons: [&'static str; 2],
    /// Whether it is about what is equal, contained, there: `$ne`, `$nin` and `$exists: false` are not.
    is_negative: bool,
    /// Whether it looks at arrays, not at their elements.
    takes_arrays_whole: bool,
    /// The types that it can be true of; empty for all.
    types: &'static [Kind],
}

const NUMBERS: [Kind; 4] = [Kind::Decimal128, Kind::Double, Kind::Int32, Kind::Int64];
const BIT_CARRIERS: [Kind; 5] = [Kind::Binary, Kind::Decimal128, Kind::Double, Kind::Int32, Kind::Int64];
const TEXTS: [Kind; 3] = [Kind::Regex, Kind::String, Kind::Symbol];

impl Words {
    fn of(operator: &str) -> Words {
        let words = |no, yes| Words { reasons: [no, yes], is_negative: false, takes_arrays_whole: false, types: &[] };
        match operator {
            "$in" | "$nin" => Words {
                is_negative: operator == "$nin",
                ..words("no matching value found in array", "matching value found in array")
            },
            "$type" => words("type did not match", "type did match"),
            "$mod" => Words {
                types: &NUMBERS,
                ..words("$mod did not evaluate to expected remainder", "$mod did evaluate to expected remainder")
            },
            "$regex" => {
                Words { types: &TEXTS, ..words("regular expression did not match", "regular expression did match") }
            }
            "$size" => Words {
                takes_arrays_whole: true,
                types: &[Kind::Array],
                ..words("array length was not equal to given size", "array length was equal to given size")
            },
            "$all" => Words {
                takes_arrays_whole: true,
                ..words("array did not contain all specified values", "array did contain all specified values")
            },
            "$elemMatch" => Words {
                takes_arrays_whole: true,
                types: &[Kind::Array],
                ..words("array did not satisfy the child predicate", "array did satisfy the child predicate")
            },
            "$bitsAllSet" | "$bitsAllClear" | "$bitsAnySet" | "$bitsAnyClear" => Words {
                types: &BIT_CARRIERS,
                ..words("bitwise operator failed to match", "bitwise operator matched successfully")
            },
            _ => Words { is_negative: operator == "$ne", ..words("comparison failed", "comparison succeeded") },
        }
    }
}

impl Test<'_> {
    fn explain(&self, document: Doc<'_>, held: bool, detail: Detail, out: &mut Builder) {
        out.append("operatorName", self.operator);
        if detail == Detail::Full {
            out.append("specifiedAs", Value::Document(self.specified.doc()));
        }
        if self.operator == "$exists" {
            let is_there = held != matches!(self.filter, Filter::Not(_));
            out.append("reason", if is_there { "path does exist" } else { "path does not exist" });
            return;
        }
        if self.operator == "$all" && self.filter == Filter::AlwaysFalse {
            out.append("reason", "expression always evaluates to false");
            return;
        }
        let words = Words::of(self.operator);
        let Some(values) = self.considered(document, words.takes_arrays_whole) else {
            out.append("reason", "field was missing");
            return;
        };
        let is_true = held != words.is_negative;
        let has_types = !words.types.is_empty() && !values.iter().any(|value| words.types.contains(&value.kind));
        if !is_true && has_types {
            out.append("reason", "type did not match");
            if detail == Detail::Full {
                append_types(&values, out);
                let mut names = words.types.iter().map(|kind| Value::from(kind.alias()));
                match (words.types.len(), names.next()) {
                    (1, Some(name)) => out.append("expectedType", name),
                    (_, first) => append_values("expectedTypes", first.into_iter().chain(names), out),
                }
            }
        } else {
            out.append("reason", words.reasons[usize::from(is_true)]);
        }
        if detail == Detail::Full {
            match &values[..] {
                [value] => out.append("consideredValue", value.value()),
                values => {
                    append_values("consideredValues", values.iter().take(MAX_VALUES).map(|e| e.value()), out);
                    if values.len() > MAX_VALUES {
                        out.append("consideredValuesTruncated", true);
                    }
                }
            }
            if self.operator == "$type" {
                append_types(&values, out);
            }
        }
    }

    /// The values that the path leads to; none if it leads nowhere.
    fn considered<'d>(&self, document: Doc<'d>, arrays_whole: bool) -> Option<Vec<Element<'d>>> {
        let (mut values, mut is_there) = (Vec::new(), false);
        // A path that ends in a position has named its element, which is taken as it is.
        let names_element = self.path.components().last().is_some_and(|component| component.is_numeric());
        let _ = self.path.visit(document, Leaf::Whole, &mut |reached: Reached<'d>| {
            if let Some(element) = reached.element {
                is_there = true;
                if element.kind == Kind::Array && !arrays_whole && !names_element {
                    values.extend(Doc::from_stored(element.bytes));
                } else {
                    values.push(element);
                }
            }
            ControlFlow::<()>::Continue(())
        });
        is_there.then_some(values)
    }
}

/// The types of values, each once, by name.
fn append_types(values: &[Element<'_>], out: &mut Builder) {
    let mut names: Vec<&str> = values.iter().map(|value| value.kind.alias()).collect();
    names.sort_unstable();
    names.dedup();
    match &names[..] {
        [] => {}
        [name] => out.append("consideredType", *name),
        names => append_values("consideredTypes", names.iter().map(|name| Value::from(*name)), out),
    }
}
