//! Tuples of captions: `analyse MODEL FILE`, a caption a line in as JSON, its tuples a line out.
use std::error::Error;
use std::time::Instant;

use capeval_spice::Model;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let model = Model::open(std::fs::read(&arguments[0])?)?;
    let text = std::fs::read_to_string(&arguments[1])?;
    let captions: Vec<String> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let captions: Vec<&str> = captions.iter().map(String::as_str).collect();
    let start = Instant::now();
    let tuples = model.tuples(&captions, 150)?;
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{} captions in {seconds:.2} s, {:.0} a second", captions.len(), captions.len() as f64 / seconds);
    for (caption, tuples) in captions.iter().zip(tuples) {
        let tuples: Vec<_> = tuples.iter().map(|tuple| tuple.parts()).collect();
        println!("{}", serde_json::json!({"c": caption, "tu": tuples}));
    }
    Ok(())
}
