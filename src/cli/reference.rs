//! `ralphd schema`, `completions` and `man`: what the program knows about itself, for other programs.

use super::arguments::{Arguments, Completions, Man, Schema, SchemaOf};
use super::exit::Exit;
use super::output;
use crate::{config, model};
use anyhow::{Context, Result};
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;

/// Prints a JSON Schema.
pub fn schema(which: &Schema) -> Result<Exit> {
    output::print_json(&match which.what {
        SchemaOf::Request => model::request::schema(),
        SchemaOf::Config => config::schema(),
        SchemaOf::Events => model::contract::schema(),
    })?;
    Ok(Exit::Done)
}

/// Prints the completion script for a shell.
pub fn completions(which: &Completions) -> Result<Exit> {
    // The generator panics where it cannot write, so it gets memory.
    let mut script = Vec::new();
    clap_complete::generate(
        which.shell,
        &mut Arguments::command(),
        "ralphd",
        &mut script,
    );
    print(&script)
}

/// Prints the manual page, or writes one page for each command.
pub fn man(whither: &Man) -> Result<Exit> {
    if let Some(directory) = &whither.into {
        return write_pages(directory);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
    print(&page)
}

fn write_pages(directory: &Path) -> Result<Exit> {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(directory)?;
        clap_mangen::generate_to(Arguments::command(), directory)
    };
    write().with_context(|| format!("cannot write the manual into {}", directory.display()))?;
    Ok(Exit::Done)
}

fn print(bytes: &[u8]) -> Result<Exit> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_every_command_but_the_hidden_ones() {
        let directory = tempfile::tempdir().unwrap();
        write_pages(directory.path()).unwrap();
        for (page, expected) in [
            ("ralphd.1", true),
            ("ralphd-list.1", true),
            ("ralphd-db-prune.1", true),
            ("ralphd-shim.1", false),
            ("ralphd-rehearse.1", false),
            ("ralphd-help.1", false),
        ] {
            assert_eq!(directory.path().join(page).exists(), expected, "{page}");
        }
    }

    #[test]
    fn the_commands_are_well_formed() {
        Arguments::command().debug_assert();
    }
}
