//! The permission step: guard's verdict, and where it leaves a call to a person, the queue.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_fork::tools::ToolAnswer;
use tine_guard::{
    Call, CommandRead, PermissionMode, RealCall, Reason, Rule, Rules, Verdict, Width,
    allowed_by_rule, command_reads, describe, judge, judge_read, read_path, real_path, rule_for,
    written_path,
};
use tine_model::ToolCallId;
use tine_tools::{Enclosure, Withheld};
use tokio_util::sync::CancellationToken;

use crate::mode::SharedMode;
use crate::queue::{Question, Queue, QueuePolicy};
use crate::swept::{Look, keys_of_git};

/// What a run may do, shared by all agents of it.
#[derive(Clone)]
pub struct Permissions {
    /// How much may happen without a question.
    pub mode: SharedMode,
    /// What the user said beforehand.
    pub rules: Arc<Rules>,
    /// True if somebody reads the [events](crate::EventKind::Asked) of this run and answers its questions.
    pub asks: bool,
    /// How questions are put.
    pub queue: QueuePolicy,
    /// Whether agents in worktrees of tine's own edit files there without a question where the mode is the default one.
    pub accepts_worktree_edits: bool,
    /// The read-only wall that stands around what the guard calls a read. Each call sets it anew.
    pub wall: Option<Enclosure>,
    /// Tine's own files, which no rule and no mode but bypass lets a call write. Each run sets it anew by its confinement.
    pub own: Withheld,
    /// Notes that the agent was told of: reading them needs no word. Each run sets it anew.
    pub notes_shown: Option<PathBuf>,
}

/// How a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permit {
    /// As a read, behind the read-only wall where one can stand.
    Read {
        /// The real paths that were judged. The wall shows those of them that lie outside, and follows none anew.
        shown: Vec<PathBuf>,
    },
    /// As the run's other calls: a rule, the mode or an answer allows it.
    Full,
}

/// Why a call may not run.
#[derive(Debug)]
pub(crate) enum Unallowed {
    /// It was denied.
    Denied {
        /// By whom, or why, as it reads after the word.
        why: String,
        /// What the model is to do about it; may be empty.
        advice: &'static str,
    },
    /// It cannot run for another reason, which the model is told.
    Otherwise(String),
}

/// What a model is to do whose call was denied by nobody's word.
pub(crate) const OTHERWISE: &str = "Go on without this call, or do it another way.";

impl Unallowed {
    pub(crate) fn denied(why: String, advice: &'static str) -> Self {
        Self::Denied { why, advice }
    }
}

impl From<Unallowed> for ToolAnswer {
    fn from(unallowed: Unallowed) -> Self {
        match unallowed {
            Unallowed::Denied { why, advice } => {
                let told = format!("Denied{why} {advice}");
                Self::denied(told.trim_end(), format!("denied{why}"))
            }
            Unallowed::Otherwise(told) => Self::error(told),
        }
    }
}

/// What guard says of a call, and how it may run once nothing speaks against it.
struct Judgement {
    verdict: Verdict,
    permit: Permit,
}

impl Judgement {
    /// The judgement on a call that is no read of a command.
    fn full(verdict: Verdict) -> Self {
        Self { verdict, permit: Permit::Full }
    }
}

/// Where a read finds nothing of its machine behind a wall. A person who allows such a read by an answer wants what is really there.
const MACHINE: [&str; 4] = ["/dev", "/proc", "/run", "/sys"];

impl Permissions {
    /// Permissions of a run that has nobody to ask.
    pub fn new(mode: impl Into<SharedMode>, rules: Rules) -> Self {
        Self {
            mode: mode.into(),
            rules: Arc::new(rules),
            asks: false,
            queue: QueuePolicy::default(),
            accepts_worktree_edits: true,
            wall: None,
            own: Arc::new(|_: &Path| false),
            notes_shown: None,
        }
    }

    /// The same permissions for one call. The caller runs every call whose permit is [`Permit::Read`] behind this wall, or
    /// behind one that shows what was judged as well.
    pub(crate) fn behind(self, wall: Option<Enclosure>) -> Self {
        Self { wall, ..self }
    }

    /// The width of the verdict on reads.
    fn width(&self) -> Width {
        match &self.wall {
            Some(wall) => width_behind(wall),
            None => Width::Strict,
        }
    }

    /// The same permissions for a run in a worktree of tine's own, which is made to be thrown away.
    pub(crate) fn in_worktree(self) -> Self {
        if self.accepts_worktree_edits {
            Self { mode: self.mode.accepting_edits(), ..self }
        } else {
            self
        }
    }

    /// The same permissions for a run from which `own` keeps tine's own files.
    pub(crate) fn with_own(self, own: Withheld) -> Self {
        Self { own, ..self }
    }

    /// The judgement on a call. Tine's own files hold trust, rules and reaches, so writing them is asked about whatever allows the call.
    fn verdict(&self, call: &Call<'_>, real: Option<&RealCall>) -> Judgement {
        let judgement = self.judged(call, real);
        if matches!(judgement.verdict, Verdict::Ask(_)) && self.shows_note(call, real) {
            return Judgement::full(Verdict::Allow);
        }
        if let (Verdict::Allow, Some(reason)) = (&judgement.verdict, self.keys_of_git(call, real)) {
            return Judgement::full(Verdict::Ask(reason));
        }
        if judgement.verdict != Verdict::Allow || self.mode.get() == PermissionMode::Bypass {
            return judgement;
        }
        let Some(written) = written_path(call) else { return judgement };
        let led_to = real.map(|real| real.path.clone());
        match [Some(written), led_to].into_iter().flatten().find(|path| (self.own)(path)) {
            Some(path) => Judgement::full(Verdict::Ask(Reason::new(format!(
                "`{}` is tine's own: such files decide what agents may do",
                path.display()
            )))),
            None => judgement,
        }
    }

    /// Returns true for a call of a reading tool that really leads to a note which the agent was told of, and to no secret.
    fn shows_note(&self, call: &Call<'_>, real: Option<&RealCall>) -> bool {
        let Some(notes) = self.notes_shown.as_deref().and_then(|notes| real_path(notes).ok())
        else {
            return false;
        };
        let led_to = real.map(|real| &real.path).filter(|_| read_path(call).is_some());
        led_to.is_some_and(|path| path.starts_with(&notes) && !tine_guard::is_secret(path))
    }

    /// Returns why a call of a reading tool needs somebody's word, if no rule allows it and it may show keys in git's settings. A
    /// command that prints them is asked about as well.
    fn keys_of_git(&self, call: &Call<'_>, real: Option<&RealCall>) -> Option<Reason> {
        if self.mode.get() == PermissionMode::Bypass || allowed_by_rule(call, &self.rules) {
            return None;
        }
        let read = read_path(call)?;
        let led_to = real.map(|real| real.path.clone());
        [Some(read), led_to].into_iter().flatten().find_map(|path| keys_of_git(&path))
    }

    /// Guard's verdict on the call as it was written and as it would really be: the stricter counts. Where both ask, the
    /// reason is the real one, so that whoever says yes knows to what.
    fn judged(&self, call: &Call<'_>, real: Option<&RealCall>) -> Judgement {
        let written = judge(call, self.mode.get(), self.width(), &self.rules);
        if call.tool == "Bash" {
            return self.followed(call, written);
        }
        let Some(RealCall { directory, input: Some(input), .. }) = real else {
            return Judgement::full(written);
        };
        let real = Call::new(call.tool, input, directory);
        let real = judge(&real, self.mode.get(), self.width(), &self.rules);
        Judgement::full(match (written, real) {
            // The agent's directory may itself be behind a link, which changes nothing.
            (written, real) if written == real => written,
            (denied @ Verdict::Deny(_), _) => denied,
            (_, Verdict::Deny(reason)) => Verdict::Deny(through_link(&reason)),
            (_, Verdict::Ask(reason)) => Verdict::Ask(through_link(&reason)),
            (asked @ Verdict::Ask(_), _) => asked,
            (written, Verdict::Allow | Verdict::Read) => written,
        })
    }

    /// Guard's verdict on a command, and on where links take the files that it names: the stricter counts. Of what
    /// a search meets below a folder, and of what git tells of its history, the names alone are looked at. A command that reads
    /// stays a read if a rule allows it: the rule lifts the question and not the wall.
    fn followed(&self, call: &Call<'_>, written: Verdict) -> Judgement {
        let command = match (&written, self.mode.get()) {
            (Verdict::Deny(_), _) | (_, PermissionMode::Bypass) => None,
            (Verdict::Allow | Verdict::Read | Verdict::Ask(_), _) => call.shell_text(),
        };
        let home = std::env::home_dir();
        let reads = command.and_then(|command| {
            command_reads(call.directory, command, self.width(), home.as_deref())
        });
        let (Some(command), Some(reads)) = (command, reads) else {
            return Judgement::full(written);
        };
        let denied = |error: &dyn fmt::Display| {
            Judgement::full(Verdict::Deny(Reason::new(error.to_string())))
        };
        let directory = match real_path(call.directory) {
            Ok(directory) => directory,
            Err(error) => return denied(&error),
        };
        let (mut shown, mut asked) = (Vec::new(), None);
        for CommandRead { path, contents, .. } in &reads.paths {
            let real = match real_path(path) {
                Ok(real) => real,
                Err(error) => return denied(&error),
            };
            let judged = (real != *path)
                .then(|| judge_read(&directory, &real, self.mode.get(), &self.rules));
            // A name that is only listed uncovers no secret.
            if *contents || !real.starts_with(&directory) {
                shown.push(real);
            }
            let Some(judged) = judged else { continue };
            match judged {
                Verdict::Deny(reason) => {
                    return Judgement::full(Verdict::Deny(through_link(&reason)));
                }
                Verdict::Ask(reason) if written.is_free() => {
                    asked.get_or_insert_with(|| Verdict::Ask(through_link(&reason)));
                }
                Verdict::Ask(_) | Verdict::Allow | Verdict::Read => {}
            }
        }
        if written == Verdict::Read && asked.is_none() {
            let (directory, wall) = (call.directory, self.wall.as_ref());
            let look = Look { directory, command, reads: &reads.paths, wall };
            asked = look.objection().map(Verdict::Ask);
        }
        let verdict = asked.unwrap_or(written);
        let is_machine = |path: &PathBuf| MACHINE.iter().any(|place| path.starts_with(place));
        let is_asked = matches!(verdict, Verdict::Ask(_));
        let wants_more = is_asked && (!reads.is_complete || shown.iter().any(is_machine));
        let permit = if wants_more { Permit::Full } else { Permit::Read { shown } };
        Judgement { verdict, permit }
    }

    /// Asks whether a call may run that no rule speaks against, for another reason. Where nothing is asked about, it may.
    pub(crate) async fn confirm(
        &self,
        queue: &Queue,
        id: &ToolCallId,
        call: &Call<'_>,
        why: Reason,
        cancel: &CancellationToken,
    ) -> Result<(), Unallowed> {
        if self.mode.get() == PermissionMode::Bypass {
            return Ok(());
        }
        let is_free = || self.mode.get() == PermissionMode::Bypass;
        let question = Question {
            id,
            call,
            real: None,
            why,
            rule: None,
            helps: &|_| false,
            is_free: &is_free,
        };
        queue.answer(&question, self, cancel).await
    }

    /// Returns how a call may run, if it may. `real` is the call as the system would resolve it; what
    /// is allowed is that and nothing else, so the tool must open no other path.
    pub(crate) async fn check(
        &self,
        queue: &Queue,
        id: &ToolCallId,
        call: &Call<'_>,
        real: Option<&RealCall>,
        refusal: impl Future<Output = Option<String>>,
        cancel: &CancellationToken,
    ) -> Result<Permit, Unallowed> {
        let Judgement { verdict, permit } = self.verdict(call, real);
        let why = match verdict {
            Verdict::Allow | Verdict::Read => return Ok(permit),
            Verdict::Deny(reason) => {
                return Err(Unallowed::denied(format!(": {reason}."), OTHERWISE));
            }
            Verdict::Ask(reason) => reason,
        };
        if let Some(refusal) = refusal.await {
            return Err(Unallowed::Otherwise(refusal));
        }
        let rule = rule_for(call);
        let (asked_in, asked) = (self.mode.get(), real);
        let helps = |rule: &Rule| {
            let mut rules = Rules::clone(&self.rules);
            rules.allow.push(rule.clone());
            let with_rule = Self { rules: Arc::new(rules), ..self.clone() };
            with_rule.verdict(call, asked).verdict.is_free()
        };
        let is_free =
            || self.mode.get() != asked_in && self.verdict(call, asked).verdict == Verdict::Allow;
        let real = real.and_then(|real| {
            let input = real.input.as_ref()?;
            let real = Call::new(call.tool, input, &real.directory);
            // The agent's directory may itself be behind a link, which changes nothing.
            (describe(&real) != describe(call)).then_some(real)
        });
        let question = Question { id, call, real, why, rule, helps: &helps, is_free: &is_free };
        queue.answer(&question, self, cancel).await.map(|()| permit)
    }
}

/// The width of the verdict in front of a wall. Where not all secrets were found that it is to cover, only what is certain counts as a read.
pub(crate) fn width_behind(wall: &Enclosure) -> Width {
    if wall.is_search_complete() { Width::Wide } else { Width::Walled }
}

fn through_link(reason: &Reason) -> Reason {
    Reason::new(format!("{reason}, through a symbolic link"))
}
