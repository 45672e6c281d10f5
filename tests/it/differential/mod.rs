//! Differential testing: random collections, indexes, and commands, run on a real MongoDB and beside it.
//!
//! Each scene (a collection with its indexes) is made from the seed and its number alone. Commands go to
//! the real MongoDB in a pipeline, so that its round trip does not count. What differs is shrunk and
//! printed as a case of the conformance corpus; once mended it goes to `tests/conformance/found/`, where it
//! is run without a MongoDB ever after.
//!
//! | variable | effect |
//! |---|---|
//! | `BINDERY_MONGOD_URI` | the MongoDB to compare with; without it nothing is run |
//! | `BINDERY_DIFFERENTIAL_SEED` | another seed than the fixed one; `fresh` makes one up and prints it |
//! | `BINDERY_DIFFERENTIAL_READS`, `_WRITES`, `_PIPELINES` | how many commands |
//! | `BINDERY_DIFFERENTIAL_FROM` | the number of the first scene |
//! | `BINDERY_DIFFERENTIAL_KEEP` | after how many differences to stop |
//! | `BINDERY_DIFFERENTIAL_SKIP` | leave out commands that hold one of these texts, set apart by `\|` |

mod arguments;
mod collations;
mod expressions;
mod filters;
mod indexes;
mod judge;
mod operators;
mod pipelines;
mod projections;
mod random;
mod reads;
mod run;
mod scene;
mod schemas;
mod shrink;
mod updates;
mod values;
mod windows;
mod writes;
