//! Reading an envelope that others wrote, or a model copied.
//!
//! Not an XML parser: it reads what can be understood and passes over the rest, in time that grows with the text alone.

use super::{ENVELOPE, NotificationStatus, NotificationUsage, TaskNotification};
use crate::envelope::permitted;

/// Openings that are tried: each may cost a look through the whole text, and a text with so many broken envelopes quotes code.
const OPENINGS_MAX: usize = 16;

/// Elements of an envelope that are looked at, for the same reason; a whole one has five.
const ELEMENTS_MAX: usize = 16;

/// Longest entity, between `&` and `;`: any character's number fits.
const ENTITY_BYTES_MAX: usize = 10;

pub(super) fn envelope(text: &str) -> Option<TaskNotification> {
    let openings = text.match_indices('<').filter_map(|(at, _)| {
        let tag = Tag::open(&text[at..]).filter(|tag| tag.is(ENVELOPE))?;
        Some(if tag.is_empty { "" } else { &text[at + tag.len..] })
    });
    openings.take(OPENINGS_MAX).find_map(notification)
}

/// What stands behind the opening tag.
fn notification(body: &str) -> Option<TaskNotification> {
    let (mut task_id, mut status, mut summary) = (None, None, None);
    let (mut result, mut worktree, mut usage) = (None, None, None);
    for (tag, inner) in (Elements { rest: body, within: ENVELOPE }).take(ELEMENTS_MAX) {
        // The first one counts, for a result that was not escaped may quote another.
        if tag.is("task-id") {
            task_id = task_id.or_else(|| Some(content(inner)).filter(|id| !id.is_empty()));
        } else if tag.is("status") {
            status = status.or_else(|| status_of(&content(inner)));
        } else if tag.is("summary") {
            summary = summary.or_else(|| Some(content(inner)));
        } else if tag.is("result") {
            result = result.or_else(|| Some(content(inner)));
        } else if tag.is("worktree") {
            worktree = worktree.or_else(|| Some(content(inner)));
        } else if tag.is("usage") {
            usage = usage.or_else(|| usage_of(inner));
        }
    }
    let (task_id, status) = (task_id?, status?);
    let or_first_line = || TaskNotification::summary_of(result.as_deref(), status.as_str());
    let summary = summary.unwrap_or_else(or_first_line);
    Some(TaskNotification { task_id, status, summary, result, worktree, usage })
}

fn status_of(word: &str) -> Option<NotificationStatus> {
    NotificationStatus::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(word))
}

/// `None` where nothing in it is a number.
fn usage_of(inner: &str) -> Option<NotificationUsage> {
    let (mut total_tokens, mut tool_uses, mut duration_ms) = (None, None, None);
    for (tag, inner) in (Elements { rest: inner, within: "usage" }).take(ELEMENTS_MAX) {
        let number: Option<u64> = content(inner).parse().ok();
        if tag.is("total-tokens") {
            total_tokens = total_tokens.or(number);
        } else if tag.is("tool-uses") {
            tool_uses = tool_uses.or(number);
        } else if tag.is("duration-ms") {
            duration_ms = duration_ms.or(number);
        }
    }
    total_tokens.or(tool_uses).or(duration_ms)?;
    let tool_uses = u32::try_from(tool_uses.unwrap_or(0)).unwrap_or(u32::MAX);
    Some(NotificationUsage { total_tokens: total_tokens.unwrap_or(0), tool_uses, duration_ms })
}

/// A tag at the beginning of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    /// Bytes of all of it.
    len: usize,
    /// `<name/>`.
    is_empty: bool,
}

impl<'a> Tag<'a> {
    fn open(text: &'a str) -> Option<Self> {
        Self::after(text, "<")
    }

    fn close(text: &'a str) -> Option<Self> {
        Self::after(text, "</")
    }

    fn after(text: &'a str, begin: &str) -> Option<Self> {
        let rest = text.strip_prefix(begin)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let behind = &rest[name.len()..];
        if !name.starts_with(|c: char| c.is_ascii_alphabetic())
            || !behind.starts_with(|c: char| c.is_whitespace() || matches!(c, '/' | '>'))
        {
            return None;
        }
        // Another tag that begins first means that this one was no tag.
        let end = behind.find(['<', '>']).filter(|end| behind[*end..].starts_with('>'))?;
        let is_empty = behind[..end].ends_with('/');
        Some(Self { name, len: begin.len() + name.len() + end + 1, is_empty })
    }

    /// Whether it has this name, in any case, and with `_` for `-`.
    fn is(&self, name: &str) -> bool {
        let same = |(a, b): (u8, u8)| a.eq_ignore_ascii_case(&b) || (a == b'_' && b == b'-');
        self.name.len() == name.len() && self.name.bytes().zip(name.bytes()).all(same)
    }
}

/// The elements of `rest`, each with what stands in it, up to the end of `within`. Text between them is passed over. An element that
/// is not closed reaches to the end, and may hold others.
pub(crate) struct Elements<'a> {
    pub(crate) rest: &'a str,
    pub(crate) within: &'a str,
}

impl<'a> Iterator for Elements<'a> {
    type Item = (Tag<'a>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let text = &self.rest[self.rest.find('<')?..];
            if let Some(tag) = Tag::open(text) {
                let inner = &text[tag.len..];
                if tag.is_empty {
                    self.rest = inner;
                    return Some((tag, ""));
                }
                let (inner, rest) = until_closed(inner, tag.name, self.within);
                self.rest = rest;
                return Some((tag, inner));
            }
            if Tag::close(text).is_some_and(|tag| tag.is(self.within)) {
                return None;
            }
            self.rest = &text[section(text).map_or(1, |section| section.len)..];
        }
    }
}

/// What stands before the tag that closes `name`, and what behind it. Without one, all up to the end of `within`, which is still to
/// be looked through.
fn until_closed<'a>(text: &'a str, name: &str, within: &str) -> (&'a str, &'a str) {
    let (mut at, mut end) = (0, None);
    while let Some(found) = text[at..].find('<') {
        at += found;
        if let Some(tag) = Tag::close(&text[at..]) {
            if tag.is(name) {
                return (&text[..at], &text[at + tag.len..]);
            }
            if tag.is(within) {
                end = end.or(Some(at));
            }
        }
        at += section(&text[at..]).map_or(1, |section| section.len);
    }
    (&text[..end.unwrap_or(text.len())], text)
}

/// A part of a text in which no tag is one.
struct Section<'a> {
    /// What it says; nothing for a comment.
    text: &'a str,
    /// Bytes of all of it.
    len: usize,
}

/// The section that begins here. One without an end is none.
fn section(text: &str) -> Option<Section<'_>> {
    const CDATA: (&str, &str) = ("<![CDATA[", "]]>");
    const COMMENT: (&str, &str) = ("<!--", "-->");
    let of = |(begin, end): (&str, &str)| {
        let inner = text.strip_prefix(begin)?;
        let inner = &inner[..inner.find(end)?];
        Some((inner, begin.len() + inner.len() + end.len()))
    };
    let cdata = of(CDATA).map(|(text, len)| Section { text, len });
    cdata.or_else(|| of(COMMENT).map(|(_, len)| Section { text: "", len }))
}

/// What an element says: blanks at the ends are layout, unless they were written as numbers or in CDATA.
pub(crate) fn content(inner: &str) -> String {
    let mut said = String::with_capacity(inner.len());
    // Up to where it is no layout.
    let mut kept = 0;
    let mut rest = inner;
    while let Some(c) = rest.chars().next() {
        let (mut len, before) = (c.len_utf8(), said.len());
        if let Some(section) = (c == '<').then(|| section(rest)).flatten() {
            said.extend(section.text.chars().map(permitted));
            len = section.len;
        } else if let Some((c, entity)) = (c == '&').then(|| entity(rest)).flatten() {
            said.push(permitted(c));
            len = entity;
        } else if !c.is_whitespace() {
            said.push(permitted(c));
        } else if kept > 0 {
            said.push(permitted(c));
            rest = &rest[len..];
            continue;
        }
        if said.len() > before {
            kept = said.len();
        }
        rest = &rest[len..];
    }
    said.truncate(kept);
    said
}

/// The character of the entity at the beginning of `text`, and its bytes. One that nobody knows is no entity.
fn entity(text: &str) -> Option<(char, usize)> {
    let name = text.strip_prefix('&')?;
    let end = name.bytes().take(ENTITY_BYTES_MAX + 1).position(|byte| byte == b';')?;
    let name = &name[..end];
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    };
    Some((c, end + 2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(text: &str) -> Option<&'static str> {
        TaskNotification::parse(text).map(|notice| notice.status.as_str())
    }

    fn result(inner: &str) -> String {
        let text = format!(
            "<task-notification><task-id>1</task-id><status>failed</status>{inner}</task-notification>"
        );
        let notice = TaskNotification::parse(&text).unwrap();
        notice.result.unwrap_or_else(|| "none".to_owned())
    }

    #[test]
    fn an_envelope_is_found_anywhere_in_any_order_and_form() {
        let text = "Mail <b>for</b> you, a < b:\n< task-notification>\n<TASK-NOTIFICATION from='x'>\n  <usage>\
            <duration-ms> 5 </duration-ms><tool_uses>\n2\n</tool_uses><cost>3</cost><total_tokens>70</total_tokens></usage>\
            \n<!-- <status>failed</status> --> words <note><status>failed</status></note><br/><hr>\
            <result>\n  <![CDATA[ a </result> & b]]>\n</result><Status> TimeOut </Status>\n<task_id> 7 </task_id></task-notification > tail";
        let notice = TaskNotification::parse(text).unwrap();
        let usage = NotificationUsage { total_tokens: 70, tool_uses: 2, duration_ms: Some(5) };
        let expected = TaskNotification {
            task_id: "7".to_owned(),
            status: NotificationStatus::Timeout,
            summary: "a </result> & b".to_owned(),
            result: Some(" a </result> & b".to_owned()),
            worktree: None,
            usage: Some(usage),
        };
        assert_eq!(notice, expected);
    }

    #[test]
    fn what_says_too_little_is_no_envelope() {
        for text in [
            "",
            "<task-notification>",
            "<task-notification/><task-id>1</task-id><status>failed</status>",
            "<task-notifications><task-id>1</task-id><status>failed</status></task-notifications>",
            "<task-notification><task-id>1</task-id></task-notification><status>failed</status>",
            "<task-notification><task-id> </task-id><status>failed</status></task-notification>",
            "<task-notification><task-id>1</task-id><status>fine</status></task-notification>",
            "&lt;task-notification&gt;<task-id>1</task-id><status>failed</status>",
        ] {
            assert_eq!(status(text), None, "{text}");
        }
    }

    #[test]
    fn a_broken_envelope_gives_what_it_has_and_does_not_hide_a_later_one() {
        let cut = "<task-notification><status>killed</status><task-id>1</task-id><result>half a";
        assert_eq!(TaskNotification::parse(cut).unwrap().result.as_deref(), Some("half a"));
        let two = "`<task-notification>` is the tag: <task-notification><task-id>1</task-id><status>KILLED</status>";
        assert_eq!(status(two), Some("killed"));
        let open = "<task-notification><task-id>1</task-id><status>failed</status><result>x</task-notification> tail";
        assert_eq!(TaskNotification::parse(open).unwrap().result.as_deref(), Some("x"));
    }

    #[test]
    fn a_result_says_what_it_says() {
        for (inner, expected) in [
            ("", "none"),
            ("<result/>", ""),
            ("<result>\n a\n b \n</result>", "a\n b"),
            ("<result>&#32;a&#x0a;</result>", " a\n"),
            ("<result>&lt;&gt;&amp;&quot;&apos;&#233;&#xE9;</result>", "<>&\"'éé"),
            (
                "<result>&amp;lt; &nbsp; &; & &#0; &#55555; &#99999999999;</result>",
                "&lt; &nbsp; &; & \u{fffd} &#55555; &#99999999999;",
            ),
            ("<result>a <b>c</b> < d <!-- no --><![CDATA[<e>]]></result>", "a <b>c</b> < d <e>"),
            ("<result><![CDATA[open</result>", "<![CDATA[open"),
            ("<result>one</result><result>two</result>", "one"),
        ] {
            assert_eq!(result(inner), expected, "{inner}");
        }
    }

    #[test]
    fn many_broken_envelopes_are_left_soon() {
        let text = "<task-notification><result><a>".repeat(2_000);
        assert_eq!(TaskNotification::parse(&text), None);
    }

    fn notices() -> impl Strategy<Value = TaskNotification> {
        let usage = (any::<u64>(), any::<u32>(), any::<Option<u64>>());
        let usage = usage.prop_map(|(total_tokens, tool_uses, duration_ms)| NotificationUsage {
            total_tokens,
            tool_uses,
            duration_ms,
        });
        // Characters that mean something to the envelope, beside any others.
        let text = prop_oneof!["[ \n\r\t<>&;#/a!\\[\\]CDAT-]{0,30}", any::<String>()];
        let result = proptest::option::of(text.clone());
        let status = proptest::sample::select(&NotificationStatus::ALL[..]);
        let worktree = proptest::option::of(text.clone());
        let parts = (text.clone(), status, text, result, worktree, proptest::option::of(usage));
        parts.prop_map(|(task_id, status, summary, result, worktree, usage)| {
            let task_id = format!("{task_id}.");
            TaskNotification { task_id, status, summary, result, worktree, usage }
        })
    }

    /// With what no XML text may hold replaced.
    fn as_written(notice: TaskNotification) -> TaskNotification {
        let text = |text: String| -> String { text.chars().map(permitted).collect() };
        TaskNotification {
            task_id: text(notice.task_id),
            summary: text(notice.summary),
            result: notice.result.map(text),
            worktree: notice.worktree.map(text),
            ..notice
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(notice in notices(), before in "[^<]*", after in any::<String>()) {
            let read = TaskNotification::parse(&format!("{before}{notice}{after}"));
            prop_assert_eq!(read, Some(as_written(notice)));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "(<|</|>|&|;|#|task-notification|task-id|status|result|usage|failed|<!--|-->|<!\\[CDATA\\[|]]>|é| ){0,60}") {
            if let Some(notice) = TaskNotification::parse(&text) {
                let again = TaskNotification::parse(&notice.to_string());
                prop_assert_eq!(again, Some(notice));
            }
        }
    }
}
