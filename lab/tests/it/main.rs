//! The laboratory from outside: scenarios on the engine and, where there is one, on a real MongoDB.
//!
//! Tests against a MongoDB run where `BINDERY_MONGOD_URI` names one, tests over files where
//! `BINDERY_DATA` names the folder of the data sets, those of the BSON corpus where `BINDERY_SPECS` names
//! that of the drivers' specification tests; each says so where it does not.

mod bson_corpus;
mod extjson;
mod index_bytes;
mod mongod;
mod own_data;
mod scenarios;
mod specs;
mod transfer;
