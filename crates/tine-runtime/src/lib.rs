//! The agent tree, the fork transaction, tasks and permissions.
