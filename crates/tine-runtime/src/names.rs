//! Names of agents.

use crate::error::RuntimeError;

/// Refuses a new name that is none.
pub(crate) fn check_name(name: Option<&str>) -> Result<(), RuntimeError> {
    let Some(name) = name else { return Ok(()) };
    let checked = tine_model::check_name(name);
    checked.map_err(|why| RuntimeError::Name { name: name.to_owned(), why })
}
