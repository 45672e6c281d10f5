//! `{subset: {array: "reviews", sort: {date: -1}, top: 10, key: "product"}}`.

use bindery_document::{Builder, Doc, DocBuf, Result};
use bindery_query::sort::Sort;

use super::{Subset, field};
use crate::declare::{Options, invalid};

/// How many children a parent holds where it is not said.
const DEFAULT_TOP: u32 = 10;

impl Subset {
    /// Reads the options: `array` names the field; `sort` is an order by one field of the children; `top` says how
    /// many the parent holds; `key` names the parent in a child.
    ///
    /// # Errors
    /// 72 and 14 for options that cannot be; those of sort orders.
    pub fn parse(options: Doc<'_>) -> Result<Subset> {
        let options = Options::new("subset", options, &["array", "sort", "top", "key"])?;
        let array = options.required_field("array")?;
        if *array == *field::SUBSET {
            return Err(invalid("the array of a subset layout cannot be called 'subset'"));
        }
        let Some(declared) = options.document("sort")?.filter(|sort| sort.count() == 1) else {
            return Err(invalid("a subset layout needs the option 'sort', an order by one field"));
        };
        let key = options.field("key")?.unwrap_or_else(|| "parent".into());
        if matches!(&*key, field::AT | field::CHILD) {
            return Err(invalid(format!("the key of a subset layout cannot be called '{key}'")));
        }
        let top = options.count("top")?.unwrap_or(DEFAULT_TOP) as usize;
        Ok(Subset { array, key, sort: Sort::parse(declared, None)?, declared: DocBuf::from(declared), top })
    }

    /// The array's name.
    pub fn array(&self) -> &str {
        &self.array
    }

    /// The field of children that names their parent.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How many children the parent holds.
    pub fn top(&self) -> usize {
        self.top
    }

    /// The order as it was declared.
    pub fn declared_sort(&self) -> Doc<'_> {
        self.declared.doc()
    }

    /// The key pattern of the side collection's index: parent, order, position.
    pub fn side_index(&self) -> DocBuf {
        let mut key = Builder::new();
        key.append(&*self.key, 1);
        self.append_order(&mut key);
        key.finish()
    }

    /// The order of one parent's children that the side collection's index gives.
    pub fn side_order(&self) -> DocBuf {
        let mut key = Builder::new();
        self.append_order(&mut key);
        key.finish()
    }

    fn append_order(&self, key: &mut Builder) {
        for sort in self.sort.fields() {
            key.append(format!("{}.{}", field::CHILD, sort.path), if sort.descending { -1 } else { 1 });
        }
        key.append(field::AT, 1);
    }
}
