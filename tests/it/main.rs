//! Integration tests: Bindery through its commands, against what MongoDB answered or answers.
//!
//! Tests that ask a real MongoDB 6.0 run where `BINDERY_MONGOD_URI` names one
//! (`mongodb://127.0.0.1:27017`), and pass unasked elsewhere.

mod administration;
mod answer;
mod bad_input;
mod compare;
mod conformance;
mod corpus;
mod differential;
mod explain;
mod extjson;
mod pipeline_plans;
mod planner;
mod replies;
mod server;
mod snapshots;
mod validation_details;
mod wire;
