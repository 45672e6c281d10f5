//! Names of databases and collections, and what MongoDB allows in them.
//!
//! Source: MongoDB's manual, "Naming Restrictions".

use bindery_document::{Error, Result, code};

/// What is appended to a collection's name to see its stored form.
pub const STORED_SUFFIX: &str = ".$stored";

/// The longest name of database and collection together, in bytes.
const MAX_BYTES: usize = 255;

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

/// Checks a collection's name before it is made.
///
/// # Errors
/// 73 for what [`check_collection`] refuses, and for dollars, reserved and too long names.
pub(crate) fn check_new_collection(database: &str, name: &str) -> Result<()> {
    check_collection(database, name)?;
    let refused = |why: &str| {
        Err(Error::new(code::INVALID_NAMESPACE, format!("Invalid collection name '{database}.{name}': {why}")))
    };
    if name.contains('$') {
        return refused("names with '$' are reserved");
    }
    if name.starts_with("system.") {
        return refused("names that start with 'system.' are reserved");
    }
    if database.len() + 1 + name.len() > MAX_BYTES {
        return refused("the name is too long");
    }
    Ok(())
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
        assert!(check_new_collection("d", &"k".repeat(254)).is_err());
        assert!(check_new_collection("d", "a.b c").is_ok());
        assert!(check_database("a b").is_err());
    }
}
