//! See [`bindery_fuzz::targets::command`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bindery_fuzz::targets::command::run(input));
