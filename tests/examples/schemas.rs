//! Writes the JSON Schemas of the contract: `cargo run -p lockstep-tests --example schemas`.

use lockstep_tests::schemas;
use std::fs;

fn main() -> std::io::Result<()> {
    let folder = schemas::folder();
    fs::create_dir_all(&folder)?;
    for (name, schema) in schemas::all() {
        fs::write(folder.join(name), schemas::text(&schema))?;
        println!("shared/schemas/{name}");
    }
    fs::write(schemas::lock_options_file(), schemas::lock_options())?;
    println!("infra/cdk/lib/lock-options.json");
    Ok(())
}
