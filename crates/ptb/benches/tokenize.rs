//! Benchmark of tokenization in captions per second, on one core.
//!
//! `CAPEVAL_BENCH_CAPTIONS` names a file with one caption per line. Without it, a few sentences are repeated.

use capeval_ptb::{Options, Tokenizer};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SENTENCES: &[&str] = &[
    "A small dog runs along the beach with a stick in its mouth.",
    "Two people are sitting at a table, and one of them isn't eating.",
    "a red double-decker bus parked in front of a store called \"Joe's\"",
    "The clock on St. Mary's tower says 10:30 a.m.",
    "Several kites fly high in a blue sky (no clouds) ",
];

fn captions() -> String {
    match std::env::var_os("CAPEVAL_BENCH_CAPTIONS") {
        Some(path) => std::fs::read_to_string(path).expect("a readable file of captions"),
        None => SENTENCES.join("\n").repeat(2_000),
    }
}

fn tokenize(criterion: &mut Criterion) {
    let text = captions();
    let lines: Vec<&str> = text.lines().collect();
    let options = Options::default();
    let mut group = criterion.benchmark_group("tokenize");
    group.throughput(Throughput::Elements(lines.len() as u64)).sample_size(20);
    group.bench_function("captions", |bencher| {
        bencher.iter(|| {
            let mut tokenizer = Tokenizer::new();
            let mut bytes = 0;
            for (index, line) in lines.iter().enumerate() {
                tokenizer.tokenize_in_batch(line, &lines[index + 1..], &options, |token| {
                    bytes += black_box(token).len();
                });
            }
            bytes
        });
    });
    group.bench_function("start and one caption", |bencher| {
        bencher.iter(|| capeval_ptb::tokenize(black_box(SENTENCES[3]), &options));
    });
    group.finish();
}

criterion_group!(benches, tokenize);
criterion_main!(benches);
