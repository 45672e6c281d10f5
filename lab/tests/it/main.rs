//! The laboratory from outside: scenarios on real databases.
//!
//! Tests against a MongoDB run where `BINDERY_MONGOD_URI` names one, and say so where it does not.

mod mongod;
mod own_data;
mod scenarios;
mod transfer;
