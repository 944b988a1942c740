//! Prints the rules of the jars `CORENLP SCENE_GRAPH_PARSER SPICE` as JSON.

use std::error::Error;
use std::fs::read;
use std::io::Write;

use capeval_classfiles::{Jars, Reference};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [corenlp, scene_graph_parser, spice] = paths.as_slice() else {
        return Err("expected three paths: CORENLP SCENE_GRAPH_PARSER SPICE".into());
    };
    let jars =
        Jars { corenlp: read(corenlp)?, scene_graph_parser: read(scene_graph_parser)?, spice: read(spice)? };
    std::io::stdout().write_all(&Reference::read(jars)?.rules.to_bytes()?)?;
    Ok(())
}
