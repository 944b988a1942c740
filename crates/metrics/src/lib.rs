//! Scoring kernels of capeval over tokenised captions.

pub mod meteor;
