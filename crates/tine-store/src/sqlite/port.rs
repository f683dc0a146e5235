//! [`Store`] for SQLite: each operation is in the file of its table.

use async_trait::async_trait;
use tine_model::{
    AgentId, AgentRecord, CapReached, EntryId, PermissionId, RequestId, TaskRecord, WorktreeRecord,
};

use super::SqliteStore;
use crate::{
    Acquire, AgentFilter, AnswerPermission, AskPermission, BudgetRow, CacheRow, CreateAgent,
    EntryRow, Fence, ForkRequest, Forked, IsAlive, Kill, Lease, MailId, MailRow, NewEntry, NewMail,
    NoteWriter, PermissionFilter, PermissionRow, Reap, Recover, Recovered, Relocation, Remove,
    RemovedAgent, Rename, RequestRow, RequestStop, Reserve, Reserved, Result, ServerNote,
    SetBudget, SetReach, SetStamp, SetState, Stamp, StampName, StandInLine, Store, TaskEnd,
    UsageScope, UsageSum, WriterRow,
};

#[async_trait]
impl Store for SqliteStore {
    async fn create_agent(&self, create: CreateAgent) -> Result<Vec<EntryId>> {
        self.create_agent_row(create).await
    }

    async fn fork(&self, request: ForkRequest) -> Result<Vec<Forked>> {
        self.fork_rows(request).await
    }

    async fn agent(&self, agent: AgentId) -> Result<AgentRecord> {
        self.agent_row(agent).await
    }

    async fn resolve(&self, text: &str) -> Result<AgentId> {
        self.resolve_text(text).await
    }

    async fn agents(&self, filter: AgentFilter) -> Result<Vec<AgentRecord>> {
        self.agent_rows(filter).await
    }

    async fn ancestry(&self, agent: AgentId) -> Result<Vec<AgentRecord>> {
        self.ancestry_rows(agent).await
    }

    async fn reap(&self, reap: Reap) -> Result<Vec<AgentId>> {
        self.reap_agents(reap).await
    }

    async fn remove(&self, remove: Remove) -> Result<Vec<RemovedAgent>> {
        self.remove_agents(remove).await
    }

    async fn find_damage(&self) -> Result<Vec<String>> {
        self.damage().await
    }

    async fn overwrite_removed(&self) -> Result<bool> {
        self.rewrite_file().await
    }

    async fn rename(&self, rename: Rename) -> Result<()> {
        self.rename_agent(rename).await
    }

    async fn set_state(&self, change: SetState) -> Result<()> {
        self.set_agent_state(change).await
    }

    async fn set_reach(&self, change: SetReach) -> Result<()> {
        self.set_agent_reach(change).await
    }

    async fn kill(&self, kill: Kill<'_>) -> Result<Vec<AgentId>> {
        self.kill_tree(kill).await
    }

    async fn head(&self, hash: &[u8; 32]) -> Result<Option<String>> {
        self.head_body(hash).await
    }

    async fn append(
        &self,
        agent: AgentId,
        fence: Fence,
        entries: &[NewEntry],
    ) -> Result<Vec<EntryId>> {
        self.append_rows(agent, fence, entries).await
    }

    async fn lineage(&self, agent: AgentId, at: Option<EntryId>) -> Result<Vec<EntryRow>> {
        self.lineage_rows(agent, at).await
    }

    async fn own_entries(&self, agent: AgentId, after: Option<EntryId>) -> Result<Vec<EntryRow>> {
        self.own_rows(agent, after).await
    }

    async fn task(&self, agent: AgentId) -> Result<Option<TaskRecord>> {
        self.task_row(agent).await
    }

    async fn tasks(&self, spawner: AgentId) -> Result<Vec<TaskRecord>> {
        self.task_rows(spawner).await
    }

    async fn all_tasks(&self) -> Result<Vec<TaskRecord>> {
        self.all_task_rows().await
    }

    async fn worktree(&self, agent: AgentId) -> Result<Option<WorktreeRecord>> {
        self.worktree_row(agent).await
    }

    async fn worktrees(&self) -> Result<Vec<WorktreeRecord>> {
        self.worktree_rows().await
    }

    async fn note_worktree(&self, record: WorktreeRecord) -> Result<()> {
        self.note_worktree_row(record).await
    }

    async fn relocate(&self, relocation: Relocation) -> Result<()> {
        self.relocate_rows(relocation).await
    }

    async fn start_task(&self, agent: AgentId) -> Result<bool> {
        self.start_task_row(agent).await
    }

    async fn resume_task(&self, agent: AgentId) -> Result<bool> {
        self.resume_task_row(agent).await
    }

    async fn clear_tasks(&self, spawner: AgentId, now_ms: i64) -> Result<Vec<AgentId>> {
        self.clear_task_rows(spawner, now_ms).await
    }

    async fn request_stop(&self, request: RequestStop) -> Result<Vec<AgentId>> {
        self.request_stop_rows(request).await
    }

    async fn keep_follow_up(&self, agent: AgentId, text: &str) -> Result<bool> {
        self.keep_follow_up_text(agent, text).await
    }

    async fn deliver_follow_up(&self, agent: AgentId, now_ms: i64) -> Result<bool> {
        self.deliver_follow_up_text(agent, now_ms).await
    }

    async fn resume_for_follow_up(
        &self,
        agent: AgentId,
        fence: Fence,
        now_ms: i64,
    ) -> Result<bool> {
        self.resume_for_follow_up_text(agent, fence, now_ms).await
    }

    async fn has_follow_up(&self, agent: AgentId) -> Result<bool> {
        self.has_follow_up_text(agent).await
    }

    async fn finish_task(&self, end: TaskEnd) -> Result<bool> {
        self.finish_task_row(end).await
    }

    async fn send_mail(&self, mail: NewMail) -> Result<MailId> {
        self.send_mail_row(mail).await
    }

    async fn unread_mail(&self, agent: AgentId) -> Result<Vec<MailRow>> {
        self.unread_mail_rows(agent).await
    }

    async fn deliver_mail(
        &self,
        agent: AgentId,
        fence: Fence,
        mail: MailId,
        entry: NewEntry,
    ) -> Result<EntryId> {
        self.deliver_mail_row(agent, fence, mail, entry).await
    }

    async fn withdraw_mail(
        &self,
        agent: AgentId,
        fence: Fence,
        mail: &[MailId],
    ) -> Result<Vec<MailId>> {
        self.withdraw_mail_rows(agent, fence, mail).await
    }

    async fn ask_permission(&self, ask: AskPermission) -> Result<PermissionRow> {
        self.ask_permission_row(ask).await
    }

    async fn permission(&self, id: PermissionId) -> Result<PermissionRow> {
        self.permission_row(id).await
    }

    async fn resolve_permission(&self, text: &str) -> Result<PermissionId> {
        self.resolve_permission_text(text).await
    }

    async fn permissions(
        &self,
        root: Option<AgentId>,
        filter: PermissionFilter,
    ) -> Result<Vec<PermissionRow>> {
        self.permission_rows(root, filter).await
    }

    async fn open_permission(&self, agent: AgentId, call: &str) -> Result<Option<PermissionRow>> {
        self.open_permission_row(agent, call).await
    }

    async fn standing_permissions(&self, agent: AgentId) -> Result<Vec<PermissionRow>> {
        self.standing_permission_rows(agent).await
    }

    async fn answer_permission(&self, answer: AnswerPermission) -> Result<PermissionRow> {
        self.answer_permission_row(answer).await
    }

    async fn default_permission(
        &self,
        id: PermissionId,
        by: &str,
        now_ms: i64,
    ) -> Result<PermissionRow> {
        self.default_permission_row(id, by, now_ms).await
    }

    async fn take_permission(&self, id: PermissionId, now_ms: i64) -> Result<bool> {
        self.take_permission_row(id, now_ms).await
    }

    async fn withdraw_permissions(&self, agent: AgentId, now_ms: i64) -> Result<u64> {
        self.withdraw_permission_rows(agent, now_ms).await
    }

    async fn revoke_permission(&self, id: PermissionId, now_ms: i64) -> Result<PermissionRow> {
        self.revoke_permission_row(id, now_ms).await
    }

    async fn set_budget(&self, set: SetBudget) -> Result<BudgetRow> {
        self.set_budget_row(set).await
    }

    async fn budget(&self, agent: AgentId) -> Result<Option<BudgetRow>> {
        self.budget_row(agent).await
    }

    async fn reserve(&self, ask: Reserve) -> Result<Reserved> {
        self.reserve_row(ask).await
    }

    async fn release_reservation(&self, id: RequestId) -> Result<()> {
        self.release_reservation_row(id).await
    }

    async fn stand_in_line(&self, stand: StandInLine) -> Result<()> {
        self.stand_in_line_rows(stand).await
    }

    async fn before_in_line(&self, agent: AgentId) -> Result<Option<CapReached>> {
        self.line_before(agent).await
    }

    async fn leave_line(&self, agent: AgentId) -> Result<()> {
        self.leave_line_row(agent).await
    }

    async fn record_request(&self, request: RequestRow, cache: &[CacheRow]) -> Result<bool> {
        self.record_request_row(request, cache).await
    }

    async fn requests(&self, agent: AgentId, scope: UsageScope) -> Result<Vec<RequestRow>> {
        self.request_rows(agent, scope).await
    }

    async fn recent_requests(
        &self,
        agent: AgentId,
        until_ms: i64,
        most: usize,
    ) -> Result<Vec<RequestRow>> {
        self.recent_request_rows(agent, until_ms, most).await
    }

    async fn usage_since(&self, after: i64) -> Result<(i64, Vec<UsageSum>)> {
        self.usage_sums(after).await
    }

    async fn cache_entries(&self, scope: [u8; 32], since_ms: i64) -> Result<Vec<CacheRow>> {
        self.cache_rows(scope, since_ms).await
    }

    async fn acquire(&self, acquire: Acquire<'_>) -> Result<Lease> {
        self.acquire_lease(acquire).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.release_lease(lease).await
    }

    async fn lease(&self, agent: AgentId) -> Result<Option<Lease>> {
        self.lease_row(agent).await
    }

    async fn held_by_dead(&self, is_alive: IsAlive<'_>) -> Result<Vec<AgentId>> {
        self.leased_by_dead(is_alive).await
    }

    async fn recover(&self, recover: Recover<'_>) -> Result<Vec<Recovered>> {
        self.recover_leases(recover).await
    }

    async fn note_writer(&self, note: NoteWriter) -> Result<Vec<WriterRow>> {
        self.note_writer_row(note).await
    }

    async fn note_server(&self, note: ServerNote) -> Result<()> {
        self.note_server_row(note).await
    }

    async fn server_notes(&self, host: &str) -> Result<Vec<ServerNote>> {
        self.server_note_rows(host).await
    }

    async fn stamp(&self, name: &StampName) -> Result<Option<Stamp>> {
        self.stamp_row(name).await
    }

    async fn set_stamp(&self, set: SetStamp) -> Result<bool> {
        self.set_stamp_row(set).await
    }

    async fn data_version(&self) -> Result<i64> {
        self.connections.data_version().await
    }

    async fn close(&self) -> Result<()> {
        self.connections.close().await
    }
}
