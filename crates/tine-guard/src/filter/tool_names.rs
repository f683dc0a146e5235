//! The names of the tools that filters know: the canonical ones, whatever a provider or a host calls them.

/// Runs a command of the shell.
pub const BASH: &str = "Bash";
/// Changes part of a file.
pub const FILE_EDIT: &str = "FileEdit";
/// Reads a file.
pub const FILE_READ: &str = "FileRead";
/// Writes a whole file.
pub const FILE_WRITE: &str = "FileWrite";
/// Finds files by their names.
pub const GLOB: &str = "Glob";
/// Finds lines in files.
pub const GREP: &str = "Grep";
/// Runs a script that calls tools.
pub const REPL: &str = "REPL";
