//! Names of databases and collections, and what MongoDB allows in them.
//!
//! Source: MongoDB's manual, "Naming Restrictions".

use bindery_document::{Error, Result, code};

/// What is appended to a collection's name to see its stored form.
pub const STORED_SUFFIX: &str = ".$stored";

/// The longest name of database and collection together, in bytes.
const MAX_BYTES: usize = 255;

/// The collection that holds the definitions of a database's views.
pub(crate) const VIEWS: &str = "system.views";

/// What names of the server's own collections start with.
const SYSTEM_PREFIX: &str = "system.";

/// What the names of buckets' collections start with; clients may use them.
pub(crate) const BUCKETS_PREFIX: &str = "system.buckets.";

/// Checks a database's name.
///
/// # Errors
/// 73 if it is empty, too long or holds a character that is not allowed.
pub(crate) fn check_database(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > 63 || name.contains(['/', '\\', '.', ' ', '"', '$', '\0']) {
        return Err(Error::new(code::INVALID_NAMESPACE, format!("Invalid database name: '{name}'")));
    }
    Ok(())
}

/// Checks a collection's name for any use.
///
/// # Errors
/// 73 as for [`check_database`].
pub(crate) fn check_collection(database: &str, name: &str) -> Result<()> {
    if name.is_empty() || name.starts_with('.') || name.contains('\0') {
        return Err(Error::new(code::INVALID_NAMESPACE, format!("Invalid namespace specified '{database}.{name}'")));
    }
    Ok(())
}

/// Checks the name of a collection to be read.
///
/// # Errors
/// 73 as for [`check_collection`], and for dollars.
pub(crate) fn check_readable(database: &str, name: &str) -> Result<()> {
    check_collection(database, name)?;
    // What follows names a part of the stored form, such as the children of a subset.
    let logical = match name.split_once(STORED_SUFFIX) {
        Some((logical, part)) if (part.is_empty() || part.starts_with('.')) && !part.contains('$') => logical,
        _ => name,
    };
    match logical.contains('$') {
        true => Err(refused(database, name, "names with '$' are reserved")),
        false => Ok(()),
    }
}

/// Checks the name of a collection whose documents are to be changed.
///
/// # Errors
/// 73 as for [`check_readable`], and for stored forms, the server's own collections, and too long names.
pub(crate) fn check_writable(database: &str, name: &str) -> Result<()> {
    check_readable(database, name)?;
    if name.contains('$') {
        return Err(refused(database, name, "a stored form is read only"));
    }
    if database.len() + 1 + name.len() > MAX_BYTES {
        return Err(refused(database, name, "the name is too long"));
    }
    let usable = name.starts_with(BUCKETS_PREFIX) || matches!(name, "system.js" | "system.users");
    match name.starts_with(SYSTEM_PREFIX) && !usable {
        true => Err(refused(database, name, "names that start with 'system.' are reserved")),
        false => Ok(()),
    }
}

/// Checks a collection's name before it is made.
///
/// # Errors
/// 73 as for [`check_writable`].
pub(crate) fn check_new_collection(database: &str, name: &str) -> Result<()> {
    check_writable(database, name)
}

fn refused(database: &str, name: &str, why: &str) -> Error {
    Error::new(code::INVALID_NAMESPACE, format!("Invalid collection name '{database}.{name}': {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_names_are_refused_when_made_only() {
        assert!(check_collection("d", "a$b").is_ok());
        for name in ["", ".a", "a$b", "system.x", "a\0b"] {
            assert!(check_new_collection("d", name).is_err(), "{name:?}");
        }
        assert!(check_readable("d", "a$b").is_err());
        assert!(check_readable("d", "a.$stored").is_ok());
        assert!(check_writable("d", "a.$stored").is_err());
        assert!(check_readable("d", VIEWS).is_ok());
        assert!(check_writable("d", VIEWS).is_err());
        assert!(check_writable("d", "system.buckets.a").is_ok());
        assert!(check_new_collection("d", &"k".repeat(254)).is_err());
        assert!(check_new_collection("d", "a.b c").is_ok());
        assert!(check_database("a b").is_err());
    }
}
