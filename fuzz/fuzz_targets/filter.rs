//! See [`bindery_fuzz::targets::filter`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bindery_fuzz::targets::filter::run(input));
