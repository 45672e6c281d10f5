//! The same conditions on other paths: what a query asks before a stage that renames fields.

use bindery_document::Path;

use super::Filter;

impl Filter {
    /// The filter with each path as `rename` has it; `None` if that has none for a path, or if there are conditions
    /// that look at more than a path.
    pub(crate) fn renamed(&self, rename: &dyn Fn(&str) -> Option<String>) -> Option<Filter> {
        let all = |parts: &[Filter]| parts.iter().map(|part| part.renamed(rename)).collect::<Option<Vec<Filter>>>();
        let mut renamed = match self {
            Filter::And(parts) => return all(parts).map(Filter::And),
            Filter::Or(parts) => return all(parts).map(Filter::Or),
            Filter::Nor(parts) => return all(parts).map(Filter::Nor),
            Filter::Not(part) => return part.renamed(rename).map(|part| Filter::Not(Box::new(part))),
            Filter::AlwaysTrue | Filter::AlwaysFalse => return Some(self.clone()),
            leaf => leaf.clone(),
        };
        *renamed.path_mut()? = Path::parse(&rename(self.path()?.as_str())?);
        Some(renamed)
    }

    /// The path of a leaf that has one of its own.
    fn path_mut(&mut self) -> Option<&mut Path> {
        match self {
            Filter::Compare(test) => Some(&mut test.path),
            Filter::In(test) => {
                // What is in the list looks at the same path.
                let path = &mut test.path;
                test.regexes.is_empty().then_some(path)
            }
            Filter::Regex(test) => Some(&mut test.path),
            Filter::Exists(path) => Some(path),
            Filter::Type(test) => Some(&mut test.path),
            Filter::Mod(test) => Some(&mut test.path),
            Filter::Size(test) => Some(&mut test.path),
            Filter::ElemMatchObject(test) => Some(&mut test.path),
            Filter::ElemMatchValue(test) => Some(&mut test.path),
            Filter::Bits(test) => Some(&mut test.path),
            _ => None,
        }
    }
}
