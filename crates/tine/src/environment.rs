//! Environment variables.

use std::path::PathBuf;

use crate::fail::Failure;

/// Looks environment variables up.
pub(crate) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An environment variable, if it is set and readable.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The folder that a variable names, else this one in the user's home.
pub(crate) fn folder_of(lookup: Variable<'_>, name: &str, usual: &str) -> Result<PathBuf, Failure> {
    match lookup(name).filter(|value| !value.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => Ok(home()?.join(usual)),
    }
}

/// The user's home.
pub(crate) fn home() -> Result<PathBuf, Failure> {
    etcetera::home_dir().map_err(|_| Failure::input("no home directory").hint("set HOME"))
}
