//! Every argument of every command, given values of every type: the error must be MongoDB's.
//!
//! `arguments.jsonl` holds sound commands. In each, every value at any depth is replaced by each of the
//! [`substitutes`] in turn, and an unknown field is added to every document. The replies' codes are compared
//! with those of a real MongoDB; where one changes anything, the collections are made anew.
//!
//! Asked for by hand (`cargo test --test it -- --ignored differential_arguments`): it prints the codes that still
//! differ, and fails while there are any. `BINDERY_ARGUMENTS` keeps only the lines that hold this text.

use bson::raw::CString;
use bson::spec::BinarySubtype;
use bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, RawDocument, RawDocumentBuf, Regex,
    Timestamp, doc, oid::ObjectId,
};

use crate::conformance::say;
use crate::corpus::number;
use crate::extjson::read_document;
use crate::server::Server;
use crate::wire::Mongod;

const DATABASE: &str = "arguments";

/// A way through a document: field names, or positions in arrays.
#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Item(usize),
}

#[test]
#[ignore = "takes minutes, and lists codes that still differ"]
fn differential_arguments() {
    let Some(uri) = Mongod::uri() else {
        return;
    };
    let only = std::env::var("BINDERY_ARGUMENTS").unwrap_or_default();
    let substitutes = substitutes();
    let (mut theirs, mut ours) = (Mongod::connect(&uri), bindery::Database::new());
    set_up(&mut theirs, &mut ours);
    let (mut compared, mut differing) = (0, 0);
    for line in include_str!("arguments.jsonl").lines().filter(|line| line.contains(&only)) {
        let command = Document::try_from(&*read_document(line).expect("a command")).expect("a command");
        // Cursors that the lines before have left open are nobody's business.
        ours = bindery::Database::new();
        set_up(&mut theirs, &mut ours);
        let mut paths = vec![Vec::new()];
        collect_paths(&command, &mut Vec::new(), &mut paths);
        for path in &paths {
            // Answers in pairs that differ, and to which substitutes.
            let mut found: Vec<((i32, i32), Vec<String>)> = Vec::new();
            for (label, command) in changed(&command, path, &substitutes) {
                let command = RawDocumentBuf::try_from(&command).expect("a command");
                let answers = [&mut theirs as &mut dyn Server, &mut ours].map(|server| {
                    let reply = server.run(DATABASE, &command);
                    (code(&reply), reply)
                });
                compared += 1;
                let [(expected, their_reply), (answered, our_reply)] = &answers;
                if has_worked(their_reply) || has_worked(our_reply) {
                    match changes(&command) {
                        Changes::Nothing => {}
                        Changes::Documents => fill(&mut theirs, &mut ours),
                        Changes::Collections => set_up(&mut theirs, &mut ours),
                    }
                }
                if expected != answered && !is_beyond_codes(answers.each_ref()) {
                    let pair = (*expected, *answered);
                    match found.iter_mut().find(|(known, _)| *known == pair) {
                        Some((_, labels)) => labels.push(label),
                        None => found.push((pair, vec![label])),
                    }
                }
            }
            for ((expected, answered), labels) in found {
                differing += labels.len();
                let head: String = line.chars().take(150).collect();
                say(&format!(
                    "{expected} from MongoDB, {answered} here: {} = {}\n    {head}\n",
                    show(path),
                    labels.join(" | ")
                ));
            }
        }
    }
    theirs.run(DATABASE, &raw(&doc! { "dropDatabase": 1 }));
    say(&format!("differential arguments: {compared} compared, {differing} differ\n"));
    assert_eq!(differing, 0, "codes that differ from MongoDB's");
}

/// Whether the codes say nothing: MongoDB failed without one, or found that a millisecond has passed.
fn is_beyond_codes([(expected, theirs), (answered, _)]: [&(i32, RawDocumentBuf); 2]) -> bool {
    const MAX_TIME_MS_EXPIRED: i32 = 50;
    let without_code = *expected == 0 && number(theirs, "ok") == Some(0) && *answered != 0;
    without_code || *expected == MAX_TIME_MS_EXPIRED
}

/// A value for every type, and those at the edges of what numbers and names may be.
fn substitutes() -> Vec<(String, Bson)> {
    let decimal = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().expect("a decimal"));
    let values = [
        Bson::Null,
        Bson::Undefined,
        Bson::MinKey,
        Bson::MaxKey,
        Bson::Boolean(true),
        Bson::Boolean(false),
        Bson::Int32(0),
        Bson::Int32(1),
        Bson::Int32(-1),
        Bson::Int32(i32::MIN),
        Bson::Int64(2),
        Bson::Int64(1 << 31),
        Bson::Int64(1 << 40),
        Bson::Int64(i64::MAX),
        Bson::Int64(i64::MIN),
        Bson::Double(1.0),
        Bson::Double(1.5),
        Bson::Double(-1.5),
        Bson::Double(1e300),
        Bson::Double(f64::NAN),
        Bson::Double(f64::NEG_INFINITY),
        decimal("1"),
        decimal("1.5"),
        decimal("-1"),
        decimal("1E+400"),
        decimal("NaN"),
        decimal("Infinity"),
        Bson::String(String::new()),
        Bson::String("x".to_owned()),
        Bson::String("$x".to_owned()),
        Bson::String("$$x".to_owned()),
        Bson::String("x.y".to_owned()),
        Bson::String("x\0y".to_owned()),
        Bson::Symbol("x".to_owned()),
        Bson::Document(doc! {}),
        Bson::Document(doc! { "x": 1 }),
        Bson::Document(doc! { "$x": 1 }),
        Bson::Document(doc! { "x.y": 1 }),
        Bson::Document(doc! { "": 1 }),
        Bson::Array(vec![]),
        Bson::Array(vec![Bson::Int32(1)]),
        Bson::Array(vec![Bson::Null]),
        Bson::Array(vec![Bson::String("x".to_owned())]),
        Bson::Array(vec![Bson::Document(doc! {})]),
        Bson::Array(vec![Bson::Document(doc! { "x": 1 })]),
        Bson::DateTime(DateTime::from_millis(0)),
        Bson::DateTime(DateTime::from_millis(i64::MAX)),
        Bson::Timestamp(Timestamp { time: 1, increment: 1 }),
        Bson::ObjectId(ObjectId::from_bytes([7; 12])),
        Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: vec![1] }),
        Bson::RegularExpression(Regex {
            pattern: CString::try_from("x").expect("no zero"),
            options: CString::try_from("").expect("no zero"),
        }),
        Bson::JavaScriptCode("x".to_owned()),
        Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code: "x".to_owned(), scope: doc! {} }),
    ];
    values.into_iter().map(|value| (format!("{value:?}").chars().take(60).collect(), value)).collect()
}

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).expect("a command")
}

fn set_up(theirs: &mut Mongod, ours: &mut bindery::Database) {
    let index = |key: Document, name: &str| doc! { "key": key, "name": name };
    let commands = [
        doc! { "dropDatabase": 1 },
        doc! { "createIndexes": "c", "indexes": [
            index(doc! { "a": 1 }, "a_1"),
            { "key": { "d": 1 }, "name": "d_1", "expireAfterSeconds": 2_000_000_000 },
        ] },
        doc! { "insert": "d", "documents": [{ "_id": 1, "a": 1, "b": 1 }, { "_id": 2, "a": 2, "b": 1 }] },
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "a": 1 } }] },
        doc! { "create": "k", "capped": true, "size": 4096 },
    ];
    commands.iter().for_each(|command| run_on_both(theirs, ours, command));
    fill(theirs, ours);
}

/// Puts the documents into the collection that the commands are about, and nothing else.
fn fill(theirs: &mut Mongod, ours: &mut bindery::Database) {
    run_on_both(theirs, ours, &doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] });
    let day = DateTime::from_millis(1_577_836_800_000);
    let first = doc! { "_id": 1, "a": 1, "b": "x", "t": [1, 2], "s": [{ "k": 2 }, { "k": 1 }], "d": day };
    let second = doc! { "_id": 2, "a": 2, "b": "y", "t": [], "o": { "p": 1 } };
    run_on_both(theirs, ours, &doc! { "insert": "c", "documents": [first, second] });
}

fn run_on_both(theirs: &mut Mongod, ours: &mut bindery::Database, command: &Document) {
    for server in [theirs as &mut dyn Server, ours] {
        let reply = server.run(DATABASE, &raw(command));
        assert_eq!(code(&reply), 0, "{command}: {reply:?}");
    }
}

/// Every place in a document that holds a value.
fn collect_paths(document: &Document, so_far: &mut Vec<Step>, out: &mut Vec<Vec<Step>>) {
    for (name, value) in document {
        so_far.push(Step::Field(name.clone()));
        collect_below(value, so_far, out);
        so_far.pop();
    }
}

fn collect_below(value: &Bson, so_far: &mut Vec<Step>, out: &mut Vec<Vec<Step>>) {
    out.push(so_far.clone());
    match value {
        Bson::Document(inner) => collect_paths(inner, so_far, out),
        Bson::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                so_far.push(Step::Item(position));
                collect_below(item, so_far, out);
                so_far.pop();
            }
        }
        _ => {}
    }
}

/// The command with the place changed in every way: each substitute, an unknown field if it is a document, and
/// without it.
fn changed(command: &Document, path: &[Step], substitutes: &[(String, Bson)]) -> Vec<(String, Document)> {
    let whole = Bson::Document(command.clone());
    let mut all: Vec<(String, Bson)> = Vec::new();
    let here = at(&whole, path);
    if let Some(Bson::Document(here)) = here {
        let mut more = here.clone();
        more.insert("zzz", 1);
        all.push(("an unknown field".to_owned(), with(&whole, path, Some(&Bson::Document(more)))));
    }
    if !path.is_empty() {
        all.push(("nothing".to_owned(), with(&whole, path, None)));
        all.extend(substitutes.iter().map(|(label, value)| (label.clone(), with(&whole, path, Some(value)))));
    }
    all.into_iter()
        .filter_map(|(label, command)| match command {
            Bson::Document(command) if !command.is_empty() => Some((label, command)),
            _ => None,
        })
        .collect()
}

fn at<'a>(value: &'a Bson, path: &[Step]) -> Option<&'a Bson> {
    match (path, value) {
        ([], value) => Some(value),
        ([Step::Field(name), rest @ ..], Bson::Document(document)) => at(document.get(name)?, rest),
        ([Step::Item(position), rest @ ..], Bson::Array(items)) => at(items.get(*position)?, rest),
        _ => None,
    }
}

/// The value with what stands at the path replaced, or removed.
fn with(value: &Bson, path: &[Step], new: Option<&Bson>) -> Bson {
    match (path, value) {
        ([], _) => new.cloned().unwrap_or(Bson::Null),
        ([Step::Field(name), rest @ ..], Bson::Document(document)) => Bson::Document(
            document
                .iter()
                .filter(|(field, _)| new.is_some() || !rest.is_empty() || *field != name)
                .map(|(field, inner)| {
                    (field.clone(), if field == name { with(inner, rest, new) } else { inner.clone() })
                })
                .collect(),
        ),
        ([Step::Item(position), rest @ ..], Bson::Array(items)) => Bson::Array(
            items
                .iter()
                .enumerate()
                .filter(|(i, _)| new.is_some() || !rest.is_empty() || i != position)
                .map(|(i, inner)| if i == *position { with(inner, rest, new) } else { inner.clone() })
                .collect(),
        ),
        (_, other) => other.clone(),
    }
}

fn show(path: &[Step]) -> String {
    let steps = path.iter().map(|step| match step {
        Step::Field(name) => name.clone(),
        Step::Item(position) => position.to_string(),
    });
    steps.collect::<Vec<_>>().join(".")
}

/// The error's code; that of the first statement that failed where a write's statements did; 0 for success.
fn code(reply: &RawDocument) -> i32 {
    if let Some(code) = number(reply, "code") {
        return code;
    }
    let first = reply.get_array("writeErrors").ok().and_then(|errors| errors.into_iter().next()?.ok()?.as_document());
    first.and_then(|error| number(error, "code")).unwrap_or(0)
}

fn has_worked(reply: &RawDocument) -> bool {
    number(reply, "ok") == Some(1)
}

/// What a command that succeeds leaves behind.
enum Changes {
    Nothing,
    Documents,
    Collections,
}

fn changes(command: &RawDocument) -> Changes {
    let first = command.iter().next().and_then(Result::ok);
    let (name, on_c) =
        first.map_or_else(Default::default, |(name, value)| (name.as_str().to_owned(), value.as_str() == Some("c")));
    match name.as_str() {
        "insert" | "update" | "delete" | "findAndModify" if on_c => Changes::Documents,
        "aggregate" => {
            let text = format!("{command:?}");
            if text.contains("$out") || text.contains("$merge") { Changes::Collections } else { Changes::Nothing }
        }
        "find" | "count" | "distinct" | "explain" | "validate" | "collStats" | "dbStats" | "listCollections"
        | "listIndexes" | "getMore" | "killCursors" | "ping" | "hello" | "buildInfo" | "connectionStatus" => {
            Changes::Nothing
        }
        _ => Changes::Collections,
    }
}
