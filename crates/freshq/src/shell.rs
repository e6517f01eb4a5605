//! Generates shell completions and manual pages.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::{Failure, Result};

/// Generates shell completions.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Writes the manual pages, one per verb.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder, for example ~/.local/share/man/man1
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

impl Completions {
    pub(crate) fn print(&self, command: &mut Command) -> Result<()> {
        // Write to memory first, because the generator panics if a write fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, command, "freshq", &mut script);
        let written = io::stdout().write_all(&script);
        written.map_err(Failure::Terminal)
    }
}

impl Man {
    pub(crate) fn write(&self, command: Command) -> Result<()> {
        write_pages(command, &self.folder).map_err(|source| Failure::File {
            path: self.folder.display().to_string(),
            source,
        })
    }
}

fn write_pages(command: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command, folder)
}
