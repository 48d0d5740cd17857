//! Writes the Rust code of the contract. protox reads the protos, so no protoc is needed.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    // A copy of this folder has its own protos.
    let protos = ["protos", "../../protos"]
        .into_iter()
        .find(|folder| Path::new(folder).join("rubble/v1").is_dir())
        .ok_or("no protos; expected them in ./protos or ../../protos")?;
    println!("cargo::rerun-if-changed={protos}");
    let files = ["bot", "simulation"].map(|name| format!("rubble/v1/{name}.proto"));
    let compiled = protox::compile(files, [protos])?;
    tonic_prost_build::configure().compile_fds(compiled)?;
    Ok(())
}
