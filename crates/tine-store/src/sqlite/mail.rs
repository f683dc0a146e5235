//! Mailboxes: durable, read in order, delivered by a cursor.

use async_trait::async_trait;
use tine_model::{AgentId, EntryId};

use super::SqliteStore;
use super::agents::require_living;
use super::column::Columns;
use super::connection::Writing;
use super::entries::append_entries;
use super::leases::check_fence;
use crate::{Fence, MailId, MailRow, MailStore, NewEntry, NewMail, Result, StoreError};

/// Unread messages that a mailbox takes from senders. Nobody reads more than that; notices of tasks always fit, since
/// there is one for each task.
const UNREAD_MAX: i64 = 1000;

#[async_trait]
impl MailStore for SqliteStore {
    async fn send_mail(&self, mail: NewMail) -> Result<MailId> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, mail.recipient).await?;
        let sql = "SELECT count(*) FROM mail WHERE recipient = ?1 \
             AND id > (SELECT mail_cursor FROM agents WHERE id = ?1)";
        let sql = sqlx::query(sql).bind(mail.recipient.as_bytes().as_slice());
        let unread = match write.one("unread mail", sql).await? {
            Some(row) => row.get::<i64>(0)?,
            None => 0,
        };
        if unread >= UNREAD_MAX {
            return Err(StoreError::MailboxFull { recipient: mail.recipient });
        }
        let id = insert_mail(&mut write, &mail).await?;
        write.commit().await?;
        Ok(id)
    }

    async fn unread_mail(&self, agent: AgentId) -> Result<Vec<MailRow>> {
        let sql = "SELECT id, sender, at_ms, body FROM mail WHERE recipient = ?1 \
             AND id > (SELECT mail_cursor FROM agents WHERE id = ?1) ORDER BY id";
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        let rows = self.connections.read_all(sql).await?;
        let decode = |row: &Columns<'_>| {
            Ok(MailRow {
                id: MailId(row.get(0)?),
                recipient: agent,
                sender: row.agent_or_null(1)?,
                at_ms: row.get(2)?,
                body: row.get(3)?,
            })
        };
        rows.iter().map(decode).collect()
    }

    async fn deliver_mail(
        &self,
        agent: AgentId,
        fence: Fence,
        mail: MailId,
        entry: NewEntry,
    ) -> Result<EntryId> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, agent).await?;
        check_fence(&mut write, agent, fence).await?;
        // A cursor beyond the last mail would swallow the next one; one that stands there already has delivered it.
        let sql = "SELECT 1 FROM mail WHERE id = ?1 AND recipient = ?2 \
             AND id > (SELECT mail_cursor FROM agents WHERE id = ?2)";
        let sql = sqlx::query(sql).bind(mail.0).bind(agent.as_bytes().as_slice());
        if write.one("mail unread", sql).await?.is_none() {
            return Err(StoreError::UnknownMail { agent, mail });
        }
        let at_ms = entry.at_ms;
        let ids = append_entries(&mut write, agent, &[entry]).await?;
        let sql = "UPDATE agents SET mail_cursor = ?, updated_ms = ? WHERE id = ?";
        let sql = sqlx::query(sql).bind(mail.0).bind(at_ms).bind(agent.as_bytes().as_slice());
        write.run("mail cursor", sql).await?;
        write.commit().await?;
        ids.first().copied().ok_or_else(|| StoreError::no_agent(agent))
    }

    async fn withdraw_mail(
        &self,
        agent: AgentId,
        fence: Fence,
        mail: &[MailId],
    ) -> Result<Vec<MailId>> {
        let mut write = self.connections.write().await?;
        check_fence(&mut write, agent, fence).await?;
        let sql = "DELETE FROM mail WHERE id = ?1 AND recipient = ?2 \
             AND id > (SELECT mail_cursor FROM agents WHERE id = ?2)";
        let mut withdrawn = Vec::with_capacity(mail.len());
        for id in mail {
            let sql = sqlx::query(sql).bind(id.0).bind(agent.as_bytes().as_slice());
            if write.execute("mail withdrawn", sql).await?.rows_affected() > 0 {
                withdrawn.push(*id);
            }
        }
        write.commit().await?;
        Ok(withdrawn)
    }
}

pub(super) async fn insert_mail(write: &mut Writing<'_>, mail: &NewMail) -> Result<MailId> {
    let sql = sqlx::query("INSERT INTO mail (recipient, sender, at_ms, body) VALUES (?, ?, ?, ?)")
        .bind(mail.recipient.as_bytes().as_slice())
        .bind(mail.sender.as_ref().map(|sender| sender.as_bytes().as_slice()))
        .bind(mail.now_ms)
        .bind(mail.body.as_str());
    Ok(MailId(write.execute("mail row", sql).await?.last_insert_rowid()))
}
