//! What a spawner reads when a worker's task has ended.

use tine_fork::notification::{EndedTask, NotificationStatus, NotificationUsage, TaskNotification};
use tine_model::{TaskRecord, TaskStatus, TaskWorktree};

/// The notice of a task that has ended: one envelope for every way in which it can end. Its duration runs from when the task was
/// made to its end, as in lists of tasks; of a task that was resumed, the time in between counts.
pub(crate) fn task_notice(task: &TaskRecord) -> String {
    let status = match task.status {
        TaskStatus::Completed => NotificationStatus::Completed,
        TaskStatus::Cancelled => NotificationStatus::Killed,
        TaskStatus::TimedOut => NotificationStatus::Timeout,
        TaskStatus::Queued
        | TaskStatus::Running
        | TaskStatus::Failed
        | TaskStatus::Interrupted
        | TaskStatus::Lost => NotificationStatus::Failed,
    };
    let cause = match task.status {
        TaskStatus::Interrupted => Some(
            task.error
                .as_deref()
                .unwrap_or("interrupted: its process died; the task can be resumed")
                .to_owned(),
        ),
        TaskStatus::Lost => {
            Some("its process died before it began; the task can be resumed".to_owned())
        }
        _ => Some(task.error.clone().unwrap_or_else(|| task.status.as_str().to_owned())),
    };
    let duration_ms = task.ended_ms.map(|ended_ms| ended_ms.saturating_sub(task.created_ms));
    let notification = TaskNotification::of_end(EndedTask {
        task_id: task.agent.to_string(),
        status,
        cause,
        last_words: task.report.clone(),
        worktree: task.worktree.as_ref().and_then(changes),
        usage: NotificationUsage {
            total_tokens: task.usage.prompt() + task.usage.output,
            tool_uses: task.tool_uses,
            duration_ms: duration_ms.and_then(|duration_ms| u64::try_from(duration_ms).ok()),
        },
    });
    notification.to_string()
}

/// Where the changes of a task are; `None` where there are none.
fn changes(worktree: &TaskWorktree) -> Option<String> {
    let counted = |count: u32, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let files = counted(worktree.files, "file changed", "files changed");
    let commits = counted(worktree.commits, "commit", "commits");
    let done: Vec<String> = files.into_iter().chain(commits).collect();
    (!done.is_empty()).then(|| format!("{}: {}", worktree.path, done.join(", ")))
}

#[cfg(test)]
mod tests {
    use tine_model::{AgentId, Usage};

    use super::*;

    #[test]
    fn a_notice_names_the_task_its_end_and_its_report() {
        let id = AgentId::from_random([1; 16]);
        let mut task = TaskRecord {
            agent: id,
            spawner: id,
            directive: "count".into(),
            description: None,
            definition: None,
            status: TaskStatus::Completed,
            resumes: 0,
            flags: Vec::new(),
            report: Some("Scope: count <files>\nResult: 3".into()),
            error: None,
            usage: Usage { uncached: 10, output: 5, ..Usage::default() },
            turns: 2,
            tool_uses: 1,
            created_ms: 0,
            ended_ms: Some(1),
            cleared_ms: None,
            worktree: None,
        };
        insta::assert_snapshot!(task_notice(&task), @r"
        <task-notification>
        <task-id>01010101-0101-4101-8101-010101010101</task-id>
        <status>completed</status>
        <summary>3</summary>
        <result>Scope: count &lt;files&gt;
        Result: 3</result>
        <usage><total_tokens>15</total_tokens><tool_uses>1</tool_uses><duration_ms>1</duration_ms></usage>
        </task-notification>
        ");
        let path = "/w/01010101".to_owned();
        task.worktree = Some(TaskWorktree { path, files: 0, commits: 0 });
        assert_eq!(TaskNotification::parse(&task_notice(&task)).unwrap().worktree, None);
        task.worktree.iter_mut().for_each(|worktree| (worktree.files, worktree.commits) = (3, 1));
        let read = TaskNotification::parse(&task_notice(&task)).unwrap();
        let changes = "/w/01010101: 3 files changed, 1 commit";
        assert_eq!(read.worktree.as_deref(), Some(changes));
        assert_eq!((read.task_id, read.result), (id.to_string(), task.report));
    }
}
