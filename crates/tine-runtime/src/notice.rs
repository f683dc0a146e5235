//! What a spawner reads when a worker's task has ended.

use tine_model::{TaskRecord, TaskStatus};

/// Longest summary, in characters.
const SUMMARY_CHARS_MAX: usize = 80;

/// The notice of a task that has ended: one envelope for every way in which it can end.
pub(crate) fn task_notice(task: &TaskRecord) -> String {
    let status = match task.status {
        TaskStatus::Completed => "completed",
        TaskStatus::Cancelled => "killed",
        TaskStatus::TimedOut => "timeout",
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Failed | TaskStatus::Interrupted => {
            "failed"
        }
    };
    let told = match task.status {
        TaskStatus::Interrupted => Some("its process died; the task can be resumed"),
        _ => task.error.as_deref().or(task.report.as_deref()),
    };
    let first_line = told.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
    let summary: String =
        first_line.unwrap_or(task.status.as_str()).trim().chars().take(SUMMARY_CHARS_MAX).collect();
    let mut text = format!(
        "<task-notification>\n<task-id>{}</task-id>\n<status>{status}</status>\n<summary>{}</summary>\n",
        task.agent,
        escape(&summary)
    );
    if let Some(report) = &task.report {
        text.push_str(&format!("<result>{}</result>\n", escape(report)));
    }
    let tokens = task.usage.prompt() + task.usage.output;
    text.push_str(&format!(
        "<usage><total_tokens>{tokens}</total_tokens><tool_uses>{}</tool_uses></usage>\n</task-notification>",
        task.tool_uses
    ));
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use tine_model::{AgentId, Usage};

    use super::*;

    #[test]
    fn a_notice_names_the_task_its_end_and_its_report() {
        let id = AgentId::from_random([1; 16]);
        let task = TaskRecord {
            agent: id,
            spawner: id,
            directive: "count".into(),
            status: TaskStatus::Completed,
            report: Some("Scope: count <files>\nResult: 3".into()),
            error: None,
            usage: Usage { uncached: 10, output: 5, ..Usage::default() },
            turns: 2,
            tool_uses: 1,
            created_ms: 0,
            ended_ms: Some(1),
        };
        insta::assert_snapshot!(task_notice(&task), @r"
        <task-notification>
        <task-id>01010101-0101-4101-8101-010101010101</task-id>
        <status>completed</status>
        <summary>Scope: count &lt;files&gt;</summary>
        <result>Scope: count &lt;files&gt;
        Result: 3</result>
        <usage><total_tokens>15</total_tokens><tool_uses>1</tool_uses></usage>
        </task-notification>
        ");
    }
}
