//! What is asked of whoever runs an agent: to stop it, or to tell it something in the end.
//!
//! A wish to stop is a word in the agent's row. It is removed when the run is over.

use async_trait::async_trait;
use tine_model::{AgentId, AgentState, StopKind, TaskStatus};

use super::SqliteStore;
use super::agents::require_living;
use super::connection::Writing;
use super::leases::check_fence;
use super::mail::insert_mail;
use super::tasks::resume;
use crate::{Fence, NewMail, RequestStop, Result, StopStore, StoreError};

/// An agent and, where `?2` says so, all its descendants, ancestors first.
const TREE: &str = "WITH RECURSIVE tree (id) AS (\
     SELECT id FROM agents WHERE id = ?1 UNION ALL \
     SELECT a.id FROM tree JOIN agents a ON a.parent = tree.id WHERE ?2) \
     SELECT a.id, a.state, a.stop, t.status FROM tree JOIN agents a ON a.id = tree.id \
     LEFT JOIN tasks t ON t.agent = a.id ORDER BY a.seq";

#[async_trait]
impl StopStore for SqliteStore {
    async fn request_stop(&self, request: RequestStop) -> Result<Vec<AgentId>> {
        let mut write = self.connections.write().await?;
        let sql = sqlx::query(TREE).bind(request.agent.as_bytes().as_slice()).bind(request.cascade);
        let tree = write.all("subtree", sql).await?;
        if tree.is_empty() {
            return Err(StoreError::no_agent(request.agent));
        }
        let mut asked = Vec::new();
        for row in &tree {
            let task = row.word_or_null(3, TaskStatus::from_name)?;
            let runs = match row.word(1, AgentState::from_name)? {
                AgentState::Running => true,
                AgentState::Dead => false,
                // A worker that is about to run is stopped when it begins.
                AgentState::Idle | AgentState::Interrupted => {
                    task.is_some_and(|status| !status.is_final())
                }
            };
            if !runs {
                continue;
            }
            let agent = row.agent(0)?;
            let stands = row.word_or_null(2, StopKind::from_name)?;
            if stands.is_none_or(|stands| strictness(stands) < strictness(request.how)) {
                let sql = sqlx::query("UPDATE agents SET stop = ? WHERE id = ?")
                    .bind(request.how.as_str())
                    .bind(agent.as_bytes().as_slice());
                write.run("stop", sql).await?;
            }
            asked.push(agent);
        }
        write.commit().await?;
        Ok(asked)
    }

    async fn keep_follow_up(&self, agent: AgentId, text: &str) -> Result<bool> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, agent).await?;
        let sql = sqlx::query("UPDATE agents SET follow_up = ? WHERE id = ? AND follow_up IS NULL")
            .bind(text)
            .bind(agent.as_bytes().as_slice());
        let kept = write.execute("follow-up", sql).await?.rows_affected() > 0;
        write.commit().await?;
        Ok(kept)
    }

    async fn has_follow_up(&self, agent: AgentId) -> Result<bool> {
        let sql = "SELECT follow_up IS NOT NULL FROM agents WHERE id = ?";
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        let row = self.connections.read_one(sql).await?;
        row.ok_or_else(|| StoreError::no_agent(agent))?.get(0)
    }

    async fn resume_for_follow_up(
        &self,
        agent: AgentId,
        fence: Fence,
        now_ms: i64,
    ) -> Result<bool> {
        let mut write = self.connections.write().await?;
        check_fence(&mut write, agent, fence).await?;
        let resumes = match take_follow_up(&mut write, agent).await? {
            None => false,
            Some(body) => {
                resume(&mut write, agent).await?;
                let mail = NewMail { recipient: agent, sender: None, body, now_ms };
                insert_mail(&mut write, &mail).await?;
                true
            }
        };
        write.commit().await?;
        Ok(resumes)
    }

    async fn deliver_follow_up(&self, agent: AgentId, now_ms: i64) -> Result<bool> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, agent).await?;
        let text = take_follow_up(&mut write, agent).await?;
        let delivers = text.is_some();
        if let Some(body) = text {
            insert_mail(&mut write, &NewMail { recipient: agent, sender: None, body, now_ms })
                .await?;
        }
        write.commit().await?;
        Ok(delivers)
    }
}

async fn take_follow_up(write: &mut Writing<'_>, agent: AgentId) -> Result<Option<String>> {
    let sql = sqlx::query("SELECT follow_up FROM agents WHERE id = ?");
    let row = write.one("follow-up kept", sql.bind(agent.as_bytes().as_slice())).await?;
    let row = row.ok_or_else(|| StoreError::no_agent(agent))?;
    let text: Option<String> = row.get(0)?;
    if text.is_some() {
        let sql = sqlx::query("UPDATE agents SET follow_up = NULL WHERE id = ?");
        write.run("follow-up taken", sql.bind(agent.as_bytes().as_slice())).await?;
    }
    Ok(text)
}

fn strictness(how: StopKind) -> u8 {
    match how {
        StopKind::Soft => 0,
        StopKind::Interrupt => 1,
        StopKind::Hard => 2,
    }
}
