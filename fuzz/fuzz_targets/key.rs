//! See [`bindery_fuzz::targets::key`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bindery_fuzz::targets::key::run(input));
