//! Filters made of filters.

use std::fmt;

use tine_model::RawJson;

use super::denial::{Denial, DenialCode};
use super::{Judgement, ToolFilter};

/// A filter of any kind.
pub type BoxedFilter = Box<dyn ToolFilter>;

/// Allows what all of them allow; the first that refuses says why. Without any it allows everything.
pub fn all(filters: impl IntoIterator<Item = BoxedFilter>) -> All {
    All(filters.into_iter().collect())
}

/// Allows what one of them allows; otherwise each says why not. Without any it refuses everything.
pub fn any(filters: impl IntoIterator<Item = BoxedFilter>) -> Any {
    Any(filters.into_iter().collect())
}

/// Refuses what `filter` allows, and allows what it refuses. A call whose arguments cannot be read is
/// refused by both.
pub fn not(filter: BoxedFilter) -> Not {
    Not(filter)
}

/// What [`all`] makes.
pub struct All(Vec<BoxedFilter>);

/// What [`any`] makes.
pub struct Any(Vec<BoxedFilter>);

/// What [`not`] makes.
pub struct Not(BoxedFilter);

impl Judgement for All {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        self.0.iter().try_for_each(|filter| filter.check(tool, input))
    }
}

impl Judgement for Any {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        let mut denials = Vec::new();
        for filter in &self.0 {
            match filter.check(tool, input) {
                Ok(()) => return Ok(()),
                Err(denial) => denials.push(denial),
            }
        }
        let Some(first) = denials.first() else {
            return Err(Denial::new(DenialCode::ToolRefused, "this run may call no tool", ""));
        };
        let join = |part: fn(&Denial) -> &str, between: &str| {
            let parts = denials.iter().map(part);
            let mut parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            parts.dedup();
            parts.join(between)
        };
        // The words of another host may be whole sentences.
        let reason = join(|denial| denial.reason().trim_end_matches('.'), "; and ");
        Err(Denial::new(first.code(), reason, join(Denial::hint, " Or: ")))
    }
}

impl Judgement for Not {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        match self.0.check(tool, input) {
            Ok(()) => Err(Denial::new(
                DenialCode::ToolRefused,
                format!("this run may not make this call of `{}`", crate::call::shown(tool)),
                "Go on without it, or do it another way.",
            )),
            Err(denial) if denial.code() == DenialCode::Arguments => Err(denial),
            Err(_) => Ok(()),
        }
    }
}

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "All({} filters)", self.0.len())
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Any({} filters)", self.0.len())
    }
}

impl fmt::Debug for Not {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Not(a filter)")
    }
}
