//! The notice of a fork's end.

use std::time::Duration;

use tine_fork::notification::{NotificationStatus, NotificationUsage, TaskNotification};
use tine_fork::{DelegateMode, ForkParams};
use tine_model::StopReason;
use tine_testkit::Answer;

use crate::house::{House, every_format, model};

/// Status and summary of the end of a fork that is answered so.
async fn notice(house: &House, answers: Vec<Answer>) -> (NotificationStatus, String) {
    let timeout = Some(Duration::from_secs(5));
    let params = ForkParams { timeout, max_turns: 2, ..house.params(&model(answers)) };
    let notice = house.fork(params).await.join().await.unwrap().to_task_notification();
    assert_eq!(TaskNotification::parse(&notice.to_string()).as_ref(), Some(&notice));
    (notice.status, notice.summary)
}

every_format! {
    /// Shows: the envelope has a status, a summary of at most 80 characters, the result, and usage with the true number of tool
    /// calls; it is escaped, and is read back.
    async fn a_notice_says_what_came_of_a_fork(house: House) {
        let calls = [("c1", "Echo", "{}"), ("c2", "Echo", "{}"), ("c3", "Fail", "{}")];
        let words = format!("\n{}\n<b> & more", "é".repeat(100));
        let result = house.done([Answer::calls(calls), Answer::text(words.clone())]).await;
        let notice = result.to_task_notification();
        let expected = TaskNotification {
            task_id: result.run_id.to_string(),
            status: NotificationStatus::Completed,
            summary: "é".repeat(80),
            result: Some(words),
            worktree: None,
            usage: Some(NotificationUsage { total_tokens: 20, tool_uses: 3, duration_ms: Some(0) }),
        };
        assert_eq!(notice, expected);
        let mail = format!("Your worker says:\n{notice}\n");
        assert!(mail.contains("&lt;b&gt; &amp; more</result>"), "{mail}");
        assert_eq!(TaskNotification::parse(&mail), Some(notice));
    }

    /// Shows: timed out is `timeout`, aborted is `killed`, every other end but completion is `failed`; without words of its own the
    /// summary is the outcome.
    async fn every_end_has_its_status(house: House) {
        let call = || Answer::calls([("c1", "Echo", "{}")]);
        let failed = NotificationStatus::Failed;
        assert_eq!(notice(&house, vec![call(), call()]).await, (failed, "turn limit".to_owned()));
        let cut = vec![Answer::text("half").with_stop(StopReason::MaxTokens)];
        assert_eq!(notice(&house, cut).await, (failed, "length cut".to_owned()));
        let refused = vec![Answer::text("").with_stop(StopReason::Refusal)];
        assert_eq!(notice(&house, refused).await, (failed, "refused".to_owned()));
        let broken = "request failed: the script has no answer to request 1".to_owned();
        assert_eq!(notice(&house, vec![]).await, (failed, broken));
        let late = vec![call(), Answer::hang()];
        assert_eq!(notice(&house, late).await, (NotificationStatus::Timeout, "timed out".to_owned()));
        let model = model([Answer::hang()]);
        let params = ForkParams { mode: DelegateMode::ForkAndForget, ..house.params(&model) };
        let fork = house.fork(params).await;
        model.requested(1).await;
        fork.cancel();
        let notice = fork.join().await.unwrap().to_task_notification();
        assert_eq!((notice.status, notice.summary.as_str()), (NotificationStatus::Killed, "aborted"));
    }
}
