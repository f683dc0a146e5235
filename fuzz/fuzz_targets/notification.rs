//! Notices of tasks that have ended, as models and other programs write them. What is read says the same when it is written and
//! read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_fork::notification::TaskNotification;

fuzz_target!(|text: &str| {
    for text in [text.to_owned(), inside(text)] {
        if let Some(notice) = TaskNotification::parse(&text) {
            assert_eq!(TaskNotification::parse(&notice.to_string()), Some(notice));
        }
    }
});

/// An envelope that says enough, so that the rest of it is read too.
fn inside(text: &str) -> String {
    format!("<task-notification><task-id>1</task-id><status>failed</status>{text}")
}
