//! See [`bindery_fuzz::targets::validate`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bindery_fuzz::targets::validate::run(input));
