//! The tree as a query document again, as `explain` shows it (`parsedQuery`, and the filters of stages).

use bindery_document::{Builder, DocBuf, Value};

use super::json_schema::{Rule, Schema};
use super::{CompareOp, Filter, Membership, RegexTest, TypeSet};

impl Filter {
    /// The filter as a query document in `explain`'s words. It parses to the same filter again, but for what
    /// a schema demands.
    pub fn to_document(&self) -> DocBuf {
        let mut builder = Builder::new();
        self.show(&mut builder);
        builder.finish()
    }

    fn show(&self, out: &mut Builder) {
        match self {
            Filter::And(children) => show_list("$and", children, out),
            Filter::Or(children) => show_list("$or", children, out),
            Filter::Nor(children) => show_list("$nor", children, out),
            Filter::Not(child) => match child.path() {
                Some(path) => {
                    let condition = out.open_document(path.as_str());
                    let not = out.open_document("$not");
                    child.show_operator(out);
                    out.close(not);
                    out.close(condition);
                }
                None => show_list("$nor", std::slice::from_ref(child), out),
            },
            Filter::Expr(test) => out.append("$expr", test.source.value()),
            Filter::SampleRate(rate) => out.append("$sampleRate", *rate),
            Filter::Schema(schema) if self.path().is_none() => show_schema(schema, out),
            Filter::AlwaysTrue => {}
            Filter::AlwaysFalse => out.append("$alwaysFalse", 1),
            leaf => {
                let path = leaf.path().map_or("", |path| path.as_str());
                let condition = out.open_document(path);
                leaf.show_operator(out);
                out.close(condition);
            }
        }
    }

    /// A leaf without its path, or the negation of one, as conditions on array elements are.
    fn show_operator(&self, out: &mut Builder) {
        match self {
            Filter::Compare(test) => out.append(test.op.name(), test.operand.value()),
            Filter::ExprCompare(test) => out.append(
                match test.op {
                    CompareOp::Eq => "$_internalExprEq",
                    CompareOp::Lte => "$_internalExprLte",
                    CompareOp::Lt => "$_internalExprLt",
                    CompareOp::Gt => "$_internalExprGt",
                    CompareOp::Gte => "$_internalExprGte",
                },
                test.operand.value(),
            ),
            Filter::In(test) => show_members(test, out),
            Filter::Regex(test) => {
                out.append("$regex", test.regex.pattern());
                if !test.regex.options().is_empty() {
                    out.append("$options", test.regex.options());
                }
            }
            Filter::Exists(_) => out.append("$exists", true),
            Filter::Type(test) => show_types("$type", test.types, out),
            Filter::Mod(test) => {
                let array = out.open_array("$mod");
                for (index, number) in [test.divisor, test.remainder].into_iter().enumerate() {
                    out.append_index(index, Value::Int64(number));
                }
                out.close(array);
            }
            Filter::Size(test) => out.append("$size", shortest(i64::from(test.size))),
            Filter::ElemMatchObject(test) => {
                let inner = out.open_document("$elemMatch");
                test.filter.show(out);
                out.close(inner);
            }
            Filter::ElemMatchValue(test) => {
                let inner = out.open_document("$elemMatch");
                test.filters.iter().for_each(|filter| filter.show_operator(out));
                out.close(inner);
            }
            Filter::Bits(test) => {
                let array = out.open_array(test.test.name());
                for (index, position) in test.positions.iter().enumerate() {
                    out.append_index(index, shortest(i64::from(*position)));
                }
                out.close(array);
            }
            Filter::Not(child) => {
                let inner = out.open_document("$not");
                child.show_operator(out);
                out.close(inner);
            }
            Filter::And(children) => children.iter().for_each(|child| child.show_operator(out)),
            Filter::Schema(schema) => show_schema(schema, out),
            combined => combined.show(out),
        }
    }
}

fn show_list(name: &str, children: &[Filter], out: &mut Builder) {
    let array = out.open_array(name);
    for (index, child) in children.iter().enumerate() {
        out.append_index(index, Value::Document(child.to_document().doc()));
    }
    out.close(array);
}

fn show_members(test: &Membership, out: &mut Builder) {
    let array = out.open_array("$in");
    for (index, value) in test.values.iter().enumerate() {
        out.append_index(index, value.value());
    }
    for (index, RegexTest { regex, .. }) in test.regexes.iter().enumerate() {
        let (pattern, options) = (regex.pattern().into(), regex.options().into());
        out.append_index(test.values.len() + index, Value::Regex { pattern, options });
    }
    out.close(array);
}

fn show_types(name: &str, types: TypeSet, out: &mut Builder) {
    let array = out.open_array(name);
    let mut index = 0;
    if types.has_number_alias() {
        out.append_index(0, "number");
        index += 1;
    }
    for kind in types.iter().filter(|kind| !(types.has_number_alias() && kind.is_number())) {
        out.append_index(index, kind.number());
        index += 1;
    }
    out.close(array);
}

/// An integer of 32 bits where it fits.
fn shortest(number: i64) -> Value<'static> {
    i32::try_from(number).map_or(Value::Int64(number), Value::Int32)
}

fn show_schema(schema: &Schema, out: &mut Builder) {
    match schema {
        Schema::Value { rule, .. } => show_rule(rule, out),
        Schema::MinProperties(n) => out.append("minProperties", *n as i64),
        Schema::MaxProperties(n) => out.append("maxProperties", *n as i64),
        Schema::OneOf(filters) => show_list("oneOf", filters, out),
        Schema::OneDocumentOf(values) => {
            let array = out.open_array("enum");
            values.iter().enumerate().for_each(|(index, value)| out.append_index(index, value.value()));
            out.close(array);
        }
        Schema::Properties(properties) => {
            let known = out.open_array("properties");
            properties.names.iter().enumerate().for_each(|(index, name)| out.append_index(index, &**name));
            out.close(known);
            let patterns = out.open_document("patternProperties");
            for (pattern, filter) in &properties.patterns {
                show_inner(pattern.pattern(), filter, out);
            }
            out.close(patterns);
            show_inner("additionalProperties", &properties.additional, out);
        }
    }
}

fn show_rule(rule: &Rule, out: &mut Builder) {
    match rule {
        Rule::Type(types) => show_types("bsonType", *types, out),
        Rule::MinLength(n) => out.append("minLength", *n as i64),
        Rule::MaxLength(n) => out.append("maxLength", *n as i64),
        Rule::MinItems(n) => out.append("minItems", *n as i64),
        Rule::MaxItems(n) => out.append("maxItems", *n as i64),
        Rule::UniqueItems => out.append("uniqueItems", true),
        Rule::ItemsFrom(0, filter) => show_inner("items", filter, out),
        Rule::ItemsFrom(_, filter) => show_inner("additionalItems", filter, out),
        Rule::ItemAt(index, filter) => {
            let items = out.open_document("items");
            show_inner(&index.to_string(), filter, out);
            out.close(items);
        }
        Rule::Object(filter) => show_inner("object", filter, out),
        Rule::OneOf(values) => {
            let array = out.open_array("enum");
            values.iter().enumerate().for_each(|(index, value)| out.append_index(index, value.value()));
            out.close(array);
        }
        Rule::MultipleOf(divisor) => out.append("multipleOf", divisor.value()),
    }
}

fn show_inner(name: &str, filter: &Filter, out: &mut Builder) {
    let inner = out.open_document(name);
    filter.show_operator(out);
    out.close(inner);
}
