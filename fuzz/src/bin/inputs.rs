//! Moves inputs between the packed files and the folders that cargo-fuzz works on, and makes the first ones.
//!
//! ```text
//! inputs seed      corpus/<target>/ <- the cases of ../tests/conformance; words.dict <- their operators
//! inputs unpack    corpus/<target>/ <- inputs/<target>.gz
//! inputs pack      corpus/<target>/ -> inputs/<target>.gz
//! ```
//!
//! Each may name targets; without, it means all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use bindery_document::{Builder, Doc, DocBuf, Kind, Value};
use bindery_fuzz::loose::write_document;
use bindery_fuzz::{packed, targets};
use bindery_lab::extjson::parse_document;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// First inputs longer than this are left out: what can be found in them can be found in less.
const MOST_BYTES: usize = 2048;

/// As many of a target's inputs as fit into this are kept, the shortest first.
const MOST_PACKED_BYTES: usize = 400_000;

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let named: Vec<String> = arguments.collect();
    let chosen = targets::ALL.map(|(name, _)| name);
    let chosen: Vec<&str> =
        chosen.into_iter().filter(|name| named.is_empty() || named.iter().any(|n| n == name)).collect();
    match what.as_str() {
        "seed" => seed(&chosen),
        "unpack" => chosen.iter().try_for_each(|target| store(target, packed::read(&packed::file_of(target))?)),
        "pack" => chosen.iter().try_for_each(|target| pack(target)),
        _ => Err("inputs seed|unpack|pack [target]...".into()),
    }
}

fn folder_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

fn pack(target: &str) -> Result<()> {
    let mut inputs = listed(&folder_of(target))?.iter().map(fs::read).collect::<std::io::Result<Vec<_>>>()?;
    inputs.sort_by_key(Vec::len);
    let mut packed_bytes = 0;
    inputs.retain(|input| {
        packed_bytes += input.len();
        packed_bytes <= MOST_PACKED_BYTES
    });
    println!("{target}: {} inputs", inputs.len());
    Ok(packed::write(&packed::file_of(target), inputs)?)
}

/// Writes inputs as files of their own, named by their content.
fn store(target: &str, inputs: Vec<Vec<u8>>) -> Result<()> {
    let folder = folder_of(target);
    fs::create_dir_all(&folder)?;
    for input in inputs {
        let mut hasher = DefaultHasher::new();
        input.hash(&mut hasher);
        fs::write(folder.join(format!("{:016x}", hasher.finish())), input)?;
    }
    Ok(())
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn seed(chosen: &[&str]) -> Result<()> {
    let mut words = BTreeSet::new();
    let mut inputs: BTreeMap<&str, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for case in cases()? {
        let case = Case::read(case.doc());
        for command in case.setup.iter().chain(&case.commands) {
            collect_words(command.doc(), &mut words);
        }
        for (target, input) in case.inputs() {
            if input.len() <= MOST_BYTES {
                inputs.entry(target).or_default().insert(input);
            }
        }
    }
    for (target, inputs) in inputs.into_iter().filter(|(target, _)| chosen.contains(target)) {
        println!("{target}: {} inputs", inputs.len());
        store(target, inputs.into_iter().collect())?;
    }
    let lines: String = words.iter().map(|word| format!("\"{word}\"\n")).collect();
    Ok(fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("words.dict"), lines)?)
}

/// Every case of the corpus, as a document.
fn cases() -> Result<Vec<DocBuf>> {
    let mut cases = Vec::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance");
    for group in listed(&corpus)?.iter().filter(|path| path.is_dir()) {
        for file in listed(group)? {
            let bytes = fs::read(&file)?;
            let mut text = String::new();
            if file.extension().is_some_and(|ending| ending == "gz") {
                flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text)?;
            } else {
                text = String::from_utf8(bytes)?;
            }
            for line in text.lines().filter(|line| !line.is_empty()) {
                cases.push(DocBuf::from_bytes(parse_document(line)?.into_bytes())?);
            }
        }
    }
    Ok(cases)
}

/// The names of operators, and other words that commands know.
fn collect_words(doc: Doc<'_>, words: &mut BTreeSet<String>) {
    for element in doc {
        let name = element.key_str();
        if name.starts_with('$') || name.len() > 3 {
            words.extend(is_word(name).then(|| name.to_owned()));
        }
        match element.value() {
            Value::Document(inner) | Value::Array(inner) => collect_words(inner, words),
            Value::String(text) if text.as_str().starts_with('$') => {
                words.extend(is_word(text.as_str()).then(|| text.as_str().to_owned()));
            }
            _ => {}
        }
    }
}

fn is_word(text: &str) -> bool {
    text.len() < 40 && text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'$')
}

/// A case as commands.
struct Case {
    /// What makes the collections.
    setup: Vec<DocBuf>,
    commands: Vec<DocBuf>,
    documents: Vec<DocBuf>,
}

impl Case {
    fn read(case: Doc<'_>) -> Case {
        let mut read = Case { setup: Vec::new(), commands: Vec::new(), documents: Vec::new() };
        for collection in case.get("setup").and_then(|v| v.as_document()).into_iter().flatten() {
            if let Some(spec) = collection.value().as_document() {
                read.collection(collection.key_str(), spec);
            }
        }
        for step in documents_of(case.get("steps")) {
            read.commands.extend(step.get("command").and_then(|v| v.as_document()).map(DocBuf::from));
        }
        read.commands.extend(case.get("command").and_then(|v| v.as_document()).map(DocBuf::from));
        read
    }

    fn collection(&mut self, name: &str, spec: Doc<'_>) {
        let mut create = Builder::new();
        create.append("create", name);
        for option in spec.get("options").and_then(|v| v.as_document()).into_iter().flatten() {
            create.append_element(option);
        }
        self.setup.push(create.finish());
        for (command, field) in [("createIndexes", "indexes"), ("insert", "docs")] {
            let items = spec.get(field);
            if documents_of(items).next().is_some() {
                let mut out = Builder::new();
                out.append(command, name);
                out.append(if field == "docs" { "documents" } else { field }, items.unwrap_or(Value::Null));
                self.setup.push(out.finish());
            }
        }
        self.documents.extend(documents_of(spec.get("docs")).map(DocBuf::from));
    }

    fn inputs(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut inputs = Vec::new();
        let mut commands = vec![0];
        for command in self.setup.iter().chain(&self.commands) {
            write_document(command.doc(), &mut commands);
            inputs.push(("validate", command.as_bytes().to_vec()));
        }
        inputs.push(("command", commands));
        for pair in self.documents.windows(2) {
            let mut key = vec![pair[0].as_bytes().len() as u8];
            pair.iter().for_each(|document| write_document(document.doc(), &mut key));
            inputs.push(("key", key));
        }
        for command in &self.commands {
            let command = command.doc();
            let statements = documents_of(command.get("updates")).chain(documents_of(command.get("deletes")));
            for statement in statements.chain([command]) {
                inputs.extend(self.filter(statement).map(|input| ("filter", input)));
                inputs.extend(self.update(statement).map(|input| ("update", input)));
            }
            for stage in documents_of(command.get("pipeline")) {
                if let Some(query) = stage.get("$match").and_then(|v| v.as_document()) {
                    inputs.push(("filter", self.with_documents(vec![], &[query])));
                }
            }
        }
        inputs
    }

    fn filter(&self, statement: Doc<'_>) -> Option<Vec<u8>> {
        let query = ["filter", "query", "q"].iter().find_map(|name| statement.get(name)?.as_document())?;
        Some(self.with_documents(vec![], &[query]))
    }

    fn update(&self, statement: Doc<'_>) -> Option<Vec<u8>> {
        let update = ["u", "update"].iter().find_map(|name| statement.get(name))?;
        let mut described = Builder::new();
        described.append("u", update);
        let described = described.finish();
        let query = ["q", "query"].iter().find_map(|name| statement.get(name)?.as_document())?;
        let mut parts = vec![described.doc(), query];
        let mut choices = u8::from(update.kind() == Kind::Array);
        let filters: Vec<Doc<'_>> = documents_of(statement.get("arrayFilters")).collect();
        if !filters.is_empty() {
            choices |= 2;
            parts.extend((0..2).map(|i| filters.get(i).copied().unwrap_or(bindery_document::doc::EMPTY)));
        }
        Some(self.with_documents(vec![choices], &parts))
    }

    /// The parts, and as many of the documents as there is room for.
    fn with_documents(&self, mut input: Vec<u8>, parts: &[Doc<'_>]) -> Vec<u8> {
        parts.iter().for_each(|part| write_document(*part, &mut input));
        for document in &self.documents {
            let before = input.len();
            write_document(document.doc(), &mut input);
            if input.len() > MOST_BYTES / 2 {
                input.truncate(before);
                break;
            }
        }
        input
    }
}

fn documents_of(array: Option<Value<'_>>) -> impl Iterator<Item = Doc<'_>> {
    array.and_then(|v| v.as_array()).into_iter().flatten().filter_map(|item| item.value().as_document())
}
