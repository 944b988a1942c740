//! Times the kernels without Python, on tokenized captions in memory.
//!
//! Usage: `bare_kernels REFERENCES CANDIDATES ROUNDS`. Both text files have one tokenized caption per line,
//! after its image and a tab, with the images in the same order. Prints the seconds of each round as one line
//! of JSON.

use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};

use capeval_metrics::bleu::{self, ReferenceLength};
use capeval_metrics::cider::{Options, Pooling, PreparedReferences};
use capeval_metrics::rouge;
use capeval_tokens::{Candidates, References, Tokenization};

const CIDER_D: Options =
    Options { max_order: 4, sigma: Some(6.0), clip: true, pooling: Pooling::Mean, relative: false };

fn grouped(text: &str) -> (Vec<&str>, Vec<usize>) {
    let (mut captions, mut starts, mut last) = (Vec::new(), Vec::new(), None);
    for line in text.lines() {
        let (image, caption) = line.split_once('\t').expect("an image, a tab and a caption in each line");
        if last != Some(image) {
            starts.push(captions.len());
            last = Some(image);
        }
        captions.push(caption);
    }
    starts.push(captions.len());
    (captions, starts)
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let [_, references, candidates, rounds] = arguments.as_slice() else {
        panic!("usage: bare_kernels REFERENCES CANDIDATES ROUNDS");
    };
    let read = |path: &String| fs::read_to_string(path).expect("a readable file");
    let (references, candidates) = (read(references), read(candidates));
    let ((references, starts), (candidates, images)) = (grouped(&references), grouped(&candidates));
    assert_eq!(starts.len(), images.len(), "as many images in both files");
    let rounds: usize = rounds.parse().expect("a number of rounds");
    let seconds: Vec<[f64; 5]> = (0..rounds).map(|_| round(&references, &starts, &candidates)).collect();
    println!(
        "{{\"columns\": [\"intern\", \"BLEU\", \"ROUGE-L\", \"CIDEr-D\", \"all\"], \"seconds\": {seconds:?}}}"
    );
}

fn round(references: &[&str], starts: &[usize], candidates: &[&str]) -> [f64; 5] {
    let start = Instant::now();
    let references = Arc::new(References::new(references, starts.to_vec(), Tokenization::None));
    let images = (0..candidates.len() as u32).collect();
    let candidates = Candidates::new(&references, candidates, images, Tokenization::None);
    let interned = start.elapsed().as_secs_f64();
    let bleu = bleu::statistics(&references, &candidates, 4, ReferenceLength::Closest);
    let bleu_done = start.elapsed().as_secs_f64();
    let rouge = rouge::l_statistics(&references, &candidates, 1.2);
    let rouge_done = start.elapsed().as_secs_f64();
    let prepared = PreparedReferences::new(Arc::clone(&references), CIDER_D);
    let cider = prepared.statistics(&candidates);
    let all = start.elapsed().as_secs_f64();
    assert!(bleu.len() > rouge.len() && cider.len() > rouge.len());
    [interned, bleu_done - interned, rouge_done - bleu_done, all - rouge_done, all]
}
