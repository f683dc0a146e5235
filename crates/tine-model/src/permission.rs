//! Requests for permission: what can be decided, how far it reaches, and what became of a request.

use crate::agent::words;

words! {
    /// A yes or a no.
    Decision {
        /// The call may run.
        Allow = "allow",
        /// It may not.
        Deny = "deny",
    }
}

words! {
    /// How far an answer reaches, the narrowest first.
    PermissionScope {
        /// This one call.
        Once = "once",
        /// What the request's rule covers, whenever this agent asks. Its forks do not inherit it.
        Agent = "agent",
        /// What the rule covers, from every agent of the tree.
        Tree = "tree",
        /// The same, and the rule is written into the user's settings.
        Always = "always",
    }
}

impl PermissionScope {
    /// Whether it reaches no further than `widest`.
    pub fn is_within(self, widest: Self) -> bool {
        self as u8 <= widest as u8
    }
}

words! {
    /// What became of a request.
    PermissionState {
        /// Nobody has answered yet.
        Pending = "pending",
        /// Somebody said yes.
        Allowed = "allowed",
        /// Somebody said no.
        Denied = "denied",
        /// Nobody answered in time: its declared default counts.
        Expired = "expired",
        /// The one who asked is gone, or what was granted was taken back.
        Withdrawn = "withdrawn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_ordered_from_this_call_to_all_calls() {
        for pair in PermissionScope::ALL.windows(2) {
            assert!(pair[0].is_within(pair[1]) && !pair[1].is_within(pair[0]), "{pair:?}");
        }
    }
}
