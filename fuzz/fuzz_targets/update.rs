//! See [`bindery_fuzz::targets::update`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bindery_fuzz::targets::update::run(input));
