//! Whole commands: exit code, stdout and stderr, in a home of their own.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

/// Compares with an inline snapshot, ids and times filtered out.
macro_rules! check {
    ($text:expr, @$expected:literal) => {
        insta::with_settings!({ filters => $crate::support::filters() }, {
            insta::assert_snapshot!($text, @$expected);
        });
    };
}

/// Compares with an inline snapshot; tokens, money and times are filtered out too.
macro_rules! shape {
    ($text:expr, @$expected:literal) => {
        insta::with_settings!({ filters => $crate::run::filters() }, {
            insta::assert_snapshot!($text, @$expected);
        });
    };
}

mod away;
mod bad_input;
mod bad_store;
mod boundary;
mod budget;
mod cache;
mod cluster;
mod compact;
mod crash;
mod crash_crew;
mod crash_workers;
mod demo_worktrees;
mod digest;
mod dream;
mod eval;
mod fan;
mod faults;
mod first_hour;
mod foreign;
mod fork;
mod gate;
mod gateway;
mod gateway_hook;
mod gateway_install;
mod guard_filter;
mod guard_shell;
mod healing;
mod hosts;
mod hosts_gateway;
mod hosts_guests;
mod import_export;
mod import_tools;
mod leftovers;
mod login;
mod mcp;
mod mcp_install;
mod merge_back;
mod pages;
mod paperwork;
mod permission;
mod pick;
mod pty;
mod reach;
mod read_files;
mod registry;
mod remove;
mod rewind;
mod run;
mod scripts;
mod sim_serve;
mod store_waits;
mod support;
mod talk;
mod talk_background;
mod talk_commands;
mod talk_errands;
mod talk_focus;
mod talk_history;
mod talk_mistakes;
mod talk_modes;
mod talk_plain;
mod talk_question;
mod talk_queue;
mod talk_tree;
mod talk_view;
mod talk_workers;
mod task;
mod terminal;
mod trust;
mod worktree;
