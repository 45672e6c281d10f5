//! Products with sparse attributes: a field for each, or one array of names and values.
//!
//! Asked: which products have a value of a common attribute, of a rare one, a value in a range, three
//! values at once. Done: a product is inserted. MongoDB allows 64 indexes on a collection, `_id`
//! included: attributes beyond the 63 most frequent have none in the plain schemas, and a question
//! about them reads the whole collection.

mod by_hand;
mod logical;

use std::collections::{BTreeSet, HashMap};

use bson::raw::cstr;
use bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::{DataFigures, Effect, Question, Scenario, Schema};
use crate::answer::compare;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::generate::{self, HotSet, Random};
use crate::session::{field, owned};

/// The collection of every schema of this scenario.
const PRODUCTS: &str = "products";

/// Indexes that a collection may have besides the one on `_id`.
const MOST_INDEXES: usize = 63;

/// The products and what is known of their attributes.
pub struct Attribute {
    documents: Documents,
    /// Top-level fields that are no attributes, `_id` not among them.
    kept: Vec<String>,
    description: String,
    /// The most frequent first.
    attributes: Vec<Known>,
    /// Positions in `attributes` of what is asked for.
    common: usize,
    ranged: Ranged,
    hot: HotSet,
}

/// What is known of one attribute.
struct Known {
    name: String,
    /// Positions of documents in which it is one number, string, boolean or date.
    with: Vec<u32>,
    /// Documents in which it is anything.
    count: usize,
}

/// The attribute that ranges are asked of, with all its numbers in order.
struct Ranged {
    name: String,
    numbers: Vec<Bson>,
}

/// One logical operation.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Products with this value of this attribute.
    Equal {
        /// The attribute's name.
        attribute: String,
        /// The value.
        value: Bson,
    },
    /// Products with a number in a range.
    Range {
        /// The attribute's name.
        attribute: String,
        /// At least this.
        from: Bson,
        /// Less than this.
        to: Bson,
    },
    /// Whole products that have all these values.
    All(
        /// Names and values.
        Vec<(String, Bson)>,
    ),
    /// A product.
    Insert(
        /// The logical document.
        RawDocumentBuf,
    ),
}

impl Attribute {
    /// Generated products, each with about 10 of 500 attributes.
    pub fn generated(seed: u64, products: u32) -> Result<Attribute> {
        let wanted = generate::Products { products, attributes: 500, categories: 50, seed };
        let kept = ["name", "category", "price"].map(str::to_owned).to_vec();
        let description = format!("generated with seed {seed}: about 10 of 500 attributes each");
        Attribute::new(generate::products(wanted), kept, description, seed)
    }

    /// Products from elsewhere, whose top-level fields but `_id` and `kept` are attributes. Products
    /// without an `_id` are numbered.
    ///
    /// Fails with [`Error::Unsuitable`] where there are not enough attributes to ask for.
    pub fn new(documents: Documents, kept: Vec<String>, description: String, seed: u64) -> Result<Attribute> {
        let documents = numbered(documents);
        let mut attributes: Vec<Known> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        for (position, document) in documents.iter().enumerate() {
            for (name, value) in document.iter().flatten() {
                let name = name.as_str();
                if name == "_id" || kept.iter().any(|kept| kept == name) {
                    continue;
                }
                let at = *index.entry(name.to_owned()).or_insert_with(|| {
                    attributes.push(Known { name: name.to_owned(), with: Vec::new(), count: 0 });
                    attributes.len() - 1
                });
                attributes[at].count += 1;
                if is_scalar(value) {
                    attributes[at].with.push(position as u32);
                }
            }
        }
        for name in kept.iter().chain(attributes.iter().map(|attribute| &attribute.name)) {
            if name.is_empty() || name.starts_with('$') || name.contains('.') {
                return Err(Error::Unsuitable(format!("`{name}` cannot be asked for: it is no plain name")));
            }
        }
        attributes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        let few = |what: &str| Error::Unsuitable(format!("no attribute {what}: name what is one, or take more data"));
        let mut common = None;
        let mut ranged = None;
        for (at, attribute) in attributes.iter().enumerate() {
            let values = values(&documents, attribute)?;
            let distinct: BTreeSet<String> = values.iter().map(Bson::to_string).collect();
            if common.is_none() && distinct.len() >= 10 {
                common = Some(at);
            }
            if ranged.is_none() && distinct.len() >= 20 {
                let mut numbers: Vec<Bson> = values.into_iter().filter(is_number).collect();
                numbers.sort_by(|a, b| compare(a, b).unwrap_or(std::cmp::Ordering::Equal));
                if numbers.len() >= 20 {
                    ranged = Some(Ranged { name: attribute.name.clone(), numbers });
                }
            }
            if common.is_some() && ranged.is_some() {
                break;
            }
        }
        let mut random = Random::stream(seed, "hot products");
        let hot = HotSet::new(documents.len(), &mut random);
        Ok(Attribute {
            common: common.ok_or_else(|| few("has ten different values"))?,
            ranged: ranged.ok_or_else(|| few("has twenty different numbers"))?,
            documents,
            kept,
            description,
            attributes,
            hot,
        })
    }

    /// The attributes that get an index in the plain schemas.
    fn indexed(&self) -> &[Known] {
        &self.attributes[..self.attributes.len().min(MOST_INDEXES)]
    }

    /// The attributes from which a rare one is drawn: those without an index, else the rarest quarter.
    fn rare(&self) -> &[Known] {
        let from = MOST_INDEXES.min(self.attributes.len() - self.attributes.len().div_ceil(4));
        &self.attributes[from..]
    }

    fn equal(&self, attribute: &Known, random: &mut Random) -> Operation {
        let at = random.below(attribute.with.len() as u64) as usize;
        let position = attribute.with.get(at).copied().unwrap_or(0) as usize;
        let value = self.documents.get(position).and_then(|d| owned(d, &attribute.name).ok().flatten());
        Operation::Equal { attribute: attribute.name.clone(), value: value.unwrap_or(Bson::Null) }
    }

    fn all(&self, random: &mut Random) -> Operation {
        let mut values = Vec::new();
        // A product with fewer than three attributes is passed over, for a while.
        for _ in 0..100 {
            let Some(document) = self.documents.get(self.hot.pick(random)) else { break };
            values = self.scalars(document);
            if values.len() >= 3 {
                break;
            }
        }
        random.shuffle(&mut values);
        values.truncate(3);
        Operation::All(values)
    }

    fn scalars(&self, document: &RawDocument) -> Vec<(String, Bson)> {
        let attributes = document.iter().flatten().filter(|(name, value)| {
            let name = name.as_str();
            name != "_id" && !self.kept.iter().any(|kept| kept == name) && is_scalar(*value)
        });
        attributes.filter_map(|(name, value)| Some((name.as_str().to_owned(), Bson::try_from(value).ok()?))).collect()
    }

    /// A product like one of those there are, with an `_id` of its own.
    fn new_product(&self, written: u64, random: &mut Random) -> RawDocumentBuf {
        let template = random.below(self.documents.len() as u64) as usize;
        let mut document = RawDocumentBuf::new();
        document.append(cstr!("_id"), (1_i64 << 40) + written as i64);
        for (name, value) in self.documents.get(template).into_iter().flat_map(|d| d.iter()).flatten() {
            if name.as_str() != "_id" {
                document.append(name, value);
            }
        }
        document
    }
}

/// The documents, with `_id` 1, 2, 3, ... in front of those that have none.
fn numbered(documents: Documents) -> Documents {
    let has_id = |document: &RawDocument| matches!(document.get("_id"), Ok(Some(_)));
    if documents.iter().all(has_id) {
        return documents;
    }
    let mut numbered = Documents::new();
    for (position, document) in documents.iter().enumerate() {
        if has_id(document) {
            numbered.push(document);
            continue;
        }
        let mut with_id = RawDocumentBuf::new();
        with_id.append(cstr!("_id"), position as i64 + 1);
        for (name, value) in document.iter().flatten() {
            with_id.append(name, value);
        }
        numbered.push(&with_id);
    }
    numbered
}

fn is_scalar(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::Double(n) => n.is_finite(),
        RawBsonRef::String(_)
        | RawBsonRef::Int32(_)
        | RawBsonRef::Int64(_)
        | RawBsonRef::Boolean(_)
        | RawBsonRef::DateTime(_) => true,
        _ => false,
    }
}

fn is_number(value: &Bson) -> bool {
    matches!(value, Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_))
}

fn values(documents: &Documents, attribute: &Known) -> Result<Vec<Bson>> {
    let mut values = Vec::with_capacity(attribute.with.len());
    for position in &attribute.with {
        if let Some(document) = documents.get(*position as usize) {
            values.extend(owned(document, &attribute.name)?);
        }
    }
    Ok(values)
}

impl Scenario for Attribute {
    type Operation = Operation;

    fn name(&self) -> &'static str {
        "attribute"
    }

    fn data(&self) -> DataFigures {
        DataFigures {
            description: self.description.clone(),
            load_order: "as given, indexes in place".to_owned(),
            documents: self.documents.len() as u64,
            bytes: self.documents.bytes(),
        }
    }

    fn questions(&self) -> Vec<Question> {
        let question = |name: &str, text: String, effect, weight, samples| Question {
            name: name.to_owned(),
            text,
            effect,
            weight,
            samples,
        };
        let share = |count: usize| 100.0 * count as f64 / self.documents.len() as f64;
        let common = &self.attributes[self.common];
        let (name, of) = (&common.name, share(common.count));
        let rare = if self.attributes.len() > MOST_INDEXES {
            "an attribute beyond the 63 that plain indexes reach"
        } else {
            "an attribute of the rarest quarter"
        };
        vec![
            question(
                "equal, common",
                format!("products with a value of `{name}`, which {of:.0} % have"),
                Effect::Read,
                40,
                100,
            ),
            question("equal, rare", format!("products with a value of {rare}"), Effect::Read, 1, 10),
            question(
                "range",
                format!("products with `{}` between two numbers", self.ranged.name),
                Effect::Read,
                30,
                100,
            ),
            question("three ANDed", "whole products with three values".to_owned(), Effect::Read, 24, 100),
            question("insert", "a product is inserted".to_owned(), Effect::Write, 5, 200),
        ]
    }

    fn mix_operations(&self) -> usize {
        4_000
    }

    fn draw(&self, question: usize, written: u64, random: &mut Random) -> Operation {
        match question {
            0 => self.equal(&self.attributes[self.common], random),
            1 => {
                let rare = self.rare();
                let mut attribute = &rare[random.below(rare.len() as u64) as usize];
                // One that is never a single value cannot be asked for by one.
                if attribute.with.is_empty() {
                    attribute = rare.iter().find(|a| !a.with.is_empty()).unwrap_or(&self.attributes[self.common]);
                }
                self.equal(attribute, random)
            }
            2 => {
                let numbers = &self.ranged.numbers;
                let width = (numbers.len() / 400).max(1);
                let at = random.below((numbers.len() - width) as u64) as usize;
                Operation::Range {
                    attribute: self.ranged.name.clone(),
                    from: numbers[at].clone(),
                    to: numbers[at + width].clone(),
                }
            }
            3 => self.all(random),
            _ => Operation::Insert(self.new_product(written, random)),
        }
    }

    fn schemas(&self) -> Vec<Box<dyn Schema<Operation> + '_>> {
        use logical::{Held, Products};
        vec![
            Box::new(Products::new(self, Held::PlainIndexes)),
            Box::new(Products::new(self, Held::SparseIndexes)),
            Box::new(by_hand::Specs::new(self)),
            Box::new(Products::new(self, Held::Native)),
        ]
    }
}

/// `{_id: 1}` and the first kept field: what a list of products shows.
fn listing(kept: &[String]) -> Result<RawDocumentBuf> {
    let mut projection = bson::rawdoc! { "_id": 1 };
    if let Some(first) = kept.first() {
        projection.append(field(first.as_str())?, 1);
    }
    Ok(projection)
}

/// A product with its fields by name: where attributes stand among the others, an array of them does
/// not remember.
fn by_name(document: bson::Document) -> Bson {
    let mut fields: Vec<(String, Bson)> = document.into_iter().collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    Bson::Document(fields.into_iter().collect())
}
