//! The gates before a consolidation, cheapest first: each by name, with the reason why it stands open or closed. Pure, so that
//! every edge can be tested in simulated time.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A gate as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name: `enabled`, `memory`, `hours`, `scan`, `sessions` or `lock`.
    pub name: String,
    /// Whether it lets the run through.
    pub open: bool,
    /// Why.
    pub reason: String,
}

/// When consolidations run by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DreamRules {
    /// Whether they do.
    pub enabled: bool,
    /// Hours from the begin of one that succeeded to the next.
    pub min_hours: u32,
    /// Minutes from one count of the sessions to the next.
    pub scan_minutes: u32,
    /// Sessions that must have been used since, beside the current one.
    pub min_sessions: u32,
}

impl Default for DreamRules {
    fn default() -> Self {
        Self { enabled: false, min_hours: 24, scan_minutes: 10, min_sessions: 5 }
    }
}

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// What the gates look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts<'a> {
    pub(super) now_ms: i64,
    /// A person asked for it: only the lock, and a project without any session, keep it from running.
    pub(super) forced: bool,
    pub(super) has_memory: bool,
    /// When the last run began that succeeded, in milliseconds since the Unix epoch.
    pub(super) last_success_ms: Option<i64>,
    /// Runs since then that did not, and when the last of them ended.
    pub(super) failures: Option<(u32, i64)>,
    /// When the sessions were last counted.
    pub(super) last_scan_ms: Option<i64>,
    /// Sessions since the last success, the current one left out; `None` where they were not counted.
    pub(super) sessions: Option<usize>,
    /// Who holds the lock.
    pub(super) holder: Option<&'a str>,
}

/// The gates before the sessions are counted, in their order.
pub(super) fn cheap(rules: &DreamRules, memory: &Path, facts: &Facts<'_>) -> Vec<Gate> {
    let forced = |gate: Gate| {
        if facts.forced && !gate.open {
            Gate { open: true, reason: format!("forced ({})", gate.reason), ..gate }
        } else {
            gate
        }
    };
    vec![
        forced(gate(
            "enabled",
            rules.enabled,
            if rules.enabled {
                "[dream] enabled = true".to_owned()
            } else {
                "off; `[dream] enabled = true` turns it on".to_owned()
            },
        )),
        forced(gate(
            "memory",
            facts.has_memory,
            if facts.has_memory {
                memory.display().to_string()
            } else {
                format!("{} is not there; a forced run makes it", memory.display())
            },
        )),
        forced(hours(rules, facts)),
        forced(waited(
            "scan",
            facts.last_scan_ms.map(|scan_ms| (scan_ms, i64::from(rules.scan_minutes) * MINUTE_MS)),
            facts.now_ms,
            "the sessions were not counted yet",
            "since the sessions were counted",
        )),
    ]
}

/// The gate of the sessions. Without any, there is nothing to learn from, whoever asks.
pub(super) fn sessions(rules: &DreamRules, facts: &Facts<'_>) -> Gate {
    let needed = if facts.forced { 0 } else { rules.min_sessions };
    match facts.sessions {
        None => gate("sessions", false, "not counted: an earlier gate is closed".to_owned()),
        Some(count) => gate(
            "sessions",
            count >= needed as usize,
            format!("{count} since the last run, of {} that it takes", rules.min_sessions),
        ),
    }
}

/// The gate that nothing forces.
pub(super) fn lock(facts: &Facts<'_>) -> Gate {
    match facts.holder {
        None => gate("lock", true, "nobody consolidates this memory now".to_owned()),
        Some(holder) => gate("lock", false, format!("{holder} consolidates this memory now")),
    }
}

/// How long ago the last success was. After runs that failed it takes an hour, then two, then four, and so on up to the usual wait:
/// what fails is tried again, and not in a loop.
fn hours(rules: &DreamRules, facts: &Facts<'_>) -> Gate {
    let usual = i64::from(rules.min_hours) * HOUR_MS;
    let succeeded = waited(
        "hours",
        facts.last_success_ms.map(|began_ms| (began_ms, usual)),
        facts.now_ms,
        "no run has succeeded yet",
        "since the last run that succeeded",
    );
    let Some((failures, ended_ms)) = facts.failures.filter(|(failures, _)| *failures > 0) else {
        return succeeded;
    };
    if !succeeded.open {
        return succeeded;
    }
    let wait = HOUR_MS.checked_shl(failures.min(16) - 1).unwrap_or(usual).min(usual);
    let words = match failures {
        1 => "since a run that did not succeed".to_owned(),
        more => format!("since the last of {more} runs that did not succeed"),
    };
    waited("hours", Some((ended_ms, wait)), facts.now_ms, "", &words)
}

/// A gate that opens so long after a moment. Where the clock was set back behind that moment it stays closed, so that nothing runs
/// twice; a forced run sets it right.
fn waited(name: &str, since: Option<(i64, i64)>, now_ms: i64, never: &str, words: &str) -> Gate {
    let Some((since_ms, wait_ms)) = since else { return gate(name, true, never.to_owned()) };
    let passed_ms = now_ms.saturating_sub(since_ms);
    if passed_ms < 0 {
        let reason = format!(
            "the clock shows {} less than it did: `tine dream --force` sets this right",
            duration(-passed_ms)
        );
        return gate(name, false, reason);
    }
    let reason = format!("{} {words}, of {}", duration(passed_ms), duration(wait_ms));
    gate(name, passed_ms >= wait_ms, reason)
}

fn gate(name: &str, open: bool, reason: String) -> Gate {
    Gate { name: name.to_owned(), open, reason }
}

/// A time in the largest unit that is not zero, and the next one.
fn duration(ms: i64) -> String {
    let minutes = ms / MINUTE_MS;
    match (minutes / 1_440, minutes / 60 % 24, minutes % 60) {
        (0, 0, 0) => format!("{} s", ms / 1_000),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (1, hours, _) => format!("{} h", 24 + hours),
        (days, 0, _) => format!("{days} days"),
        (days, hours, _) => format!("{days} days {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000 * HOUR_MS;

    fn open() -> Facts<'static> {
        Facts {
            now_ms: NOW,
            has_memory: true,
            last_success_ms: Some(NOW - 24 * HOUR_MS),
            last_scan_ms: Some(NOW - 10 * MINUTE_MS),
            sessions: Some(5),
            ..Facts::default()
        }
    }

    fn on() -> DreamRules {
        DreamRules { enabled: true, ..DreamRules::default() }
    }

    fn closed(rules: &DreamRules, facts: &Facts<'_>) -> Vec<String> {
        let mut gates = cheap(rules, Path::new("/m"), facts);
        gates.push(sessions(rules, facts));
        gates.push(lock(facts));
        let shut = gates.into_iter().filter(|gate| !gate.open);
        shut.map(|gate| format!("{}: {}", gate.name, gate.reason)).collect()
    }

    #[test]
    fn each_gate_opens_at_its_edge() {
        let off = DreamRules::default();
        let cases: Vec<(&str, DreamRules, Facts<'_>)> = vec![
            ("all open", on(), open()),
            ("not turned on", off, open()),
            ("no memory", on(), Facts { has_memory: false, ..open() }),
            (
                "a millisecond early",
                on(),
                Facts { last_success_ms: Some(NOW - 24 * HOUR_MS + 1), ..open() },
            ),
            ("never run", on(), Facts { last_success_ms: None, ..open() }),
            ("just counted", on(), Facts { last_scan_ms: Some(NOW), ..open() }),
            (
                "a scan too early",
                on(),
                Facts { last_scan_ms: Some(NOW - 10 * MINUTE_MS + 1), ..open() },
            ),
            ("never counted", on(), Facts { last_scan_ms: None, ..open() }),
            ("one session too few", on(), Facts { sessions: Some(4), ..open() }),
            ("held", on(), Facts { holder: Some("process 7"), ..open() }),
            ("the clock went back", on(), Facts { now_ms: NOW - 30 * HOUR_MS, ..open() }),
            ("the clock went forward", on(), Facts { now_ms: NOW + 10_000 * HOUR_MS, ..open() }),
        ];
        let lines: Vec<String> = cases
            .into_iter()
            .map(|(what, rules, facts)| format!("{what} -> {}", closed(&rules, &facts).join("; ")))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        all open -> 
        not turned on -> enabled: off; `[dream] enabled = true` turns it on
        no memory -> memory: /m is not there; a forced run makes it
        a millisecond early -> hours: 23 h 59 min since the last run that succeeded, of 24 h
        never run -> 
        just counted -> scan: 0 s since the sessions were counted, of 10 min
        a scan too early -> scan: 9 min since the sessions were counted, of 10 min
        never counted -> 
        one session too few -> sessions: 4 since the last run, of 5 that it takes
        held -> lock: process 7 consolidates this memory now
        the clock went back -> hours: the clock shows 6 h less than it did: `tine dream --force` sets this right; scan: the clock shows 29 h less than it did: `tine dream --force` sets this right
        the clock went forward ->
        ");
    }

    #[test]
    fn force_opens_all_but_the_lock() {
        let shut = Facts {
            forced: true,
            has_memory: false,
            last_success_ms: Some(NOW + HOUR_MS),
            last_scan_ms: Some(NOW + HOUR_MS),
            sessions: Some(0),
            ..open()
        };
        assert_eq!(closed(&DreamRules::default(), &shut), Vec::<String>::new());
        let held = Facts { holder: Some("process 7"), ..shut };
        assert_eq!(
            closed(&DreamRules::default(), &held),
            ["lock: process 7 consolidates this memory now"]
        );
    }

    #[test]
    fn what_fails_is_tried_again_ever_more_rarely() {
        let waits = |failures: u32| {
            let at = |hours: i64| {
                let facts = Facts { failures: Some((failures, NOW - hours * HOUR_MS)), ..open() };
                closed(&on(), &facts).is_empty()
            };
            (0..=30).find(|hours| at(*hours)).unwrap()
        };
        assert_eq!([1, 2, 3, 4, 5, 6, 40].map(waits), [1, 2, 4, 8, 16, 24, 24]);
    }
}
