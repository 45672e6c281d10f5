//! The inputs kept are run again; the README beside says how they are made.

use bindery_fuzz::{packed, targets};

fn replay(name: &str) {
    let (_, target) = targets::ALL.into_iter().find(|(target, _)| *target == name).expect("a target of this name");
    let inputs = packed::read(&packed::file_of(name)).expect("the packed inputs");
    assert!(!inputs.is_empty());
    for (number, input) in inputs.iter().enumerate() {
        if std::panic::catch_unwind(|| target(input)).is_err() {
            panic!("{name}: input {number} of {} fails: {:?}", inputs.len(), String::from_utf8_lossy(input));
        }
    }
}

#[test]
fn inputs_of_filter_hold() {
    replay("filter");
}

#[test]
fn inputs_of_update_hold() {
    replay("update");
}

#[test]
fn inputs_of_key_hold() {
    replay("key");
}

#[test]
fn inputs_of_validate_hold() {
    replay("validate");
}

#[test]
fn inputs_of_command_hold() {
    replay("command");
}
