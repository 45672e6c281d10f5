//! Bindery.
