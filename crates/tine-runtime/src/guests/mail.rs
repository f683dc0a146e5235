//! Mail of guests: reports of their forks and messages that were sent to them. Nobody runs a guest, so its program takes them along with its
//! next prompt.
//!
//! Mail is taken out of the mailbox in one transaction, under the guest's lease, before anybody is told of it: of two prompts at once one gets
//! it, and one that is lost with a process that dies right then does not come again.

use tine_fork::notification::TaskNotification;
use tine_model::{AgentId, AgentState, Standing};
use tine_store::{GuestFilter, MailId, MailRow, StoreError};

use crate::error::RuntimeError;
use crate::journal::mail_text;
use crate::runtime::Runtime;

/// Bytes of what a program takes along with one prompt. Claude Code (2.1) and Codex (0.169) put texts of more than 10,000 characters into a
/// file, and show the model their beginning.
const PROMPT_BYTES_MAX: usize = 9_500;

/// Bytes that each report has at least, so that a prompt brings a few that can be read instead of many that cannot.
const REPORT_BYTES_MIN: usize = 1_500;

/// The mail that a program's prompt takes along.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenMail {
    /// Each as its reader sees it, the oldest first.
    pub texts: Vec<String>,
    /// Messages that wait for the next prompt.
    pub left: usize,
}

impl Runtime {
    /// Takes the mail of a program's conversation: that of all living guests of the session, since it may have gone on in several ways. What is
    /// taken is read, and comes once; what would make the prompt too long stays for the next one.
    ///
    /// # Errors
    ///
    /// The store's, where nothing could be taken. What cannot be taken beside what could be stays unread.
    pub async fn take_mail_of_session(
        &self,
        host: &str,
        session: &str,
    ) -> Result<TakenMail, RuntimeError> {
        let filter = GuestFilter::Session { host: host.to_owned(), session: session.to_owned() };
        let mut mail: Vec<MailRow> = Vec::new();
        for guest in self.store().guests(filter).await? {
            let unread = self.store().unread_mail(guest.agent).await?;
            if !unread.is_empty() && self.is_living_guest(guest.agent).await? {
                mail.extend(unread);
            }
        }
        if mail.is_empty() {
            return Ok(TakenMail::default());
        }
        mail.sort_by_key(|row| row.id);
        let all = mail.len();
        mail.truncate(fitting(&mail));
        let mut taken: Vec<MailId> = Vec::new();
        let mut failed = None;
        for (guest, ids) in by_guest(&mail) {
            match self.take(guest, &ids).await {
                Ok(of_guest) => taken.extend(of_guest),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed.filter(|_| taken.is_empty()) {
            return Err(error);
        }
        // Another prompt may have been faster.
        mail.retain(|row| taken.contains(&row.id));
        let left = if mail.is_empty() { 0 } else { all.saturating_sub(mail.len()) };
        Ok(TakenMail { texts: told(mail), left })
    }

    async fn is_living_guest(&self, agent: AgentId) -> Result<bool, RuntimeError> {
        match self.store().agent(agent).await {
            Ok(record) => {
                Ok(record.standing == Standing::Guest && record.state != AgentState::Dead)
            }
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes messages out of a guest's mailbox; returns those that were still there.
    async fn take(&self, guest: AgentId, mail: &[MailId]) -> Result<Vec<MailId>, RuntimeError> {
        let lease = self.acquire_once_free(guest).await?;
        let taken = self.store().withdraw_mail(guest, lease.fence, mail).await;
        // What is taken must be told in any case. A lease that this process keeps ends with it.
        let _ = self.give_back(&lease).await;
        Ok(taken?)
    }
}

/// Messages by the guests that they were sent to.
fn by_guest(mail: &[MailRow]) -> Vec<(AgentId, Vec<MailId>)> {
    let mut guests: Vec<(AgentId, Vec<MailId>)> = Vec::new();
    for row in mail {
        match guests.iter_mut().find(|(guest, _)| *guest == row.recipient) {
            Some((_, ids)) => ids.push(row.id),
            None => guests.push((row.recipient, vec![row.id])),
        }
    }
    guests
}

/// The number of messages, from the first one on, that one prompt takes along: a report can be cut, any other message cannot. At least one.
fn fitting(mail: &[MailRow]) -> usize {
    let mut bytes = 0;
    let fits = |row: &MailRow| {
        let most = if is_report(row) { REPORT_BYTES_MIN } else { usize::MAX };
        bytes += row.body.len().min(most);
        bytes <= PROMPT_BYTES_MAX
    };
    mail.iter().map(fits).take_while(|fits| *fits).count().max(1)
}

/// Messages as their reader sees them. Where they are too long together, the longest reports are cut, and say where the rest is.
fn told(mail: Vec<MailRow>) -> Vec<String> {
    let (mut reports, mut others) = (Vec::new(), 0);
    for row in &mail {
        match is_report(row) {
            true => reports.push(row.body.len()),
            false => others += row.body.len(),
        }
    }
    let share = share(reports, PROMPT_BYTES_MAX.saturating_sub(others));
    let text = |row: MailRow| match (is_report(&row), row.sender) {
        (true, _) if row.body.len() > share => cut(&row.body, share),
        // It stands beside a prompt of the user, and is none of it.
        (false, None) => format!("Message from the user:\n{}", row.body),
        (true, _) | (false, Some(_)) => mail_text(row),
    };
    mail.into_iter().map(text).collect()
}

/// Returns true for the notice of a task's end. A user's words are none, whatever they look like.
fn is_report(row: &MailRow) -> bool {
    row.sender.is_some() && TaskNotification::parse(&row.body).is_some()
}

/// The length to which texts are cut that together may have so many bytes: what short ones leave over is for the long ones.
fn share(mut lengths: Vec<usize>, mut bytes: usize) -> usize {
    lengths.sort_unstable();
    let mut count = lengths.len();
    for length in lengths {
        if length > bytes / count {
            return (bytes / count).max(REPORT_BYTES_MIN);
        }
        bytes -= length;
        count -= 1;
    }
    usize::MAX
}

/// A report with the beginning of its result, in so many bytes.
fn cut(text: &str, bytes: usize) -> String {
    let Some(mut report) = TaskNotification::parse(text) else { return text.to_owned() };
    let Some(result) = report.result.take() else { return text.to_owned() };
    let mut written = |most: usize| {
        let beginning = &result[..result.floor_char_boundary(most)];
        let pointer = format!("\n[cut: `tine show {}` has all of it]", report.task_id);
        report.result = Some(format!("{beginning}{pointer}"));
        report.to_string()
    };
    // Signs that are escaped grow, so the length is known only once it is written.
    let (mut fits, mut beyond) = (0, result.len() + 1);
    while beyond - fits > 1 {
        let middle = fits + (beyond - fits) / 2;
        match written(middle).len() <= bytes {
            true => fits = middle,
            false => beyond = middle,
        }
    }
    written(fits)
}

#[cfg(test)]
mod tests {
    use tine_fork::notification::NotificationStatus;

    use super::*;

    fn row(id: i64, body: String) -> MailRow {
        let recipient = AgentId::from_random([1; 16]);
        let sender = Some(AgentId::from_random([2; 16]));
        MailRow { id: MailId(id), recipient, sender, at_ms: id, body }
    }

    fn report(result: &str) -> String {
        let notice = TaskNotification {
            task_id: "02020202-0202-4202-8202-020202020202".to_owned(),
            status: NotificationStatus::Completed,
            summary: "done".to_owned(),
            result: Some(result.to_owned()),
            worktree: None,
            usage: None,
        };
        notice.to_string()
    }

    #[test]
    fn a_report_that_is_too_long_is_cut_and_says_where_the_rest_is() {
        let texts = told(vec![row(1, report("short")), row(2, report(&"<é>".repeat(9_000)))]);
        assert_eq!(texts[0], report("short"));
        let bytes: usize = texts.iter().map(String::len).sum();
        assert!(bytes <= PROMPT_BYTES_MAX && bytes > PROMPT_BYTES_MAX - 200, "{bytes}");
        let read = TaskNotification::parse(&texts[1]).unwrap();
        let told = "\n[cut: `tine show 02020202-0202-4202-8202-020202020202` has all of it]";
        assert!(read.result.unwrap().ends_with(told));
    }

    #[test]
    fn what_does_not_fit_waits_and_a_message_is_never_cut() {
        let long = || report(&"long ".repeat(5_000));
        let reports: Vec<MailRow> = (1..=9).map(|id| row(id, long())).collect();
        assert_eq!(fitting(&reports), PROMPT_BYTES_MAX / REPORT_BYTES_MIN);
        let message = "word ".repeat(5_000);
        assert_eq!(fitting(&[row(1, message.clone()), row(2, long())]), 1);
        let texts = told(vec![row(1, message.clone())]);
        assert_eq!(texts, [format!("Message from agent 02020202:\n{message}")]);
        assert_eq!(share(vec![100, 5_000, 6_000], 9_100), 4_500);
        assert_eq!(share(vec![100, 200], 9_000), usize::MAX);
    }
}
