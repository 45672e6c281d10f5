//! The rules of a `$jsonSchema` that a document breaks, in the order in which MongoDB tells them.
//!
//! A keyword without schemas in it is compiled and asked like any other filter; those that hold schemas (`properties`,
//! `items`, `anyOf`, ...) are walked here.

use std::ops::ControlFlow;

use bindery_document::path::{Leaf, Reached};
use bindery_document::{Builder, Doc, DocBuf, Element, Error, Kind, Path, Result, Value, code, order};

use super::{Detail, append_documents, append_values, field_of};
use crate::filter::json_schema;
use crate::regex::Regex;

/// Says which rules of a schema the document breaks.
///
/// # Errors
/// As parsing the schema; it was parsed before, so there are none.
pub(super) fn explain(schema: Doc<'_>, document: Doc<'_>, detail: Detail) -> Result<DocBuf> {
    let subject = Subject {
        value: Element { key: b"", kind: Kind::Document, bytes: document.as_bytes() },
        is_document: true,
        detail,
    };
    Ok(match broken(schema, subject)? {
        Broken::Never(details) => details,
        Broken::Rules(rules) => {
            let mut out = Builder::new();
            out.append("operatorName", "$jsonSchema");
            append_annotations(schema, &mut out);
            append_documents("schemaRulesNotSatisfied", &rules, &mut out);
            out.finish()
        }
    })
}

/// What a schema is asked about.
#[derive(Clone, Copy)]
struct Subject<'a> {
    value: Element<'a>,
    /// The document itself, whose type is no question.
    is_document: bool,
    detail: Detail,
}

impl<'a> Subject<'a> {
    /// A value within this one.
    fn within(self, value: Element<'a>) -> Subject<'a> {
        Subject { value, is_document: false, ..self }
    }

    /// Its fields or elements.
    fn members(self) -> Doc<'a> {
        Doc::from_stored(self.value.bytes)
    }
}

/// How a schema is broken.
enum Broken {
    /// By these rules; by none if it holds.
    Rules(Vec<DocBuf>),
    /// It asks of a document to be none.
    Never(DocBuf),
}

impl Broken {
    fn holds(&self) -> bool {
        matches!(self, Broken::Rules(rules) if rules.is_empty())
    }

    fn append_details(&self, out: &mut Builder) {
        match self {
            Broken::Rules(rules) => append_documents("details", rules, out),
            Broken::Never(details) => out.append("details", Value::Document(details.doc())),
        }
    }
}

/// The title and the description of a schema.
fn append_annotations(schema: Doc<'_>, out: &mut Builder) {
    for name in ["title", "description"] {
        if let Some(text @ Value::String(_)) = schema.get(name) {
            out.append(name, text);
        }
    }
}

fn document_of<'a>(schema: Doc<'a>, name: &str) -> Option<Doc<'a>> {
    match schema.get(name) {
        Some(Value::Document(document)) => Some(document),
        _ => None,
    }
}

fn array_of<'a>(schema: Doc<'a>, name: &str) -> Option<Doc<'a>> {
    match schema.get(name) {
        Some(Value::Array(array)) => Some(array),
        _ => None,
    }
}

/// The rules of `schema` that its subject breaks.
fn broken(schema: Doc<'_>, subject: Subject<'_>) -> Result<Broken> {
    let stated_type = schema.iter().find(|e| matches!(e.key, b"type" | b"bsonType"));
    if let Some(stated) = stated_type.filter(|_| subject.is_document)
        && !holds(&[stated], subject)?
    {
        let mut out = Builder::new();
        out.append("operatorName", "$jsonSchema");
        if subject.detail == Detail::Full {
            let specified = field_of("$jsonSchema", Value::Document(schema));
            out.append("specifiedAs", Value::Document(specified.doc()));
        }
        out.append("reason", "expression always evaluates to false");
        return Ok(Broken::Never(out.finish()));
    }
    let mut rules = Vec::new();
    if !subject.is_document {
        values(schema, subject, &mut rules)?;
    }
    match subject.value.kind {
        Kind::Array => items(schema, subject, &mut rules)?,
        Kind::Document => fields(schema, subject, &mut rules)?,
        _ => {}
    }
    schemas(schema, subject, &mut rules)?;
    enumeration(schema, subject, &mut rules)?;
    if let Some(stated) = stated_type.filter(|_| !subject.is_document)
        && !holds(&[stated], subject)?
    {
        rules.push(rule(stated.key_str(), &[stated], "type did not match", subject, |out| {
            out.append("consideredType", subject.value.kind.alias());
        }));
    }
    Ok(Broken::Rules(rules))
}

/// Whether keywords hold that have no schemas in them.
fn holds(keywords: &[Element<'_>], subject: Subject<'_>) -> Result<bool> {
    let mut schema = Builder::new();
    keywords.iter().for_each(|keyword| schema.append_element(*keyword));
    let schema = schema.finish();
    if subject.is_document {
        json_schema::parse(Value::Document(schema.doc()))?.matches(subject.members())
    } else {
        json_schema::parse_at(schema.doc(), Path::of_value())?.matches_value(subject.value)
    }
}

/// A broken rule that is about a value as a whole.
fn rule(
    name: &str,
    keywords: &[Element<'_>],
    reason: &str,
    subject: Subject<'_>,
    more: impl FnOnce(&mut Builder),
) -> DocBuf {
    let mut out = Builder::new();
    out.append("operatorName", name);
    if subject.detail == Detail::Full {
        let open = out.open_document("specifiedAs");
        keywords.iter().for_each(|keyword| out.append_element(*keyword));
        out.close(open);
    }
    out.append("reason", reason);
    if subject.detail == Detail::Full {
        out.append("consideredValue", subject.value.value());
        more(&mut out);
    }
    out.finish()
}

/// Keywords about numbers, strings and the size of arrays.
fn values(schema: Doc<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    const COMPARISON: &str = "comparison failed";
    const LENGTH: &str = "specified string length was not satisfied";
    const SIZE: &str = "array did not match specified length";
    for (name, exclusive, reason) in [
        ("multipleOf", None, "considered value is not a multiple of the specified value"),
        ("maximum", Some("exclusiveMaximum"), COMPARISON),
        ("minimum", Some("exclusiveMinimum"), COMPARISON),
        ("pattern", None, "regular expression did not match"),
        ("maxLength", None, LENGTH),
        ("minLength", None, LENGTH),
        ("minItems", None, SIZE),
        ("maxItems", None, SIZE),
        ("uniqueItems", None, "found a duplicate item"),
    ] {
        let Some(keyword) = schema.element(name.as_bytes()) else { continue };
        let exclusive = exclusive.and_then(|name: &str| schema.element(name.as_bytes()));
        let keywords: Vec<Element<'_>> = [keyword].into_iter().chain(exclusive).collect();
        if holds(&keywords, subject)? {
            continue;
        }
        rules.push(rule(name, &keywords, reason, subject, |out| match name {
            "minItems" | "maxItems" => out.append("numberOfItems", subject.members().count() as i32),
            "uniqueItems" => {
                if let Some(duplicate) = duplicate(subject.members()) {
                    out.append("duplicatedValue", duplicate.value());
                }
            }
            _ => {}
        }));
    }
    Ok(())
}

/// The first element that equals one before it.
fn duplicate(array: Doc<'_>) -> Option<Element<'_>> {
    let mut seen: Vec<Element<'_>> = Vec::new();
    for element in array {
        let value = element.value();
        let place = seen.binary_search_by(|other| order::compare(&other.value(), &value));
        match place {
            Ok(_) => return Some(element),
            Err(place) => seen.insert(place, element),
        }
    }
    None
}

/// `items` and `additionalItems`.
fn items(schema: Doc<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    let array = subject.members();
    let placed = match schema.get("items") {
        Some(Value::Document(every)) => {
            let reason = "At least one item did not match the sub-schema";
            rules.extend(first_item("items", every, reason, array.iter().enumerate(), subject)?);
            return Ok(());
        }
        Some(Value::Array(placed)) => placed,
        _ => return Ok(()),
    };
    let mut details = Vec::new();
    for (nth, (schema, item)) in placed.iter().zip(array).enumerate() {
        let Value::Document(schema) = schema.value() else { continue };
        let broken = broken(schema, subject.within(item))?;
        if !broken.holds() {
            let mut out = Builder::new();
            out.append("itemIndex", nth as i64);
            broken.append_details(&mut out);
            details.push(out.finish());
        }
    }
    if !details.is_empty() {
        let mut out = Builder::new();
        out.append("operatorName", "items");
        append_documents("details", &details, &mut out);
        rules.push(out.finish());
    }
    let more = || array.iter().enumerate().skip(placed.count());
    match schema.get("additionalItems") {
        Some(Value::Boolean(false)) if more().next().is_some() => {
            let mut out = Builder::new();
            out.append("operatorName", "additionalItems");
            append_specified(schema, "additionalItems", subject, &mut out);
            out.append("reason", "found additional items");
            if subject.detail == Detail::Full {
                append_values("additionalItems", more().map(|(_, item)| item.value()), &mut out);
            }
            rules.push(out.finish());
        }
        Some(Value::Document(schema)) => {
            let reason = "At least one additional item did not match the sub-schema";
            rules.extend(first_item("additionalItems", schema, reason, more(), subject)?);
        }
        _ => {}
    }
    Ok(())
}

/// The first item that breaks the schema for all.
fn first_item<'a>(
    name: &str,
    schema: Doc<'_>,
    reason: &str,
    items: impl Iterator<Item = (usize, Element<'a>)>,
    subject: Subject<'a>,
) -> Result<Option<DocBuf>> {
    for (nth, item) in items {
        let broken = broken(schema, subject.within(item))?;
        if !broken.holds() {
            let mut out = Builder::new();
            out.append("operatorName", name);
            append_annotations(schema, &mut out);
            out.append("reason", reason);
            out.append("itemIndex", nth as i32);
            broken.append_details(&mut out);
            return Ok(Some(out.finish()));
        }
    }
    Ok(None)
}

fn append_specified(schema: Doc<'_>, name: &str, subject: Subject<'_>, out: &mut Builder) {
    if let Some(keyword) = schema.element(name.as_bytes()).filter(|_| subject.detail == Detail::Full) {
        let open = out.open_document("specifiedAs");
        out.append_element(keyword);
        out.close(open);
    }
}

/// Keywords about the fields of a document.
fn fields(schema: Doc<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    properties(schema, subject, rules)?;
    let patterns = document_of(schema, "patternProperties").map(compile_patterns).transpose()?.unwrap_or_default();
    additional_properties(schema, &patterns, subject, rules)?;
    pattern_properties(&patterns, subject, rules)?;
    let document = subject.members();
    if let Some(required) = array_of(schema, "required") {
        let mut missing = missing_names(required, document);
        missing.sort_unstable();
        if !missing.is_empty() {
            let mut out = Builder::new();
            out.append("operatorName", "required");
            append_specified(schema, "required", subject, &mut out);
            append_values("missingProperties", missing.into_iter().map(Value::from), &mut out);
            rules.push(out.finish());
        }
    }
    let n_fields = document.count() as i64;
    for (name, is_kept) in [("minProperties", i64::ge as fn(&i64, &i64) -> bool), ("maxProperties", i64::le)] {
        let Some(bound) = schema.get(name).and_then(|bound| bound.as_exact_i64()) else { continue };
        if !is_kept(&n_fields, &bound) {
            let mut out = Builder::new();
            out.append("operatorName", name);
            append_specified(schema, name, subject, &mut out);
            out.append("reason", "specified number of properties was not satisfied");
            out.append("numberOfProperties", n_fields as i32);
            rules.push(out.finish());
        }
    }
    dependencies(schema, subject, rules)
}

/// The names in an array that are no fields of the document.
fn missing_names<'a>(names: Doc<'a>, document: Doc<'_>) -> Vec<&'a str> {
    let names = names.iter().filter_map(|name| match name.value() {
        Value::String(name) => Some(name.as_str()),
        _ => None,
    });
    names.filter(|name| values_at(document, name).is_empty()).collect()
}

fn properties(schema: Doc<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    let Some(properties) = document_of(schema, "properties") else { return Ok(()) };
    let mut found = Vec::new();
    for property in properties {
        let Value::Document(schema) = property.value() else { continue };
        // Of several values one has to be right; the first is explained.
        let mut first = None;
        for value in values_at(subject.members(), property.key_str()) {
            let broken = broken(schema, subject.within(value))?;
            if broken.holds() {
                first = None;
                break;
            }
            first.get_or_insert(broken);
        }
        if let Some(broken) = first {
            let mut out = Builder::new();
            out.append("propertyName", property.key_str());
            append_annotations(schema, &mut out);
            broken.append_details(&mut out);
            found.push(out.finish());
        }
    }
    if !found.is_empty() {
        let mut out = Builder::new();
        out.append("operatorName", "properties");
        append_documents("propertiesNotSatisfied", &found, &mut out);
        rules.push(out.finish());
    }
    Ok(())
}

/// A property's values: a name with dots is a path, as everywhere in queries, and may lead through arrays.
fn values_at<'a>(document: Doc<'a>, name: &str) -> Vec<Element<'a>> {
    if !name.contains('.') {
        return document.element(name.as_bytes()).into_iter().collect();
    }
    let mut values = Vec::new();
    let _ = Path::parse(name).visit(document, Leaf::Whole, &mut |reached: Reached<'a>| {
        values.extend(reached.element);
        ControlFlow::<()>::Continue(())
    });
    values
}

/// A pattern as it was written, compiled, and the schema of the fields whose names it matches.
type Patterns<'a> = Vec<(&'a str, Regex, Doc<'a>)>;

fn compile_patterns(patterns: Doc<'_>) -> Result<Patterns<'_>> {
    let mut compiled = Vec::new();
    for pattern in patterns {
        let Value::Document(schema) = pattern.value() else { continue };
        let regex = Regex::new(pattern.key_str(), "").map_err(|why| Error::new(code::BAD_VALUE, why.to_string()))?;
        compiled.push((pattern.key_str(), regex, schema));
    }
    Ok(compiled)
}

fn additional_properties(
    schema: Doc<'_>,
    patterns: &Patterns<'_>,
    subject: Subject<'_>,
    rules: &mut Vec<DocBuf>,
) -> Result<()> {
    let declared = document_of(schema, "properties");
    let is_additional = |field: &Element<'_>| {
        declared.is_none_or(|properties| properties.element(field.key).is_none())
            && !patterns.iter().any(|(_, regex, _)| regex.is_match(field.key).unwrap_or(false))
    };
    let mut additional = subject.members().iter().filter(is_additional).peekable();
    match schema.get("additionalProperties") {
        Some(Value::Boolean(false)) if additional.peek().is_some() => {
            let mut out = Builder::new();
            out.append("operatorName", "additionalProperties");
            append_specified(schema, "additionalProperties", subject, &mut out);
            append_values("additionalProperties", additional.map(|field| Value::from(field.key_str())), &mut out);
            rules.push(out.finish());
        }
        Some(Value::Document(every)) => {
            for field in additional {
                let broken = broken(every, subject.within(field))?;
                if !broken.holds() {
                    let mut out = Builder::new();
                    out.append("operatorName", "additionalProperties");
                    append_annotations(every, &mut out);
                    out.append("reason", "at least one additional property did not match the subschema");
                    out.append("failingProperty", field.key_str());
                    broken.append_details(&mut out);
                    rules.push(out.finish());
                    break;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Of each pattern, the first field that breaks its schema.
fn pattern_properties(patterns: &Patterns<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    let mut details = Vec::new();
    for (pattern, regex, schema) in patterns {
        for field in subject.members().iter().filter(|field| regex.is_match(field.key).unwrap_or(false)) {
            let broken = broken(*schema, subject.within(field))?;
            if !broken.holds() {
                let mut out = Builder::new();
                out.append("propertyName", field.key_str());
                append_annotations(*schema, &mut out);
                out.append("regexMatched", *pattern);
                broken.append_details(&mut out);
                details.push(out.finish());
                break;
            }
        }
    }
    if !details.is_empty() {
        let mut out = Builder::new();
        out.append("operatorName", "patternProperties");
        append_documents("details", &details, &mut out);
        rules.push(out.finish());
    }
    Ok(())
}

fn dependencies(schema: Doc<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    let Some(dependencies) = document_of(schema, "dependencies") else { return Ok(()) };
    let document = subject.members();
    let mut failing = Vec::new();
    for dependency in dependencies {
        if values_at(document, dependency.key_str()).is_empty() {
            continue;
        }
        let mut out = Builder::new();
        out.append("conditionalProperty", dependency.key_str());
        match dependency.value() {
            Value::Array(names) => {
                let missing = missing_names(names, document);
                if missing.is_empty() {
                    continue;
                }
                append_values("missingProperties", missing.into_iter().map(Value::from), &mut out);
            }
            Value::Document(schema) => {
                let broken = broken(schema, subject)?;
                if broken.holds() {
                    continue;
                }
                broken.append_details(&mut out);
            }
            _ => continue,
        }
        failing.push(out.finish());
    }
    if !failing.is_empty() {
        let mut out = Builder::new();
        out.append("operatorName", "dependencies");
        append_documents("failingDependencies", &failing, &mut out);
        rules.push(out.finish());
    }
    Ok(())
}

/// `allOf`, `anyOf`, `oneOf` and `not`.
fn schemas(schema: Doc<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    for name in ["allOf", "anyOf", "oneOf"] {
        let Some(members) = array_of(schema, name) else { continue };
        let (mut failing, mut matching) = (Vec::new(), Vec::new());
        for (nth, member) in members.iter().enumerate() {
            let Value::Document(member) = member.value() else { continue };
            let broken = broken(member, subject)?;
            if broken.holds() {
                matching.push(nth as i32);
                continue;
            }
            let mut out = Builder::new();
            out.append("index", nth as i32);
            append_annotations(member, &mut out);
            broken.append_details(&mut out);
            failing.push(out.finish());
        }
        let is_kept = match name {
            "allOf" => failing.is_empty(),
            "anyOf" => !matching.is_empty(),
            _ => matching.len() == 1,
        };
        if is_kept {
            continue;
        }
        let mut out = Builder::new();
        out.append("operatorName", name);
        if name == "oneOf" && !matching.is_empty() {
            out.append("reason", "more than one subschema matched");
            append_values("matchingSchemaIndexes", matching.into_iter().map(Value::Int32), &mut out);
        } else {
            append_documents("schemasNotSatisfied", &failing, &mut out);
        }
        rules.push(out.finish());
    }
    if let Some(unwanted) = document_of(schema, "not")
        && broken(unwanted, subject)?.holds()
    {
        let mut out = Builder::new();
        out.append("operatorName", "not");
        out.append("reason", "child expression matched");
        rules.push(out.finish());
    }
    Ok(())
}

fn enumeration(schema: Doc<'_>, subject: Subject<'_>, rules: &mut Vec<DocBuf>) -> Result<()> {
    let Some(keyword) = schema.element(b"enum") else { return Ok(()) };
    if holds(&[keyword], subject)? {
        return Ok(());
    }
    let has_documents = || Doc::from_stored(keyword.bytes).iter().any(|member| member.kind == Kind::Document);
    if subject.is_document && !has_documents() {
        let mut out = Builder::new();
        out.append("operatorName", "enum");
        append_specified(schema, "enum", subject, &mut out);
        out.append("reason", "expression always evaluates to false");
        rules.push(out.finish());
    } else {
        rules.push(rule("enum", &[keyword], "value was not found in enum", subject, |_| {}));
    }
    Ok(())
}
