//! Shared data sets of the benches.
