//! What an `$expr` says that an index can serve: `{$expr: {$gt: ["$a", 3]}}` implies that `a` is beyond 3.
//!
//! The server plans with such conditions beside the expression (`$_internalExprGt` in its `explain`), and so does this
//! planner. They only bound scans: the expression itself is still evaluated, so what is not served is left out.

use bindery_document::{Kind, OwnedValue, Path};

use crate::expression::{Comparison, Condition};
use crate::filter::{Compare, CompareOp, ExprTest, Filter, canonical};

/// The filter with what its expressions imply, as `explain` shows it; `None` if that is nothing. `parameters` are the
/// values of variables that come from outside, such as a `let` of `$lookup`: what is implied holds for these only.
pub fn with_implied(filter: &Filter, parameters: &[Option<OwnedValue>]) -> Option<Filter> {
    expand(filter, parameters).map(canonical::sort)
}

/// Puts what is implied behind each expression, in the conjunction that it stands in.
fn expand(filter: &Filter, parameters: &[Option<OwnedValue>]) -> Option<Filter> {
    match filter {
        Filter::Expr(test) => {
            let implied = canonical::simplify(implied(test, &test.expression.as_condition(parameters))?);
            Some(conjunction([filter.clone(), implied]))
        }
        Filter::And(parts) => {
            // What implies something with these parameters only comes last, as the others did when they were parsed.
            let (now, before): (Vec<_>, Vec<_>) = parts.iter().cloned().partition(|part| match part {
                Filter::Expr(test) => !test.implies_comparisons() && expand(part, parameters).is_some(),
                _ => false,
            });
            let parts: Vec<Filter> = before.into_iter().chain(now).collect();
            expand_parts(&parts, parameters).map(conjunction)
        }
        Filter::Or(parts) => expand_parts(parts, parameters).map(Filter::Or),
        _ => None,
    }
}

/// The conjunction of these, what is one among them taken apart.
fn conjunction(parts: impl IntoIterator<Item = Filter>) -> Filter {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Filter::And(inner) => all.extend(inner),
            other => all.push(other),
        }
    }
    if all.len() == 1 { all.remove(0) } else { Filter::And(all) }
}

fn expand_parts(parts: &[Filter], parameters: &[Option<OwnedValue>]) -> Option<Vec<Filter>> {
    let expanded: Vec<Option<Filter>> = parts.iter().map(|part| expand(part, parameters)).collect();
    let any = expanded.iter().any(Option::is_some);
    any.then(|| parts.iter().zip(expanded).map(|(part, new)| new.unwrap_or_else(|| part.clone())).collect())
}

/// A condition as filters; of a disjunction only if each of its branches implies something.
fn implied(test: &ExprTest, condition: &Condition<'_>) -> Option<Filter> {
    match condition {
        Condition::And(parts) => {
            let parts: Vec<Filter> = parts.iter().filter_map(|part| implied(test, part)).collect();
            (!parts.is_empty()).then_some(Filter::And(parts))
        }
        Condition::Or(parts) => {
            let parts: Option<Vec<Filter>> = parts.iter().map(|part| implied(test, part)).collect();
            parts.filter(|parts| !parts.is_empty()).map(Filter::Or)
        }
        Condition::Compare(names, comparison, operand) => {
            // Arrays are compared whole in expressions, which keys of elements do not tell.
            if matches!(operand.kind(), Kind::Array | Kind::Undefined) {
                return None;
            }
            let op = match comparison {
                Comparison::Eq => CompareOp::Eq,
                Comparison::Lt => CompareOp::Lt,
                Comparison::Lte => CompareOp::Lte,
                Comparison::Gt => CompareOp::Gt,
                Comparison::Gte => CompareOp::Gte,
            };
            let compare = Compare::new(Path::parse(&names.join(".")), op, operand.clone(), test.collation.clone());
            Some(Filter::ExprCompare(compare))
        }
        Condition::Other => None,
    }
}

/// Whether an expression beside it implies this condition, so that nobody needs to check it.
pub(super) fn is_implied(filter: &Filter) -> bool {
    match filter {
        Filter::ExprCompare(_) => true,
        Filter::And(parts) | Filter::Or(parts) => !parts.is_empty() && parts.iter().all(is_implied),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use bindery_document::DocBuf;
    use bson::{Bson, doc};

    use super::*;
    use crate::filter::ParseContext;

    fn planned(query: bson::Document) -> Option<bson::Document> {
        let query = DocBuf::from_bson(&query).expect("a query");
        let filter = Filter::parse(query.doc(), &ParseContext::new()).expect("a filter");
        let shown = with_implied(&filter, &[])?.to_document();
        Some(bson::deserialize_from_slice(shown.as_bytes()).expect("a document"))
    }

    #[test]
    fn comparisons_of_a_path_with_a_constant_imply_bounds() {
        let eq = doc! {"$eq": ["$a", 3]};
        let expected = doc! {"$and": [{"$expr": eq.clone()}, {"a": {"$_internalExprEq": 3}}]};
        assert_eq!(planned(doc! {"$expr": eq}), Some(expected));
        let turned = planned(doc! {"$expr": {"$gt": [3, "$a.b"]}}).expect("implied");
        assert_eq!(turned.get_array("$and").expect("two")[1], Bson::from(doc! {"a.b": {"$_internalExprLt": 3}}));
        for nothing in [
            doc! {"$eq": ["$a", [1]]},
            doc! {"$ne": ["$a", 1]},
            doc! {"$eq": ["$a", "$b"]},
            doc! {"$or": [{"$eq": ["$a", 1]}, {"$eq": ["$b", "$c"]}]},
            doc! {"$not": [{"$eq": ["$a", 1]}]},
        ] {
            assert_eq!(planned(doc! {"$expr": nothing.clone()}), None, "{nothing}");
        }
    }

    #[test]
    fn expressions_that_imply_come_with_what_is_spliced() {
        let implying = |path: &str| doc! {"$expr": {"$lte": [path, 1]}};
        let other = doc! {"$expr": {"$setIsSubset": ["$s", []]}};
        let nested = |first: bson::Document| doc! {"$and": [first, {"b": 1}]};
        let order = |parts: [bson::Document; 3]| {
            let shown = planned(doc! {"$and": parts.to_vec()}).expect("implied");
            let all = shown.get_array("$and").expect("several").clone();
            let all = all.iter().filter_map(|part| part.as_document()?.get_document("$expr").ok());
            all.map(|part| part.values().next().and_then(Bson::as_array).map(|all| all[0].clone())).collect::<Vec<_>>()
        };
        let expected = |paths: [&str; 3]| paths.map(|path| Some(Bson::from(path))).to_vec();
        let (c, d) = (implying("$c"), implying("$d"));
        assert_eq!(order([c.clone(), other.clone(), d.clone()]), expected(["$s", "$c", "$d"]));
        assert_eq!(order([c.clone(), nested(other.clone()), d.clone()]), expected(["$c", "$s", "$d"]));
        assert_eq!(order([nested(d), other, c]), expected(["$s", "$d", "$c"]));
    }

    #[test]
    fn disjunctions_are_implied_whole_and_conjunctions_in_part() {
        let or = planned(doc! {"$expr": {"$or": [{"$eq": ["$a", 1]}, {"$lt": ["$b", 2]}]}}).expect("implied");
        let branches = doc! {"$or": [{"a": {"$_internalExprEq": 1}}, {"b": {"$_internalExprLt": 2}}]};
        assert_eq!(or.get_array("$and").expect("two")[0], Bson::from(branches));
        let and = planned(doc! {"$expr": {"$and": [{"$gt": ["$a", 1]}, {"$eq": ["$b", "$c"]}]}}).expect("implied");
        assert_eq!(and.get_array("$and").expect("two").len(), 2);
    }
}
