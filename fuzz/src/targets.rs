//! The targets, by name.

pub mod command;
pub mod filter;
pub mod key;
pub mod update;
pub mod validate;

/// A target: panics where something does not hold for the input.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its program and of its packed inputs.
pub const ALL: [(&str, Target); 5] = [
    ("filter", filter::run),
    ("update", update::run),
    ("key", key::run),
    ("validate", validate::run),
    ("command", command::run),
];
