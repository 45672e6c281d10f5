//! What must hold for every input, and the inputs that are run again with every test.
//!
//! A target is a function from bytes to nothing that panics where something does not hold. cargo-fuzz runs it
//! on inputs that it makes up (`fuzz_targets/`); the tests of the workspace run it on those kept
//! ([`packed`]), with stable Rust and within seconds.
//!
//! - [`targets`] holds one file a target;
//! - [`loose`] reads documents from any bytes, so that nearly every input is a sound document;
//! - [`packed`] keeps many inputs in one file.

pub mod loose;
pub mod packed;
pub mod targets;
