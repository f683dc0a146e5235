//! What every [`Store`] must do, as tests that any implementation can run: implement [`Fixture`] and call
//! [`store_contract!`](crate::store_contract) in a test module. The functions panic where a store breaks its contract.

mod agents;
mod budget;
mod budget_law;
mod fork;
mod guests;
mod lease;
mod log;
mod model;
mod permission;
mod reach;
mod remotes;
mod remove;
mod sample;
mod servers;
mod stamps;
mod stops;
mod work;
mod writers;

use async_trait::async_trait;

use crate::{Result, Store};

pub use agents::*;
pub use budget::*;
pub use budget_law::{Spending, spending_passes_no_cap};
pub use fork::*;
pub use guests::*;
pub use lease::*;
pub use log::*;
pub use model::{Inherit, Operation, lineage_equals_the_naive_model};
pub use permission::*;
pub use reach::*;
pub use remotes::*;
pub use remove::*;
pub use sample::{
    agent_id, ask_of, cache_row, caps_of, create, end_of, fork_of, message, new_agent,
    permission_id, plain_notice, request_of, reserve_of, yes_to,
};
pub use servers::*;
pub use stamps::*;
pub use stops::*;
pub use work::*;
pub use writers::*;

/// A storage that is empty at first.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// A new handle on the storage. What one handle has written, every later one finds.
    async fn open(&self) -> Result<Box<dyn Store>>;
}

/// Asserts that an operation fails with an error of the given form.
macro_rules! refused {
    ($operation:expr, $pattern:pat $(if $guard:expr)?) => {
        match $operation {
            Err($pattern) $(if $guard)? => {}
            other => panic!("expected {}, got {other:?}", stringify!($pattern)),
        }
    };
}
pub(crate) use refused;

/// Defines one test for each function of the suite. Takes an expression that makes a new [`Fixture`]; needs tokio's test macro.
#[macro_export]
macro_rules! store_contract {
    ($fixture:expr) => {
        $crate::store_contract! { $fixture;
            an_agent_is_read_as_it_was_made
            an_id_is_used_once
            a_head_is_stored_once_and_must_be_known
            a_prefix_names_one_agent_or_is_refused
            an_agent_has_the_title_of_its_first_words
            names_are_unique_among_the_living
            hidden_and_dead_agents_are_not_listed
            a_hidden_run_leaves_its_parent_as_it_was
            ancestry_runs_from_the_root
            only_kill_makes_dead
            kill_takes_all_descendants_and_tells_the_living
            reap_takes_the_dead_off_the_lists
            a_removed_agent_is_gone_with_all_it_said
            what_others_inherit_stays
            no_more_stays_than_is_inherited_through_others
            who_runs_is_not_removed
            a_dry_run_removes_nothing
            an_import_is_there_at_once
            appended_rows_come_back_in_order
            long_logs_and_long_bodies_come_back_whole
            only_the_store_writes_fork_events
            a_lineage_can_be_cut_at_any_entry
            a_fork_inherits_up_to_its_fork_point
            an_agent_without_entries_forks_without_fork_point
            siblings_share_one_fork_point
            a_fork_at_an_earlier_entry_forgets_the_rest
            a_fork_may_inherit_from_a_grandparent
            a_fork_is_made_with_its_first_entries
            a_forks_worktree_is_known_with_it
            a_moved_worktree_is_written_with_its_agents
            a_worktree_is_adopted_by_its_agent_and_disowned
            a_refused_fork_leaves_nothing
            an_agent_keeps_its_reach
            a_child_reaches_no_farther_than_its_parent
            a_reach_is_changed_under_the_lease
            a_parent_run_by_somebody_else_can_be_forked
            a_forked_worker_is_held_at_once
            a_lease_given_back_in_a_run_interrupts
            one_writer_at_a_time
            a_lost_lease_writes_nothing
            the_fence_never_goes_back
            a_dead_owner_is_recovered_once
            a_takeover_interrupts_like_a_recovery
            a_task_ends_once_and_tells_its_spawner_once
            an_interrupted_task_can_start_again
            a_task_can_be_taken_up_again_after_any_end
            ended_tasks_can_be_taken_off_the_list
            lost_is_told_from_interrupted
            a_wish_to_stop_reaches_what_runs
            one_follow_up_waits_for_the_end_of_a_run
            a_follow_up_takes_a_task_up_again
            a_wish_to_stop_does_not_outlive_its_run
            a_zombie_cannot_end_a_task
            unread_mail_can_be_withdrawn
            mail_is_read_until_delivered
            mail_to_nobody_is_refused
            a_request_counts_once
            requests_are_found_by_agent_and_by_tree
            usage_is_summed_from_where_one_asked_last
            cache_entries_are_kept_while_they_are_used
            a_request_is_in_the_queue_of_its_root
            a_request_is_named_by_a_unique_prefix
            the_first_answer_wins
            an_answer_keeps_within_its_scope
            a_deadline_lets_the_default_count
            the_same_call_finds_its_request_again
            a_standing_answer_reaches_as_far_as_its_scope
            a_request_is_withdrawn_with_its_asker
            another_handle_sees_every_change
            a_budget_is_for_the_whole_tree
            what_was_spent_before_a_budget_counts
            a_cap_lets_through_until_it_is_used_up
            the_time_runs_from_the_first_time_cap
            a_reservation_is_settled_once
            what_nobody_holds_is_not_reserved
            workers_are_counted_where_they_are_made
            workers_run_in_the_order_of_the_line
            writers_of_one_directory_see_each_other
            directories_within_each_other_are_shared
            a_writer_is_gone_with_its_lease
            what_a_server_said_is_kept_by_its_host
            a_stamp_is_set_by_whoever_knows_the_one_before
            a_stamp_is_set_under_a_lease
            a_guest_is_found_by_its_session_and_by_its_first_message
            a_head_is_changed_under_the_lease
            the_last_request_of_a_guest_is_kept
            what_comes_back_of_a_remote_run_is_taken_in_once
            a_remote_run_outlives_its_lease_and_its_owner
            cache_entries_of_another_machine_are_noted
        }
    };
    ($fixture:expr; $($name:ident)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                let fixture = $fixture;
                $crate::contract::$name(&fixture).await.unwrap();
            }
        )+
    };
}
