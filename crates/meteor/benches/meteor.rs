//! Benchmarks of METEOR on small synthetic tables: a batch of typical captions, and long candidates with
//! repeated words, the worst case of the alignment search.

use std::hint::black_box;

use capeval_meteor::{
    Language, Options, PreparedReferences, Sources, Stage, Tables, WeightedStage, align, compile,
};
use capeval_tokens::{Candidates, References, Tokenization};
use criterion::{Criterion, criterion_group, criterion_main};

const WORDS: [&str; 12] =
    ["a", "man", "guy", "rides", "riding", "bike", "bicycle", "on", "top", "of", "the", "street"];

fn tables() -> Tables<Vec<u8>> {
    let file = compile(
        Sources {
            synsets: &mut "man\n1\nguy\n1\nbike\n2\nbicycle\n2\n".as_bytes(),
            exceptions: &mut "man\nmen\n".as_bytes(),
            function_words: &mut "a\non\nof\nthe\n".as_bytes(),
            prefixes: &mut "Mr\n".as_bytes(),
            paraphrases: &mut "0.5\non top of\non\n0.5\nthe street\nstreet\n".as_bytes(),
        },
        &mut |_| std::ops::ControlFlow::Continue(()),
    );
    Tables::open(file.expect("the sources are right")).expect("a new table opens")
}

fn options() -> Options {
    Options {
        language: Language::English,
        stages: Stage::ALL.map(|stage| WeightedStage { stage, weight: 1.0 }).into(),
        alpha: 0.85,
        beta: 0.2,
        gamma: 0.6,
        delta: 0.75,
        beam_size: 40,
        normalize: true,
        penalize_perfect: false,
    }
}

/// Generates captions of `len` words with a linear congruential generator.
fn captions(count: usize, len: usize) -> Vec<String> {
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    (0..count).map(|_| (0..len).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

fn batch(criterion: &mut Criterion) {
    let (tables, options) = (tables(), options());
    let captions = captions(5000, 11);
    let references: Vec<&str> =
        captions.chunks(5).flat_map(|image| &image[1..]).map(String::as_str).collect();
    let references =
        References::new(&references, (0..=1000).map(|image| 4 * image).collect(), Tokenization::None);
    let candidates: Vec<&str> = captions.chunks(5).map(|image| image[0].as_str()).collect();
    let candidates = Candidates::new(&references, &candidates, (0..1000).collect(), Tokenization::None);
    criterion.bench_function("prepare 1000 images", |bencher| {
        bencher.iter(|| PreparedReferences::new(&tables, &options, black_box(&references)));
    });
    let prepared = PreparedReferences::new(&tables, &options, &references).expect("valid references");
    criterion.bench_function("score 1000 images", |bencher| {
        bencher.iter(|| prepared.score(&tables, black_box(&candidates)));
    });
}

fn long(criterion: &mut Criterion) {
    let (tables, options) = (tables(), options());
    let pair = captions(2, 100);
    criterion.bench_function("align 100 words of 12 with 100", |bencher| {
        bencher.iter(|| align(&tables, &options, black_box(&pair[0]), &pair[1]));
    });
    let (candidate, reference) = (["a"; 100].join(" "), ["a"; 99].join(" "));
    criterion.bench_function("align one word 100 times with 99 times", |bencher| {
        bencher.iter(|| align(&tables, &options, black_box(&candidate), &reference));
    });
}

criterion_group!(benches, batch, long);
criterion_main!(benches);
