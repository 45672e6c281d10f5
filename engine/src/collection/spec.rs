//! Index specifications: reading, checking and showing them.
//!
//! Sources: MongoDB's manual, "createIndexes" and "Index Properties"; the codes were asked of a real
//! server.

use bindery_document::{Builder, Doc, DocBuf, Error, Kind, Result, Value, code};

use bindery_query::collation::Collation;

use super::check_storage_engine;
use crate::command::args::to_integer;

/// The most fields that an index key may have.
const MAX_FIELDS: usize = 32;
/// More fields than that.
const TOO_MANY_FIELDS: i32 = 13_103;

/// Options of MongoDB's text and geospatial indexes, which are known and refused.
const UNSUPPORTED_OPTIONS: [&str; 10] = [
    "weights",
    "default_language",
    "language_override",
    "textIndexVersion",
    "2dsphereIndexVersion",
    "bits",
    "min",
    "max",
    "bucketSize",
    "coarsestIndexedLevel",
];

/// What an index is, as a client declares it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IndexSpec {
    /// The name, unique in the collection.
    pub(crate) name: String,
    /// The key pattern as it was given.
    pub(crate) key: DocBuf,
    /// 1 or 2; has no effect, but is shown again.
    version: i32,
    background: Option<bool>,
    /// Whether two documents may not share a key.
    pub(crate) unique: bool,
    /// Whether no write may make two documents share a key, though some may already.
    pub(crate) prepare_unique: bool,
    /// Whether documents without any of the fields are left out.
    pub(crate) sparse: bool,
    /// Whether `sparse: false` was said, which is shown again.
    said_not_sparse: bool,
    /// Whether the planner may not use it.
    pub(crate) hidden: bool,
    /// Documents older than this many seconds are deleted.
    pub(crate) expire_after_seconds: Option<i64>,
    /// The filter that documents in the index match.
    pub(crate) partial: Option<DocBuf>,
    /// The collation, whole.
    pub(crate) collation: Option<DocBuf>,
    /// Which paths a wildcard index holds.
    pub(crate) wildcard_projection: Option<DocBuf>,
    /// Whether it is the index that a clustered collection is ordered by.
    pub(crate) clustered: bool,
    /// What was declared, where that is not what is indexed.
    pub(crate) declared: Option<Box<Declared>>,
}

/// The parts of a specification that a time-series collection translates for its buckets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    pub(crate) key: DocBuf,
    pub(crate) partial: Option<DocBuf>,
}

impl IndexSpec {
    /// The specification of the index on `_id`.
    pub(crate) fn id() -> IndexSpec {
        let mut key = Builder::new();
        key.append("_id", 1);
        IndexSpec {
            name: "_id_".to_owned(),
            key: key.finish(),
            version: 2,
            background: None,
            unique: false,
            prepare_unique: false,
            sparse: false,
            said_not_sparse: false,
            hidden: false,
            expire_after_seconds: None,
            partial: None,
            collation: None,
            wildcard_projection: None,
            clustered: false,
            declared: None,
        }
    }

    /// The specification of an index without options, named as drivers do.
    pub(crate) fn plain(key: DocBuf) -> IndexSpec {
        IndexSpec { name: index_name(key.doc()), key, ..IndexSpec::id() }
    }

    /// The specification of the index that a clustered collection is ordered by.
    pub(crate) fn clustered(key: DocBuf, name: String) -> IndexSpec {
        IndexSpec { key, name, unique: true, clustered: true, ..IndexSpec::id() }
    }

    /// Reads one element of `createIndexes`' array.
    ///
    /// # Errors
    /// 67 for keys and combinations that cannot be, 197 for unknown fields (passed over if `ignore_unknown`), 14 for
    /// wrong types, 9 for missing ones.
    pub(crate) fn parse(doc: Doc<'_>, ignore_unknown: bool) -> Result<IndexSpec> {
        let (spec, expiry) = IndexSpec::read(doc, ignore_unknown)?;
        spec.check(expiry)?;
        Ok(spec)
    }

    /// Reads the fields of a specification, which is to be [checked](IndexSpec::check) as a whole then; with what is
    /// wrong with its expiry.
    ///
    /// # Errors
    /// As [`IndexSpec::parse`], for single fields.
    pub(crate) fn read(doc: Doc<'_>, ignore_unknown: bool) -> Result<(IndexSpec, Result<()>)> {
        let mut wrong_expiry = Ok(());
        let mut spec = IndexSpec { name: String::new(), ..IndexSpec::id() };
        let (mut has_key, mut has_name) = (false, false);
        for element in doc.iter() {
            let (field, value) = (element.key_str(), element.value());
            match field {
                "key" => {
                    let Value::Document(key) = value else { return Err(wrong_type(field, element.kind, "object")) };
                    check_key(key)?;
                    spec.key = DocBuf::from(key);
                    has_key = true;
                }
                "name" => {
                    let Some(name) = value.as_str() else { return Err(wrong_type(field, element.kind, "string")) };
                    spec.name = name.to_owned();
                    has_name = true;
                }
                "v" => match value.as_exact_i64() {
                    Some(version @ 1..=2) => spec.version = version as i32,
                    Some(_) => return Err(cannot("only versions 1 and 2 of indexes are allowed")),
                    None if to_integer(&value).is_some() => {
                        return Err(Error::new(code::BAD_VALUE, "an index version must be a 32-bit integer"));
                    }
                    None => return Err(wrong_type(field, element.kind, "number")),
                },
                "background" => spec.background = Some(flag(field, &value)?),
                "unique" => spec.unique = flag(field, &value)?,
                "prepareUnique" => spec.prepare_unique = flag(field, &value)?,
                "sparse" => {
                    spec.sparse = flag(field, &value)?;
                    spec.said_not_sparse = !spec.sparse;
                }
                "hidden" => {
                    spec.hidden = value.as_bool().ok_or_else(|| wrong_type(field, element.kind, "bool"))?;
                }
                "expireAfterSeconds" => match expiry(&value) {
                    Ok(seconds) => spec.expire_after_seconds = Some(seconds),
                    Err(wrong) => wrong_expiry = Err(wrong),
                },
                "partialFilterExpression" => spec.partial = Some(document(field, &value)?),
                "collation" => {
                    let collation = document(field, &value)?;
                    if collation.doc().is_empty() {
                        return Err(Error::new(code::BAD_VALUE, "The 'collation' of an index cannot be empty"));
                    }
                    spec.collation = Some(collation);
                }
                "wildcardProjection" => spec.wildcard_projection = Some(document(field, &value)?),
                "storageEngine" => {
                    let Value::Document(engine) = value else {
                        return Err(cannot("'storageEngine' must be a document"));
                    };
                    if engine.is_empty() {
                        return Err(cannot("an empty 'storageEngine' is not allowed"));
                    }
                    check_storage_engine(engine)?;
                }
                "ns" | "dropDups" => {}
                "clustered" => spec.clustered = flag(field, &value)?,
                other if UNSUPPORTED_OPTIONS.contains(&other) => {
                    return Err(cannot(&format!(
                        "'{other}' belongs to text and geospatial indexes, which are not supported"
                    )));
                }
                _ if ignore_unknown => {}
                other => {
                    return Err(Error::new(
                        code::INVALID_INDEX_SPECIFICATION_OPTION,
                        format!("The field '{other}' is not valid for an index specification"),
                    ));
                }
            }
        }
        if !has_key {
            return Err(match spec.wildcard_projection {
                Some(_) => Error::new(code::BAD_VALUE, "a 'wildcardProjection' needs the key of a wildcard index"),
                None => missing("key"),
            });
        }
        if !has_name {
            return Err(missing("name"));
        }
        Ok((spec, wrong_expiry))
    }

    /// Makes the collation whole, the collection's applying if none is given; one that says `simple` is none.
    ///
    /// # Errors
    /// What the collation's own checks say.
    pub(crate) fn complete(&mut self, default: Option<&DocBuf>) -> Result<()> {
        self.collation = match &self.collation {
            Some(given) => Collation::parse(given.doc())?.map(|collation| collation.to_document()),
            None => default.cloned(),
        };
        Ok(())
    }

    /// The checks that need the whole specification; `expiry` is what reading has found wrong with that.
    ///
    /// # Errors
    /// 67 for most that cannot be, 2 for reserved names.
    pub(crate) fn check(&self, expiry: Result<()>) -> Result<()> {
        expiry?;
        if self.name.is_empty() {
            return Err(cannot("index name cannot be empty"));
        }
        if self.name.contains('\0') {
            return Err(cannot("index name cannot contain NUL bytes"));
        }
        if self.name == "_id_" && !self.is_id_key() {
            return Err(Error::new(
                code::BAD_VALUE,
                "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}",
            ));
        }
        if self.clustered && !self.unique {
            return Err(cannot("The 'unique' field is required when 'clustered' is specified"));
        }
        if self.name == "*" {
            return Err(Error::new(code::BAD_VALUE, "The index name '*' is not valid."));
        }
        let fields = self.key.doc().count();
        if self.partial.is_some() && self.sparse {
            return Err(cannot("cannot mix 'partialFilterExpression' and 'sparse' options"));
        }
        if self.expire_after_seconds.is_some() && fields > 1 {
            return Err(cannot("TTL indexes are single-field indexes, compound indexes do not support TTL"));
        }
        if self.is_wildcard() {
            if fields > 1 {
                return Err(cannot("wildcard indexes do not allow compounding"));
            }
            if self.unique || self.sparse || self.expire_after_seconds.is_some() {
                return Err(cannot("wildcard indexes can be neither unique nor sparse nor TTL"));
            }
            let whole = self.key.doc().first().is_some_and(|e| e.key == b"$**");
            if self.wildcard_projection.is_some() && !whole {
                return Err(Error::new(
                    code::FAILED_TO_PARSE,
                    "'wildcardProjection' is only allowed on a '$**' index of all paths",
                ));
            }
            if self.wildcard_projection.as_ref().is_some_and(|p| p.doc().is_empty()) {
                return Err(Error::new(code::FAILED_TO_PARSE, "'wildcardProjection' cannot be empty"));
            }
        } else if self.wildcard_projection.is_some() {
            return Err(Error::new(code::BAD_VALUE, "'wildcardProjection' is only allowed on wildcard indexes"));
        }
        let hashed = self.key.doc().iter().filter(|e| e.value().as_str() == Some("hashed")).count();
        if hashed > 1 {
            return Err(Error::new(31_303, "A maximum of one index field is allowed to be hashed"));
        }
        if hashed == 1 && self.unique {
            return Err(Error::new(16_764, "Hashed indexes cannot guarantee uniqueness. Use a regular index."));
        }
        if self.is_id_key() && !self.clustered {
            self.check_id()?;
        }
        Ok(())
    }

    /// What an index on `_id` may not be.
    fn check_id(&self) -> Result<()> {
        let refused = [
            ("unique", self.unique),
            ("sparse", self.sparse || self.said_not_sparse),
            ("hidden", self.hidden),
            ("expireAfterSeconds", self.expire_after_seconds.is_some()),
            ("partialFilterExpression", self.partial.is_some()),
        ];
        match refused.iter().find(|(_, given)| *given) {
            Some((field, _)) => Err(Error::new(
                code::INVALID_INDEX_SPECIFICATION_OPTION,
                format!("The field '{field}' is not valid for an _id index specification"),
            )),
            None => Ok(()),
        }
    }

    /// Whether the key is `{_id: 1}`, as a number of any type.
    pub(crate) fn is_id_key(&self) -> bool {
        IndexSpec::is_id(self.key.doc())
    }

    /// Whether a key is `{_id: 1}`, as a number of any type.
    pub(crate) fn is_id(key: Doc<'_>) -> bool {
        let mut fields = key.iter();
        matches!((fields.next(), fields.next()), (Some(e), None) if e.key == b"_id" && e.value().as_f64() == Some(1.0))
    }

    /// Whether the index holds all paths.
    pub(crate) fn is_wildcard(&self) -> bool {
        self.key.doc().iter().any(|e| e.key == b"$**" || e.key.ends_with(b".$**"))
    }

    /// Whether `sparse` was said, be it false.
    pub(crate) fn says_sparse(&self) -> bool {
        self.sparse || self.said_not_sparse
    }

    /// The specification as it was declared.
    pub(crate) fn as_declared(&self) -> IndexSpec {
        let mut spec = self.clone();
        if let Some(declared) = spec.declared.take() {
            (spec.key, spec.partial) = (declared.key, declared.partial);
        }
        spec
    }

    /// Appends the fields that `listIndexes` shows, in the server's order.
    pub(crate) fn show(&self, out: &mut Builder) {
        out.append("v", self.version);
        out.append("key", Value::Document(self.key.doc()));
        out.append("name", self.name.as_str());
        if let Some(background) = self.background {
            out.append("background", background);
        }
        for (field, flag) in [("unique", self.unique), ("hidden", self.hidden)] {
            if flag {
                out.append(field, true);
            }
        }
        if let Some(partial) = &self.partial {
            out.append("partialFilterExpression", Value::Document(partial.doc()));
        }
        if self.sparse || self.said_not_sparse {
            out.append("sparse", self.sparse);
        }
        if let Some(seconds) = self.expire_after_seconds {
            out.append("expireAfterSeconds", seconds as i32);
        }
        if let Some(collation) = &self.collation {
            out.append("collation", Value::Document(collation.doc()));
        }
        if let Some(projection) = &self.wildcard_projection {
            out.append("wildcardProjection", Value::Document(projection.doc()));
        }
        for (field, flag) in [("prepareUnique", self.prepare_unique), ("clustered", self.clustered)] {
            if flag {
                out.append(field, true);
            }
        }
    }
}

/// Whether two documents compare equal, 1 being 1.0.
pub(crate) fn same_documents(a: Doc<'_>, b: Doc<'_>) -> bool {
    bindery_document::order::compare(&Value::Document(a), &Value::Document(b)).is_eq()
}

/// The name that drivers give an index: fields and directions joined by underscores.
pub(crate) fn index_name(key: Doc<'_>) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|e| match e.value() {
            Value::String(kind) => format!("{}_{}", e.key_str(), kind.as_str()),
            other => format!("{}_{}", e.key_str(), to_integer(&other).unwrap_or(1)),
        })
        .collect();
    parts.join("_")
}

fn check_key(key: Doc<'_>) -> Result<()> {
    if key.is_empty() {
        return Err(cannot("Index keys cannot be empty."));
    }
    if key.count() > MAX_FIELDS {
        return Err(Error::new(TOO_MANY_FIELDS, format!("an index has at most {MAX_FIELDS} fields")));
    }
    if key.count() == 1 && key.first().is_some_and(|e| e.key == b"_id" && e.value().as_f64().is_some_and(|n| n < 0.0)) {
        return Err(Error::new(code::BAD_VALUE, "The field 'key' for an _id index must be {_id: 1}"));
    }
    for element in key.iter() {
        check_key_name(element.key_str())?;
        match element.value() {
            Value::String(kind) => match kind.as_str() {
                "hashed" => {}
                "text" | "2d" | "2dsphere" => {
                    return Err(cannot(&format!("'{}' indexes are not supported", kind.as_str())));
                }
                other => return Err(cannot(&format!("Unknown index plugin '{other}'"))),
            },
            value => {
                let wildcard = element.key == b"$**" || element.key.ends_with(b".$**");
                match value.as_f64() {
                    Some(direction) if wildcard && direction < 0.0 => {
                        return Err(cannot("A numeric value in a $** index key pattern must be positive"));
                    }
                    Some(direction) if direction != 0.0 && !direction.is_nan() => {}
                    _ => {
                        return Err(cannot(
                            "Values in an index key pattern must be numbers other than 0, or the name of an index type",
                        ));
                    }
                }
            }
        }
    }
    let mut names: Vec<&[u8]> = key.iter().map(|e| e.key).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::new(code::BAD_VALUE, "an index key pattern cannot name a field twice"));
    }
    Ok(())
}

fn check_key_name(name: &str) -> Result<()> {
    let path = match name.strip_suffix("$**") {
        Some("") => return Ok(()),
        Some(prefix) => prefix.strip_suffix('.').unwrap_or(name),
        None => name,
    };
    if path.split('.').any(str::is_empty) {
        return Err(cannot("Index keys cannot contain an empty field."));
    }
    // References ($ref, $id, $db) are the only names that may start with a dollar, below the top.
    let dollar =
        |(i, part): (usize, &str)| part.starts_with('$') && (i == 0 || !matches!(part, "$ref" | "$id" | "$db"));
    if path.split('.').enumerate().any(dollar) {
        return Err(cannot("Index key contains an illegal field name: a part starts with '$'."));
    }
    Ok(())
}

fn expiry(value: &Value<'_>) -> Result<i64> {
    if value.as_f64().is_some_and(f64::is_nan) {
        // Never, as nearly as can be said.
        return Ok(i64::from(i32::MAX));
    }
    match to_integer(value) {
        None => Err(cannot("TTL index 'expireAfterSeconds' option must be numeric")),
        Some(seconds) if seconds < 0 => Err(cannot("TTL index 'expireAfterSeconds' option cannot be less than 0")),
        Some(seconds) if seconds > i64::from(i32::MAX) => {
            Err(cannot("TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number"))
        }
        Some(seconds) => Ok(seconds),
    }
}

fn flag(field: &str, value: &Value<'_>) -> Result<bool> {
    match value {
        Value::Boolean(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            Ok(value.is_truthy())
        }
        other => Err(wrong_type(field, other.kind(), "bool")),
    }
}

fn document(field: &str, value: &Value<'_>) -> Result<DocBuf> {
    match value {
        Value::Document(doc) => Ok(DocBuf::from(*doc)),
        other => Err(wrong_type(field, other.kind(), "object")),
    }
}

fn wrong_type(field: &str, found: Kind, expected: &str) -> Error {
    Error::new(
        code::TYPE_MISMATCH,
        format!("The field '{field}' must be of type {expected}, but got {}", found.alias()),
    )
}

fn missing(field: &str) -> Error {
    Error::new(code::FAILED_TO_PARSE, format!("The '{field}' field is a required property of an index specification"))
}

fn cannot(why: &str) -> Error {
    Error::new(code::CANNOT_CREATE_INDEX, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn parse(spec: bson::Document) -> std::result::Result<IndexSpec, i32> {
        IndexSpec::parse(DocBuf::from_bson(&spec).expect("document").doc(), false).map_err(|e| e.code)
    }

    #[test]
    fn impossible_indexes_are_refused_with_mongodbs_codes() {
        let cases = [
            (doc! {"key": {"a": 1}}, 9),
            (doc! {"name": "a"}, 9),
            (doc! {"key": {"a": 0}, "name": "a"}, 67),
            (doc! {"key": {"a": "asc"}, "name": "a"}, 67),
            (doc! {"key": {"": 1}, "name": "a"}, 67),
            (doc! {"key": {"a..b": 1}, "name": "a"}, 67),
            (doc! {"key": {"$a": 1}, "name": "a"}, 67),
            (doc! {"key": 1, "name": "a"}, 14),
            (doc! {"key": {"a": 1}, "name": 1}, 14),
            (doc! {"key": {"a": 1}, "name": "a", "foo": 1}, 197),
            (doc! {"key": {"a": 1}, "name": "a", "hidden": 1}, 14),
            (doc! {"key": {"a": 1, "b": 1}, "name": "a", "expireAfterSeconds": 1}, 67),
            (doc! {"key": {"a": 1}, "name": "a", "sparse": true, "partialFilterExpression": {"a": 1}}, 67),
            (doc! {"key": {"a": "hashed"}, "name": "a", "unique": true}, 16_764),
            (doc! {"key": {"a": "hashed", "b": "hashed"}, "name": "a"}, 31_303),
            (doc! {"key": {"$**": 1, "a": 1}, "name": "a"}, 67),
            (doc! {"key": {"_id": -1}, "name": "a"}, 2),
            (doc! {"key": {"_id": 1}, "name": "a", "sparse": true}, 197),
            (doc! {"key": {"_id": 1}, "name": "a", "sparse": false}, 197),
            (doc! {"key": {"a": 1}, "name": "_id_"}, 2),
            (doc! {"key": {"a": 1}, "name": "a\0b"}, 67),
            (doc! {"key": {"a": 1}, "name": "a", "v": 1.5}, 2),
            (doc! {"key": {"a": 1}, "name": "a", "clustered": true}, 67),
            (doc! {"key": {"a": 1}, "name": "a", "storageEngine": {"x": {}}}, 72),
        ];
        for (spec, expected) in cases {
            assert_eq!(parse(spec.clone()).expect_err("refused"), expected, "{spec}");
        }
    }

    #[test]
    fn shown_as_declared_in_the_servers_order() {
        let spec = parse(doc! {"name": "x", "sparse": 1, "unique": true, "key": {"a.b": -1.0}}).expect("spec");
        let mut out = Builder::new();
        spec.show(&mut out);
        let expected = doc! {"v": 2, "key": {"a.b": -1.0}, "name": "x", "unique": true, "sparse": true};
        assert_eq!(out.finish().as_bytes(), expected.to_vec().expect("bytes"));
        assert_eq!(index_name(spec.key.doc()), "a.b_-1");
    }
}
