//! The laboratory from outside: scenarios on the engine and, where there is one, on a real MongoDB.
//!
//! Tests against a MongoDB run where `BINDERY_MONGOD_URI` names one, tests over files where
//! `BINDERY_DATA` names the folder of the data sets; both say so where it does not.

mod extjson;
mod index_bytes;
mod mongod;
mod own_data;
mod scenarios;
mod transfer;
