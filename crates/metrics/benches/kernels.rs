//! Benchmarks of the n-gram kernels on captions from a fixed vocabulary: `cargo bench -p capeval-metrics`.

use std::hint::black_box;
use std::sync::Arc;

use capeval_metrics::bleu::{self, ReferenceLength};
use capeval_metrics::cider::{Options, Pooling, PreparedReferences};
use capeval_metrics::rouge;
use capeval_tokens::{Candidates, References, Tokenization};
use criterion::{Criterion, criterion_group, criterion_main};

const IMAGES: usize = 2000;
const REFERENCES: usize = 4;
const CIDER_D: Options =
    Options { max_order: 4, sigma: Some(6.0), clip: true, pooling: Pooling::Mean, relative: false };

/// Generates captions of about ten words with a few frequent words, as in real captions.
fn captions(count: usize, seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut caption = || {
        let words = (0..8 + next(5)).map(|_| {
            let common = 1 + next(12);
            format!("w{}", next(common * common * common))
        });
        words.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(|_| caption()).collect()
}

fn kernels(criterion: &mut Criterion) {
    let texts = captions(IMAGES * REFERENCES, 1);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let starts: Vec<usize> = (0..=IMAGES).map(|image| image * REFERENCES).collect();
    let candidates = captions(IMAGES, 2);
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let images: Vec<u32> = (0..IMAGES as u32).collect();

    criterion.bench_function("intern references", |bench| {
        bench.iter(|| References::new(black_box(&texts), starts.clone(), Tokenization::None));
    });
    let references = Arc::new(References::new(&texts, starts.clone(), Tokenization::None));
    let candidates = Candidates::new(&references, &candidates, images, Tokenization::None);
    criterion.bench_function("BLEU", |bench| {
        bench.iter(|| bleu::statistics(&references, black_box(&candidates), 4, ReferenceLength::Closest));
    });
    criterion.bench_function("ROUGE-L", |bench| {
        bench.iter(|| rouge::l_statistics(&references, black_box(&candidates), 1.2));
    });
    criterion.bench_function("ROUGE-S", |bench| {
        bench.iter(|| rouge::s_statistics(&references, black_box(&candidates), Some(4), 1.2));
    });
    criterion.bench_function("CIDEr-D, references", |bench| {
        bench.iter(|| PreparedReferences::new(Arc::clone(&references), CIDER_D));
    });
    let prepared = PreparedReferences::new(Arc::clone(&references), CIDER_D);
    criterion.bench_function("CIDEr-D, candidates", |bench| {
        bench.iter(|| prepared.statistics(black_box(&candidates)));
    });
}

criterion_group!(benches, kernels);
criterion_main!(benches);
