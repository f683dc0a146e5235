//! Environment variables.

/// Looks environment variables up.
pub(crate) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An environment variable, if it is set and readable.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
