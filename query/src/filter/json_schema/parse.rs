//! From a schema document to filters, with MongoDB's checks of every keyword.

use bindery_document::{Doc, Element, Error, Kind, OwnedValue, Path, Result, Value, code};

use super::rule::Properties;
use super::{Rule, Schema, equal_unordered};
use crate::filter::{Compare, CompareOp, Filter, RegexTest, TypeSet, canonical};
use crate::regex::{Regex, RegexError};

/// What a schema is about.
#[derive(Clone)]
enum Subject {
    /// The document that is asked.
    Document,
    /// What a path leads to from there.
    Value(Path),
}

/// Parses the operand of `$jsonSchema`.
///
/// # Errors
/// Code 14 for operands of the wrong type, 9 for unknown keywords and unsuitable operands, 2 for unknown
/// type names, empty lists of schemas and malformed names, 51091 for malformed patterns.
pub(in crate::filter) fn parse(operand: Value<'_>) -> Result<Filter> {
    let Value::Document(document) = operand else {
        return Err(mismatch("$jsonSchema", "an object"));
    };
    schema(document, &Subject::Document)
}

/// Parses a schema about what `path` leads to.
///
/// # Errors
/// As [`parse`].
pub(in crate::filter) fn parse_at(document: Doc<'_>, path: Path) -> Result<Filter> {
    schema(document, &Subject::Value(path)).map(canonical::simplify)
}

fn mismatch(keyword: &str, expected: &str) -> Error {
    Error::new(code::TYPE_MISMATCH, format!("$jsonSchema: '{keyword}' must be {expected}"))
}

fn unsuitable(message: String) -> Error {
    Error::new(code::FAILED_TO_PARSE, format!("$jsonSchema: {message}"))
}

/// The keywords of one schema, as they were found.
#[derive(Default)]
struct Keywords<'a> {
    found: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Keywords<'a> {
    fn collect(document: Doc<'a>) -> Result<Keywords<'a>> {
        let mut keywords = Keywords::default();
        for element in document {
            let name = element.key_str();
            match name {
                "type"
                | "bsonType"
                | "enum"
                | "minimum"
                | "maximum"
                | "exclusiveMinimum"
                | "exclusiveMaximum"
                | "multipleOf"
                | "minLength"
                | "maxLength"
                | "pattern"
                | "minItems"
                | "maxItems"
                | "uniqueItems"
                | "items"
                | "additionalItems"
                | "required"
                | "properties"
                | "patternProperties"
                | "additionalProperties"
                | "minProperties"
                | "maxProperties"
                | "dependencies"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "not"
                | "title"
                | "description" => {}
                "$ref" | "$schema" | "default" | "definitions" | "format" | "id" | "encrypt" | "encryptMetadata" => {
                    return Err(unsuitable(format!("the keyword '{name}' is not supported")));
                }
                _ => return Err(unsuitable(format!("unknown keyword '{name}'"))),
            }
            if keywords.get(name).is_some() {
                return Err(unsuitable(format!("the keyword '{name}' stands twice")));
            }
            keywords.found.push((name, element.value()));
        }
        Ok(keywords)
    }

    fn get(&self, name: &str) -> Option<Value<'a>> {
        self.found.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }

    fn document(&self, name: &str) -> Result<Option<Doc<'a>>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Document(document)) => Ok(Some(document)),
            Some(_) => Err(mismatch(name, "an object")),
        }
    }

    fn array(&self, name: &str) -> Result<Option<Doc<'a>>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(array)) => Ok(Some(array)),
            Some(_) => Err(mismatch(name, "an array")),
        }
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(mismatch(name, "a string")),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(_) => Err(mismatch(name, "a boolean")),
        }
    }

    fn number(&self, name: &str) -> Result<Option<Value<'a>>> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.kind().is_number() => Ok(Some(value)),
            Some(_) => Err(mismatch(name, "a number")),
        }
    }

    /// A number of things: an integer from 0.
    fn count(&self, name: &str) -> Result<Option<u64>> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_exact_i64().and_then(|n| u64::try_from(n).ok()) {
                Some(count) => Ok(Some(count)),
                None => Err(unsuitable(format!("'{name}' must be an integer from 0"))),
            },
        }
    }

    /// A list of schemas.
    fn schemas(&self, name: &str, subject: &Subject) -> Result<Option<Vec<Filter>>> {
        let Some(array) = self.array(name)? else {
            return Ok(None);
        };
        if array.is_empty() {
            return Err(Error::new(code::BAD_VALUE, format!("$jsonSchema: '{name}' must not be empty")));
        }
        let member = |element: Element<'a>| match element.value() {
            Value::Document(document) => schema(document, subject),
            _ => Err(mismatch(name, "an array of objects")),
        };
        array.iter().map(member).collect::<Result<Vec<Filter>>>().map(Some)
    }
}

/// Exactly one of them: if there is one only, that one.
fn one_of(mut schemas: Vec<Filter>) -> Filter {
    match (schemas.pop(), schemas.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            schemas.extend(last);
            Filter::Schema(Schema::OneOf(schemas))
        }
    }
}

fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

/// One schema about one subject.
fn schema(document: Doc<'_>, subject: &Subject) -> Result<Filter> {
    let keywords = Keywords::collect(document)?;
    keywords.text("title")?;
    keywords.text("description")?;
    let mut filters = Vec::new();
    logical(&keywords, subject, &mut filters)?;
    scalars(&keywords, subject, &mut filters)?;
    arrays(&keywords, subject, &mut filters)?;
    objects(&keywords, subject, &mut filters)?;
    filters.extend(stated_type(&keywords, subject)?);
    Ok(Filter::And(filters))
}

/// A condition that only values of some types must meet.
fn restrict(subject: &Subject, types: TypeSet, condition: impl FnOnce(Path) -> Filter) -> Filter {
    match subject {
        // The document is a document: what restricts other types holds.
        Subject::Document => Filter::AlwaysTrue,
        Subject::Value(path) => {
            let typed = Filter::Schema(Schema::Value { path: path.clone(), rule: Rule::Type(types) });
            Filter::Or(vec![not(typed), condition(path.clone())])
        }
    }
}

fn only(kind: Kind) -> TypeSet {
    let mut types = TypeSet::new();
    types.insert(kind);
    types
}

fn numbers() -> TypeSet {
    let mut types = TypeSet::new();
    types.insert_numbers();
    types
}

fn rule(rule: Rule) -> impl FnOnce(Path) -> Filter {
    move |path| Filter::Schema(Schema::Value { path, rule })
}

fn stated_type(keywords: &Keywords<'_>, subject: &Subject) -> Result<Option<Filter>> {
    let (name, operand) = match (keywords.get("type"), keywords.get("bsonType")) {
        (Some(_), Some(_)) => return Err(unsuitable("'type' and 'bsonType' exclude each other".to_owned())),
        (Some(operand), None) => ("type", operand),
        (None, Some(operand)) => ("bsonType", operand),
        (None, None) => return Ok(None),
    };
    let mut types = TypeSet::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut add = |alias: &Value<'_>| -> Result<()> {
        let Value::String(alias) = alias else {
            return Err(mismatch(name, "a string or an array of strings"));
        };
        match (alias.as_str(), name) {
            ("integer", _) => Err(unsuitable("the type 'integer' is not supported".to_owned())),
            (alias, "bsonType") => types.insert_alias(alias),
            ("boolean", _) => types.insert_alias("bool"),
            (alias @ ("object" | "array" | "string" | "number" | "null"), _) => types.insert_alias(alias),
            (alias, _) => Err(Error::new(code::BAD_VALUE, format!("$jsonSchema: unknown type name '{alias}'"))),
        }
    };
    match operand {
        Value::Array(members) => {
            for member in members {
                let value = member.value();
                add(&value)?;
                let alias = value.as_str().unwrap_or_default();
                if seen.contains(&alias) {
                    return Err(unsuitable(format!("'{name}' names '{alias}' twice")));
                }
                seen.push(alias);
            }
            if seen.is_empty() {
                return Err(unsuitable(format!("'{name}' must name a type")));
            }
        }
        other => add(&other)?,
    }
    Ok(Some(match subject {
        Subject::Document if types.contains(Kind::Document) => Filter::AlwaysTrue,
        Subject::Document => Filter::AlwaysFalse,
        Subject::Value(path) => rule(Rule::Type(types))(path.clone()),
    }))
}

fn logical(keywords: &Keywords<'_>, subject: &Subject, filters: &mut Vec<Filter>) -> Result<()> {
    filters.extend(keywords.schemas("allOf", subject)?.map(Filter::And));
    filters.extend(keywords.schemas("anyOf", subject)?.map(Filter::Or));
    filters.extend(keywords.schemas("oneOf", subject)?.map(one_of));
    if let Some(document) = keywords.document("not")? {
        filters.push(not(schema(document, subject)?));
    }
    if let Some(array) = keywords.array("enum")? {
        if array.is_empty() {
            return Err(unsuitable("'enum' must not be empty".to_owned()));
        }
        let mut values: Vec<Value<'_>> = Vec::new();
        for member in array {
            let value = member.value();
            if values.iter().any(|other| equal_unordered(other, &value)) {
                return Err(unsuitable("'enum' holds a value twice".to_owned()));
            }
            values.push(value);
        }
        let values: Vec<OwnedValue> = values.into_iter().map(OwnedValue::new).collect();
        filters.push(match subject {
            Subject::Document if values.iter().all(|value| value.kind() != Kind::Document) => Filter::AlwaysFalse,
            Subject::Document => Filter::Schema(Schema::OneDocumentOf(values)),
            Subject::Value(path) => rule(Rule::OneOf(values))(path.clone()),
        });
    }
    Ok(())
}

fn scalars(keywords: &Keywords<'_>, subject: &Subject, filters: &mut Vec<Filter>) -> Result<()> {
    for (name, exclusive, loose, strict) in [
        ("maximum", "exclusiveMaximum", CompareOp::Lte, CompareOp::Lt),
        ("minimum", "exclusiveMinimum", CompareOp::Gte, CompareOp::Gt),
    ] {
        let Some(bound) = keywords.number(name)? else {
            if keywords.get(exclusive).is_some() {
                return Err(unsuitable(format!("'{exclusive}' needs '{name}'")));
            }
            continue;
        };
        let op = if keywords.flag(exclusive)? == Some(true) { strict } else { loose };
        filters.push(restrict(subject, numbers(), |path| {
            Filter::Compare(Compare::new(path, op, OwnedValue::new(bound), None))
        }));
    }
    if let Some(divisor) = keywords.number("multipleOf")? {
        let is_positive = bindery_document::order::compare(&divisor, &Value::Int32(0)).is_gt();
        let is_finite = divisor.as_f64().is_some_and(f64::is_finite)
            || matches!(divisor, Value::Decimal128(d) if d.normalized().is_some());
        if divisor.as_f64().is_some_and(f64::is_nan) || (is_positive && !is_finite) {
            if let Subject::Value(_) = subject {
                return Err(Error::new(code::BAD_VALUE, "$jsonSchema: 'multipleOf' must be finite"));
            }
        } else if !is_positive {
            return Err(unsuitable("'multipleOf' must be positive".to_owned()));
        }
        filters.push(restrict(subject, numbers(), rule(Rule::MultipleOf(OwnedValue::new(divisor)))));
    }
    if let Some(count) = keywords.count("maxLength")? {
        filters.push(restrict(subject, only(Kind::String), rule(Rule::MaxLength(count))));
    }
    if let Some(count) = keywords.count("minLength")? {
        filters.push(restrict(subject, only(Kind::String), rule(Rule::MinLength(count))));
    }
    if let Some(pattern) = keywords.text("pattern")?
        && let Subject::Value(path) = subject
    {
        let test = RegexTest::parse(path.clone(), pattern, "")?;
        filters.push(restrict(subject, only(Kind::String), |_| Filter::Regex(test)));
    }
    Ok(())
}

fn arrays(keywords: &Keywords<'_>, subject: &Subject, filters: &mut Vec<Filter>) -> Result<()> {
    let mut add = |condition: Rule| filters.push(restrict(subject, only(Kind::Array), rule(condition)));
    if let Some(count) = keywords.count("maxItems")? {
        add(Rule::MaxItems(count));
    }
    if let Some(count) = keywords.count("minItems")? {
        add(Rule::MinItems(count));
    }
    if keywords.flag("uniqueItems")? == Some(true) {
        add(Rule::UniqueItems);
    }
    let of_item = Subject::Value(Path::of_value());
    let mut n_positions = None;
    match keywords.get("items") {
        None => {}
        Some(Value::Document(items)) => {
            let filter = canonical::simplify(schema(items, &of_item)?);
            add(Rule::ItemsFrom(0, Box::new(filter)));
        }
        Some(Value::Array(items)) => {
            let mut positions = 0;
            for item in items {
                let Value::Document(item) = item.value() else {
                    return Err(mismatch("items", "an object or an array of objects"));
                };
                let filter = canonical::simplify(schema(item, &of_item)?);
                add(Rule::ItemAt(positions, Box::new(filter)));
                positions += 1;
            }
            n_positions = Some(positions);
        }
        Some(_) => return Err(mismatch("items", "an object or an array of objects")),
    }
    let additional = match keywords.get("additionalItems") {
        None => return Ok(()),
        Some(Value::Boolean(true)) => Filter::AlwaysTrue,
        Some(Value::Boolean(false)) => Filter::AlwaysFalse,
        Some(Value::Document(document)) => canonical::simplify(schema(document, &of_item)?),
        Some(_) => return Err(mismatch("additionalItems", "an object or a boolean")),
    };
    // Without a list of positions there is nothing additional.
    if let Some(positions) = n_positions {
        add(Rule::ItemsFrom(positions, Box::new(additional)));
    }
    Ok(())
}

/// The keywords about fields; for a value inside the document they ask it as a document of its own.
fn objects(keywords: &Keywords<'_>, subject: &Subject, filters: &mut Vec<Filter>) -> Result<()> {
    let mut conditions = Vec::new();
    if let Some(names) = keywords.array("required")? {
        let names = distinct_names("required", names)?;
        conditions.extend(names.into_iter().map(|name| Filter::Exists(Path::parse(name))));
    }
    let mut property_names: Vec<Box<str>> = Vec::new();
    if let Some(properties) = keywords.document("properties")? {
        for property in properties {
            let Value::Document(document) = property.value() else {
                return Err(mismatch(property.key_str(), "an object"));
            };
            property_names.push(property.key_str().into());
            let path = Path::parse(property.key_str());
            let filter = schema(document, &Subject::Value(path.clone()))?;
            conditions.push(Filter::Or(vec![not(Filter::Exists(path)), filter]));
        }
    }
    conditions.extend(other_properties(keywords, property_names)?);
    if let Some(count) = keywords.count("minProperties")? {
        conditions.push(Filter::Schema(Schema::MinProperties(count)));
    }
    if let Some(count) = keywords.count("maxProperties")? {
        conditions.push(Filter::Schema(Schema::MaxProperties(count)));
    }
    if let Some(dependencies) = keywords.document("dependencies")? {
        for dependency in dependencies {
            conditions.push(depends(dependency)?);
        }
    }
    match subject {
        Subject::Document => filters.append(&mut conditions),
        Subject::Value(_) if conditions.is_empty() => {}
        Subject::Value(_) => {
            let filter = canonical::simplify(Filter::And(conditions));
            filters.push(restrict(subject, only(Kind::Document), rule(Rule::Object(Box::new(filter)))));
        }
    }
    Ok(())
}

fn distinct_names<'a>(keyword: &str, names: Doc<'a>) -> Result<Vec<&'a str>> {
    let mut distinct = Vec::new();
    for name in names {
        let Value::String(name) = name.value() else {
            return Err(mismatch(keyword, "an array of strings"));
        };
        if distinct.contains(&name.as_str()) {
            return Err(unsuitable(format!("'{keyword}' names '{}' twice", name.as_str())));
        }
        distinct.push(name.as_str());
    }
    if distinct.is_empty() {
        return Err(unsuitable(format!("'{keyword}' must not be empty")));
    }
    Ok(distinct)
}

/// `patternProperties` and `additionalProperties`.
fn other_properties(keywords: &Keywords<'_>, names: Vec<Box<str>>) -> Result<Option<Filter>> {
    let of_field = Subject::Value(Path::of_value());
    let mut patterns = Vec::new();
    if let Some(properties) = keywords.document("patternProperties")? {
        for property in properties {
            let Value::Document(document) = property.value() else {
                return Err(mismatch("patternProperties", "an object of objects"));
            };
            let regex = Regex::new(property.key_str(), "").map_err(|why: RegexError| {
                Error::new(code::BAD_VALUE, format!("$jsonSchema: 'patternProperties': {why}"))
            })?;
            patterns.push((regex, canonical::simplify(schema(document, &of_field)?)));
        }
    }
    let additional = match keywords.get("additionalProperties") {
        None | Some(Value::Boolean(true)) => Filter::AlwaysTrue,
        Some(Value::Boolean(false)) => Filter::AlwaysFalse,
        Some(Value::Document(document)) => canonical::simplify(schema(document, &of_field)?),
        Some(_) => return Err(mismatch("additionalProperties", "an object or a boolean")),
    };
    if patterns.is_empty() && additional == Filter::AlwaysTrue {
        return Ok(None);
    }
    Ok(Some(Filter::Schema(Schema::Properties(Box::new(Properties { names, patterns, additional })))))
}

/// One entry of `dependencies`: what must hold when a field is there.
fn depends(dependency: Element<'_>) -> Result<Filter> {
    let path = Path::parse(dependency.key_str());
    let demanded = match dependency.value() {
        Value::Document(document) => schema(document, &Subject::Document)?,
        Value::Array(names) => {
            let names = distinct_names(dependency.key_str(), names)?;
            Filter::And(names.into_iter().map(|name| Filter::Exists(Path::parse(name))).collect())
        }
        _ => return Err(mismatch("dependencies", "an object of objects and arrays")),
    };
    Ok(Filter::Or(vec![not(Filter::Exists(path)), demanded]))
}
