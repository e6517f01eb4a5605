//! Checks the flags of the commands in the documentation.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use super::Arguments;

/// Returns the Markdown files of a folder and its subfolders.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let pages = |path: PathBuf| match path.is_dir() {
        true => pages(&path),
        false => vec![path],
    };
    let pages = entries.flat_map(pages);
    pages
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect()
}

/// Returns the long flags of a command line that its verb does not have.
fn unknown_flags(root: &Command, line: &str) -> Vec<String> {
    let mut verb = root;
    let mut unknown = vec![];
    for word in line.split_whitespace() {
        if let Some(next) = verb.find_subcommand(word) {
            verb = next;
        } else if let Some(flag) = word.strip_prefix("--") {
            let flag = flag
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .next();
            let has = |arg: &clap::Arg| arg.get_long() == flag;
            if !verb.get_arguments().any(has) {
                unknown.push(word.to_owned());
            }
        }
    }
    unknown
}

#[test]
fn every_flag_of_a_command_in_the_documentation_exists() {
    let mut root = Arguments::command();
    root.build();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = pages(&project.join("docs"));
    files.extend(["README.md", "CHANGELOG.md"].map(|name| project.join(name)));
    let mut checked = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.split("freshq ").skip(1) {
            let line = line.split(['`', '|', '\n', '(']).next().unwrap_or_default();
            let verb = line.split_whitespace().next().unwrap_or_default();
            if root.find_subcommand(verb).is_some() {
                checked += 1;
                let unknown = unknown_flags(&root, line);
                assert!(
                    unknown.is_empty(),
                    "{}: freshq {line}: {unknown:?}",
                    file.display()
                );
            }
        }
    }
    assert!(checked > 100, "only {checked} commands were found");
}
