//! What the planner did.
