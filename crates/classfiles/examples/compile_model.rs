//! Compile SPICE's model: `compile_model FOLDER MODEL`, where the folder has the reference's jars, those of CoreNLP
//! in `lib`, and METEOR's `english.synsets` and `english.exceptions`.
use std::fs::{File, read};
use std::path::Path;

use capeval_classfiles::{Jars, compile_model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, model] = &arguments[..] else { return Err("expected: FOLDER MODEL".into()) };
    let folder = Path::new(folder);
    let jars = Jars {
        corenlp: read(folder.join("lib/stanford-corenlp-3.6.0.jar"))?,
        scene_graph_parser: read(folder.join("lib/SceneGraphParser-1.0.jar"))?,
        spice: read(folder.join("spice-1.0.jar"))?,
    };
    let models = File::open(folder.join("lib/stanford-corenlp-3.6.0-models.jar"))?;
    let (synsets, exceptions) = (read(folder.join("english.synsets"))?, read(folder.join("english.exceptions"))?);
    std::fs::write(model, compile_model(jars, models, &synsets, &exceptions)?)?;
    Ok(())
}
