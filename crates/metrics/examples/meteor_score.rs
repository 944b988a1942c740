//! Score a file of cases: `meteor_score TABLES CASES [RUNS]`. Each line of CASES is a candidate and
//! its references, separated by tabs. Prints the corpus score, then the statistics and the score of
//! each line; with RUNS, times that many runs on standard error instead.

use std::error::Error;
use std::time::Instant;

use capeval_metrics::meteor::{Options, PreparedReferences, Segment, Statistics, Tables, score};

fn run(
    tables: &Tables<Vec<u8>>,
    references: &[Vec<&str>],
    candidates: &[&str],
) -> Result<Vec<Segment>, Box<dyn Error>> {
    let start = Instant::now();
    let prepared = PreparedReferences::new(tables, &Options::default(), references)?;
    let middle = Instant::now();
    let segments = prepared.score_all(tables, candidates)?;
    let (preparing, scoring) = (middle - start, middle.elapsed());
    eprintln!("prepare {:.3} s, score {:.3} s", preparing.as_secs_f64(), scoring.as_secs_f64());
    Ok(segments)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (tables, cases) =
        (arguments.first().ok_or("expected TABLES")?, arguments.get(1).ok_or("expected CASES")?);
    let runs = arguments.get(2).map_or(Ok(0), |runs| runs.parse())?;
    let tables = Tables::open(std::fs::read(tables)?)?;
    let text = std::fs::read_to_string(cases)?;
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let candidates: Vec<&str> = lines.iter().map(|line| line[0]).collect();
    let references: Vec<Vec<&str>> = lines.iter().map(|line| line[1..].to_vec()).collect();
    for _ in 0..runs {
        run(&tables, &references, &candidates)?;
    }
    let segments = run(&tables, &references, &candidates)?;
    let mut sum = Statistics::default();
    segments.iter().for_each(|segment| sum.add(&segment.statistics));
    if runs == 0 {
        println!("{:?}", score(&sum, &Options::default()));
        for segment in segments {
            println!("{:?}\t{:?}", segment.statistics.0, segment.score);
        }
    }
    Ok(())
}
