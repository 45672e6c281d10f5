//! Parents with a skewed number of children: products and their reviews.
//!
//! Asked: a parent with its ten newest children; a later page of all its children. Done: a child is
//! added, the newest of its parent. A parent is asked for, and added to, in proportion to its children:
//! what is looked at most has most of them. Held: all children embedded; referenced; the ten newest embedded
//! and all of them beside.

mod by_hand;
mod logical;

use std::cmp::Ordering;
use std::collections::HashMap;

use bson::raw::cstr;
use bson::{Bson, DateTime, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::{DataFigures, Effect, Question, Scenario, Schema};
use crate::answer::compare;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::generate::{self, HotSet, Random};
use crate::session::{field, owned};

/// The collection of parents, in every schema.
const PARENTS: &str = "parents";
/// The collection of children, where they have one.
const CHILDREN: &str = "children";
/// How many children are embedded, and how many a page shows.
const TOP: i32 = 10;
/// The page of all children that is asked for, from 1, where some parents have so many.
const LATER_PAGE: usize = 7;

/// Which fields bind children to parents, and in which order they are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The array of children in a logical document: `reviews`.
    pub array: String,
    /// The field of a child that names its parent, in a collection of children.
    pub key: String,
    /// The field of a child by which they are shown, the greatest first.
    pub order: String,
}

/// Parents and children.
pub struct Subset {
    parents: Documents,
    children: Documents,
    fields: Fields,
    description: String,
    /// For each parent, its children's positions, in the order in which they are shown.
    of: Vec<Vec<u32>>,
    children_have_ids: bool,
    newest: Option<Bson>,
    page: Option<usize>,
    hot: HotSet,
    /// Parents with enough children for the later page.
    deep: Vec<u32>,
}

/// One logical operation; parents are positions in the data's list.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A parent with its newest children.
    Page {
        /// Which parent.
        parent: usize,
    },
    /// Children after the first `skip`.
    Later {
        /// Which parent.
        parent: usize,
        /// How many newer ones there are.
        skip: i32,
    },
    /// A child is added, newer than all others.
    Add {
        /// To which parent.
        parent: usize,
        /// The child, without the field that names its parent.
        child: RawDocumentBuf,
    },
}

impl Subset {
    /// Generated products and reviews: at most 5,000 of a product, median 3.
    pub fn generated(seed: u64, products: u32) -> Result<Subset> {
        let wanted = generate::Reviews { products, most: 5_000, seed };
        let (products, reviews) = generate::reviews(wanted);
        let fields = Fields { array: "reviews".to_owned(), key: "productId".to_owned(), order: "date".to_owned() };
        let description = format!("generated with seed {seed}: products and reviews");
        Subset::new(products, "_id", reviews, fields, description)
    }

    /// Parents and children from elsewhere; `parent_key` is the field of a parent that children name,
    /// and becomes its `_id`. Children of no parent are left out, and the description says how many.
    ///
    /// Fails with [`Error::Unsuitable`] where a field is missing or two parents have the same key.
    pub fn new(
        parents: Documents,
        parent_key: &str,
        children: Documents,
        fields: Fields,
        description: String,
    ) -> Result<Subset> {
        for name in [&fields.array, &fields.key, &fields.order] {
            field(name.as_str())?;
            if name.is_empty() || name.starts_with('$') || name.contains('.') {
                return Err(Error::Unsuitable(format!("`{name}` is no plain field name")));
            }
        }
        let mut keyed = Documents::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        for (position, parent) in parents.iter().enumerate() {
            let wrong = |what: String| Error::Unsuitable(format!("parent {}: {what}", position + 1));
            let key = owned(parent, parent_key)?.ok_or_else(|| wrong(format!("it has no field `{parent_key}`")))?;
            if index.insert(key.to_string(), position).is_some() {
                return Err(wrong(format!("another one has {parent_key} = {key}")));
            }
            keyed.push(&with_id(parent, parent_key, &fields, key)?);
        }
        if keyed.is_empty() {
            return Err(Error::Unsuitable("there are no parents".to_owned()));
        }
        let mut of: Vec<Vec<u32>> = vec![Vec::new(); keyed.len()];
        let mut orders = Vec::with_capacity(children.len());
        let (mut orphans, mut children_have_ids) = (0_u64, false);
        for (position, child) in children.iter().enumerate() {
            let wrong = |name: &str| Error::Unsuitable(format!("child {}: it has no field `{name}`", position + 1));
            let key = owned(child, &fields.key)?.ok_or_else(|| wrong(&fields.key))?;
            orders.push(owned(child, &fields.order)?.ok_or_else(|| wrong(&fields.order))?);
            children_have_ids |= matches!(child.get("_id"), Ok(Some(_)));
            match index.get(&key.to_string()) {
                Some(parent) => of[*parent].push(position as u32),
                None => orphans += 1,
            }
        }
        let order = |a: &u32, b: &u32| {
            let (a, b) = (&orders[*a as usize], &orders[*b as usize]);
            compare(b, a).unwrap_or(Ordering::Equal)
        };
        for children in &mut of {
            // Stable: children of one moment stay in the order of the file, in every schema.
            children.sort_by(order);
        }
        let newest = orders.iter().max_by(|a, b| compare(a, b).unwrap_or(Ordering::Equal)).cloned();
        let most = of.iter().map(Vec::len).max().unwrap_or(0);
        let page = LATER_PAGE.min(most.div_ceil(TOP as usize));
        let page = (page >= 2).then_some(page);
        let needed = (page.unwrap_or(1) - 1) * TOP as usize;
        let deep: Vec<u32> = (0..of.len() as u32).filter(|p| of[*p as usize].len() > needed).collect();
        let description = match orphans {
            0 => description,
            n => format!("{description}; {n} children of no parent left out"),
        };
        Ok(Subset {
            hot: HotSet::weighted(of.iter().map(|children| children.len() as u64 + 1)),
            deep,
            parents: keyed,
            children,
            fields,
            description,
            of,
            children_have_ids,
            newest,
            page,
        })
    }

    /// Splits documents with an embedded array into parents and children; a child's field `key` names
    /// its parent. Fails with [`Error::Unsuitable`] where an element is no document.
    pub fn split(documents: &Documents, parent_key: &str, fields: &Fields) -> Result<(Documents, Documents)> {
        let (mut parents, mut children) = (Documents::new(), Documents::new());
        let key = field(fields.key.as_str())?;
        for (position, document) in documents.iter().enumerate() {
            let wrong = |what: String| Error::Unsuitable(format!("document {}: {what}", position + 1));
            let id = document
                .get(parent_key)
                .ok()
                .flatten()
                .ok_or_else(|| wrong(format!("it has no field `{parent_key}`")))?;
            let mut parent = RawDocumentBuf::new();
            for (name, value) in document.iter().flatten() {
                if name.as_str() != fields.array {
                    parent.append(name, value);
                    continue;
                }
                let array = value.as_array().ok_or_else(|| wrong(format!("`{}` is no array", fields.array)))?;
                for element in array.into_iter().flatten() {
                    let RawBsonRef::Document(element) = element else {
                        return Err(wrong(format!("`{}` holds what is no document", fields.array)));
                    };
                    let mut child = RawDocumentBuf::new();
                    child.append(&key, id);
                    for (name, value) in element.iter().flatten() {
                        child.append(name, value);
                    }
                    children.push(&child);
                }
            }
            parents.push(&parent);
        }
        Ok((parents, children))
    }

    fn id_of(&self, parent: usize) -> Result<RawBson> {
        match self.parents.get(parent).map(|parent| parent.get("_id")) {
            Some(Ok(Some(id))) => Ok(id.into()),
            _ => Err(Error::Unsuitable(format!("parent {parent} has no `_id`"))),
        }
    }

    /// The name of the field that counts a parent's children.
    fn count_field(&self) -> String {
        format!("{}Count", self.fields.array)
    }

    /// `parent` with its count and, at the end, as many of its children as `top` says.
    fn with_children(&self, parent: usize, top: usize) -> Result<RawDocumentBuf> {
        let mut document = self.with_count(parent)?;
        let mut array = bson::RawArrayBuf::new();
        for child in self.of[parent].iter().take(top) {
            if let Some(child) = self.children.get(*child as usize) {
                array.push(self.element(child));
            }
        }
        document.append(field(self.fields.array.as_str())?, array);
        Ok(document)
    }

    fn with_count(&self, parent: usize) -> Result<RawDocumentBuf> {
        let mut document = self.parents.get(parent).map(RawDocument::to_owned).unwrap_or_default();
        document.append(field(self.count_field())?, self.of[parent].len() as i32);
        Ok(document)
    }

    /// What an array of children keeps of a child: all but its parent's name.
    fn element(&self, child: &RawDocument) -> RawDocumentBuf {
        let mut element = RawDocumentBuf::new();
        for (name, value) in child.iter().flatten() {
            if name.as_str() != self.fields.key {
                element.append(name, value);
            }
        }
        element
    }

    fn add(&self, parent: usize, written: u64, random: &mut Random) -> Operation {
        let later = written as i64 + 1;
        let mut child = RawDocumentBuf::new();
        let order = match &self.newest {
            Some(Bson::Int32(n)) => RawBson::Int64(i64::from(*n) + later),
            Some(Bson::Int64(n)) => RawBson::Int64(n + later),
            Some(Bson::Double(n)) => RawBson::Double(n + later as f64),
            Some(Bson::DateTime(at)) => {
                RawBson::DateTime(DateTime::from_millis(at.timestamp_millis() + later * 60_000))
            }
            // Behind every text that begins like the newest one.
            Some(Bson::String(text)) => RawBson::String(format!("{text}~{later:09}")),
            _ => RawBson::DateTime(DateTime::from_millis(generate::EPOCH_MILLIS + later)),
        };
        let template = random.below(self.children.len() as u64) as usize;
        for (name, value) in self.children.get(template).into_iter().flat_map(|d| d.iter()).flatten() {
            match name.as_str() {
                key if key == self.fields.key => {}
                "_id" => child.append(name, (1_i64 << 40) + written as i64),
                order_field if order_field == self.fields.order => child.append(name, order.clone()),
                _ => child.append(name, value),
            }
        }
        if child.is_empty() {
            child.append(cstr!("note"), "the first");
        }
        Operation::Add { parent, child }
    }
}

/// `parent` with its key as `_id` in front, and without the fields that schemas add.
fn with_id(parent: &RawDocument, parent_key: &str, fields: &Fields, key: Bson) -> Result<RawDocumentBuf> {
    let key = RawBson::try_from(key).map_err(|error| Error::Unsuitable(error.to_string()))?;
    let mut document = RawDocumentBuf::new();
    document.append(cstr!("_id"), key);
    for (name, value) in parent.iter().flatten() {
        let text = name.as_str();
        let counts = text.strip_suffix("Count") == Some(fields.array.as_str());
        if text != "_id" && text != parent_key && text != fields.array && !counts {
            document.append(name, value);
        }
    }
    Ok(document)
}

impl Scenario for Subset {
    type Operation = Operation;

    fn name(&self) -> &'static str {
        "subset"
    }

    fn data(&self) -> DataFigures {
        let mut counts: Vec<usize> = self.of.iter().map(Vec::len).collect();
        counts.sort_unstable();
        let (median, most) = (counts[counts.len() / 2], counts[counts.len() - 1]);
        let (parents, children) = (self.parents.len(), self.children.len());
        DataFigures {
            description: format!(
                "{}: {parents} parents, {children} children, median {median}, most {most}",
                self.description
            ),
            load_order: "parent by parent, newest child first".to_owned(),
            documents: (parents + children) as u64,
            bytes: self.parents.bytes() + self.children.bytes(),
        }
    }

    fn questions(&self) -> Vec<Question> {
        let question =
            |name: String, text: String, effect, weight, samples| Question { name, text, effect, weight, samples };
        let array = &self.fields.array;
        let mut questions = vec![
            question("page".to_owned(), format!("a parent with its {TOP} newest {array}"), Effect::Read, 80, 500),
            question(format!("add to {array}"), "a child is added".to_owned(), Effect::Write, 15, 500),
        ];
        if let Some(page) = self.page {
            let text = format!("page {page} of all {array} of a parent that has so many");
            questions.push(question(format!("page {page}"), text, Effect::Read, 5, 200));
        }
        questions
    }

    fn mix_operations(&self) -> usize {
        20_000
    }

    fn draw(&self, question: usize, written: u64, random: &mut Random) -> Operation {
        match question {
            0 => Operation::Page { parent: self.hot.pick(random) },
            1 => {
                let parent = self.hot.pick(random);
                self.add(parent, written, random)
            }
            _ => {
                let skip = (self.page.unwrap_or(1) as i32 - 1) * TOP;
                let parent = self.deep[random.below(self.deep.len() as u64) as usize] as usize;
                Operation::Later { parent, skip }
            }
        }
    }

    fn schemas(&self) -> Vec<Box<dyn Schema<Operation> + '_>> {
        use by_hand::{Beside, Parents};
        vec![
            Box::new(logical::Embedded::plain(self)),
            Box::new(Parents::new(self, Beside::ReferencedOnly)),
            Box::new(Parents::new(self, Beside::NewestEmbedded)),
            Box::new(logical::Embedded::native(self)),
        ]
    }
}
