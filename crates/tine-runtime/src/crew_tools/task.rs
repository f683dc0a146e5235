//! The `Task…` tools: what became of workers, and a word to them.

use std::time::Duration;

use tine_fork::tools::CallContext;
use tine_fork::worker::directive_task;
use tine_model::{
    AgentId, Block, EntryBody, EntryId, Message, RawJson, StopKind, TaskStatus, ToolInput,
};

use super::arguments::{
    CancelArguments, How, ListArguments, OutputArguments, SendArguments, StartArguments,
    WAITED_MAX, WaitArguments, When, bounded, description, read,
};
use super::{CrewTools, Told};
use crate::crew::Spawn;
use crate::error::RuntimeError;
use crate::registry::{attributed, mail_body};
use crate::stop::{Receipt, StopSpec};
use crate::tasks::{
    OUTPUT_WAIT_DEFAULT, OUTPUT_WAIT_MAX, OutputSpec, Resumed, TaskFilter, TaskView, Waited,
};

/// How much of each tool's answer `TaskOutput` shows, in characters: the worker has seen all of it, its spawner wants to follow.
const RESULT_CHARS_MAX: usize = 300;

/// About how much `TaskOutput` shows at once, in bytes; what comes behind can be asked for next.
const OUTPUT_BYTES_MAX: usize = 30_000;

/// How long a stop waits for the runs that it ends.
const STOP_PATIENCE: Duration = Duration::from_secs(15);

impl CrewTools {
    pub(super) async fn task_start(
        &self,
        input: &RawJson,
        context: &CallContext,
    ) -> Result<String, Told> {
        let arguments: StartArguments = read(input)?;
        if let Some(task) = arguments.resume.as_deref().filter(|task| !task.is_empty()) {
            let forks = arguments.fork == Some(true);
            if forks || arguments.context.is_some() {
                let word = if forks { "fork" } else { "context" };
                return Err(Told(format!(
                    "`{word}` and `resume` exclude each other: a fork is a new worker that starts from this conversation, and a \
                     resumed task goes on with what its own worker knows. Leave one of them out. Nothing was started."
                )));
            }
            return self.task_resume(task, arguments.prompt).await;
        }
        let fork = self.tasks_fork(&arguments)?;
        let spawn = Spawn {
            fork,
            prompt: bounded("prompt", arguments.prompt)?,
            description: description(arguments.description),
            limits: self.options.crew.limits,
        };
        self.start(spawn, false, context).await
    }

    async fn task_resume(&self, task: &str, prompt: String) -> Result<String, Told> {
        let prompt = mail_body(Some(self.record.id), bounded("prompt", prompt)?);
        let view = self.own_task(task).await?;
        let agent = view.task.agent;
        let options = (&self.options, self.top);
        match self.runtime.resume_task(agent, prompt, options).await {
            Ok(Resumed::Started) => {
                Ok(format!("Resumed worker {agent}, in the background. It reports as before."))
            }
            Ok(Resumed::Queued) => Ok(format!(
                "Worker {agent} still works; it is told this when it has reported, as its next task."
            )),
            Err(RuntimeError::FollowUpWaits(_)) => Err(Told(format!(
                "Worker {agent} still works, and is told something else already when it is done. Wait for its report."
            ))),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn task_list(&self, input: &RawJson) -> Result<String, Told> {
        let arguments: ListArguments = read(input)?;
        let status = match arguments.status.as_deref() {
            None => None,
            Some(word) => Some(TaskStatus::from_name(word).ok_or_else(|| {
                let words: Vec<&str> = TaskStatus::ALL.iter().map(|one| one.as_str()).collect();
                Told(format!("`status` is one of {}.", words.join(", ")))
            })?),
        };
        let filter = TaskFilter { status, cleared: false };
        let views = self.runtime.task_list(self.record.id, filter).await?;
        if views.is_empty() {
            return Ok("There are no such tasks.".to_owned());
        }
        let now_ms = self.runtime.now_ms();
        let lines: Vec<String> = views.iter().map(|view| line(view, now_ms)).collect();
        let count = |status| views.iter().filter(|view| view.task.status == status).count();
        let totals: Vec<String> = TaskStatus::ALL
            .iter()
            .filter(|status| count(**status) > 0)
            .map(|status| format!("{} {}", count(*status), status.as_str()))
            .collect();
        Ok(format!("{}\n{}", lines.join("\n"), totals.join(", ")))
    }

    pub(super) async fn task_output(
        &self,
        input: &RawJson,
        context: &CallContext,
    ) -> Result<String, Told> {
        let arguments: OutputArguments = read(input)?;
        let agent = self.own_task(&arguments.task_id).await?.task.agent;
        let asked = arguments.timeout.map(Duration::from_secs);
        let waits = arguments.block == Some(true);
        let wait = waits.then(|| asked.unwrap_or(OUTPUT_WAIT_DEFAULT));
        let spec = OutputSpec { since: arguments.since.map(EntryId), wait };
        let output = self.runtime.task_output(agent, spec, &context.cancel).await?;
        let now_ms = self.runtime.now_ms();
        let mut text = line(&output.view, now_ms);
        if output.timed_out {
            text.push_str(
                "\nThe time is up, and the task is still under way; this is what there is so far.",
            );
        }
        let (mut told, mut next) = (String::new(), output.next);
        for entry in &output.entries {
            if let EntryBody::Message(message) = &entry.body {
                tell(message, &mut told);
            }
            if told.len() > OUTPUT_BYTES_MAX {
                told.push_str("\n\n(and more: ask for it with `since`)");
                next = Some(entry.id);
                break;
            }
        }
        text.push_str(&told);
        if let Some(next) = next {
            text.push_str(&format!("\n\nnext: {}", next.0));
        }
        if output.view.task.status.is_final() {
            self.take_notice_of(&[agent], context).await?;
            if let Some(error) = &output.view.task.error {
                text.push_str(&format!("\nIt did not complete: {error}."));
            }
        }
        Ok(text)
    }

    /// Waits for a worker, and says what it says in the end.
    pub(super) async fn report_of(
        &self,
        agent: AgentId,
        wait: Duration,
        context: &CallContext,
    ) -> Result<String, Told> {
        let spec = OutputSpec { since: None, wait: Some(wait) };
        let view = self.runtime.task_output(agent, spec, &context.cancel).await?.view;
        if !view.task.status.is_final() {
            return Ok(format!(
                "Worker {agent} is still at it. Its report comes by itself, as a message with a <task-notification>."
            ));
        }
        self.take_notice_of(&[agent], context).await?;
        let report = view.task.report.as_deref().unwrap_or("It said nothing.");
        match (view.task.status, &view.task.error) {
            (TaskStatus::Completed, _) => Ok(format!("Worker {agent}:\n{report}")),
            (status, error) => {
                let why = error.as_deref().unwrap_or("no reason is known");
                let status = status.as_str();
                Err(Told(format!("Worker {agent} did not complete ({status}: {why}).\n{report}")))
            }
        }
    }

    /// What the model has been told of these workers here need not come as mail as well, where nothing else stands before it in the
    /// mailbox.
    async fn take_notice_of(&self, agents: &[AgentId], context: &CallContext) -> Result<(), Told> {
        // What a script reads the model need not see.
        if context.calls.are_none() {
            return Ok(());
        }
        let mail = self.runtime.store().unread_mail(self.record.id).await;
        let mail = mail.map_err(RuntimeError::from)?;
        let known =
            mail.iter().take_while(|row| row.sender.is_some_and(|one| agents.contains(&one)));
        if let Some(last) = known.last() {
            self.journal.deliver_with_next(last.id);
        }
        Ok(())
    }

    pub(super) async fn task_send(&self, input: &RawJson) -> Result<String, Told> {
        let arguments: SendArguments = read(input)?;
        let message = bounded("message", arguments.message)?;
        let view = self.own_task(&arguments.task_id).await?;
        let agent = view.task.agent;
        if view.task.status.is_final() {
            return Err(Told(format!(
                "Worker {agent} has ended ({}). TaskStart with `resume` lets it go on with your message.",
                view.task.status.as_str()
            )));
        }
        match arguments.when.unwrap_or_default() {
            When::Now => {
                self.runtime.send_from(Some(self.record.id), agent, message).await?;
                Ok(format!("Worker {agent} reads it at its next turn."))
            }
            When::Next => {
                let kept = attributed(Some(self.record.id), message);
                let kept = self.runtime.store().keep_follow_up(agent, &kept).await;
                if kept.map_err(RuntimeError::from)? {
                    Ok(format!("Worker {agent} is told when it has reported."))
                } else {
                    Err(Told(format!(
                        "Worker {agent} is told something else already when it is done."
                    )))
                }
            }
        }
    }

    pub(super) async fn task_cancel(
        &self,
        input: &RawJson,
        context: &CallContext,
    ) -> Result<String, Told> {
        let arguments: CancelArguments = read(input)?;
        let view = self.own_task(&arguments.task_id).await?;
        if view.task.status.is_final() {
            return Err(Told(format!(
                "The task has ended already ({}).",
                view.task.status.as_str()
            )));
        }
        let how = match arguments.how.unwrap_or_default() {
            How::Hard => StopKind::Hard,
            How::Soft => StopKind::Soft,
        };
        let spec = StopSpec { agent: view.task.agent, how, cascade: true };
        let receipts = self.runtime.stop(spec, STOP_PATIENCE, &context.cancel).await?;
        // What they had to report by then comes as it would have anyway.
        Ok(receipts.iter().map(receipt).collect::<Vec<_>>().join("\n"))
    }

    pub(super) async fn task_clear(&self, context: &CallContext) -> Result<String, Told> {
        let mut running = Vec::new();
        for view in self.runtime.task_list(self.record.id, TaskFilter::default()).await? {
            if !view.task.status.is_final() {
                let spec = StopSpec { agent: view.task.agent, how: StopKind::Hard, cascade: true };
                self.runtime.stop(spec, Duration::ZERO, &context.cancel).await?;
                running.push(spec);
            }
        }
        // All are asked before any is waited for.
        let mut lines = Vec::new();
        for StopSpec { agent, .. } in running {
            self.runtime.ended_within(agent, STOP_PATIENCE, &context.cancel).await?;
            lines.push(receipt(&self.runtime.receipt(agent).await?));
        }
        let cleared = self.runtime.clear_tasks(self.record.id).await?;
        lines.push(format!("{} tasks are off the list; their conversations stay.", cleared.len()));
        Ok(lines.join("\n"))
    }

    pub(super) async fn task_wait(
        &self,
        input: &RawJson,
        context: &CallContext,
    ) -> Result<String, Told> {
        let arguments: WaitArguments = read(input)?;
        let mut from = Vec::new();
        let asked = arguments.task_ids.unwrap_or_default();
        if asked.len() > WAITED_MAX {
            return Err(Told(format!("At most {WAITED_MAX} tasks can be waited for at once.")));
        }
        for text in &asked {
            let agent = self.own_task(text).await?.task.agent;
            if !from.contains(&agent) {
                from.push(agent);
            }
        }
        let wait = arguments.timeout.map_or(OUTPUT_WAIT_DEFAULT, Duration::from_secs);
        let how = (wait.min(OUTPUT_WAIT_MAX), &context.cancel);
        let who = (self.record.id, self.journal.delivering());
        let waited = self.runtime.wait_for(who, &from, how).await?;
        if let Some(up_to) = waited.up_to.filter(|_| !context.calls.are_none()) {
            self.journal.deliver_with_next(up_to);
        }
        Ok(waited_text(&waited))
    }
}

/// A task on a line.
fn line(view: &TaskView, now_ms: i64) -> String {
    let task = &view.task;
    let mut line = format!(
        "{}{} {} · {} s · {} tool calls",
        task.agent.short(),
        view.marks(),
        task.status.as_str(),
        view.duration_ms(now_ms) / 1000,
        task.tool_uses
    );
    if let Some(name) = &view.name {
        line.push_str(&format!(" · {name}"));
    }
    line.push_str(&format!(" · {}", view.title()));
    if !task.flags.is_empty() {
        line.push_str(&format!(" · flagged: {}", task.flags.join(", ")));
    }
    line
}

/// What was stopped, on a line.
fn receipt(receipt: &Receipt) -> String {
    let over = if receipt.over { "stopped" } else { "is asked to stop" };
    let mut line = format!(
        "{} {over} after {} turns and {} tool calls",
        receipt.agent.short(),
        receipt.turns,
        receipt.tool_uses
    );
    if let Some(words) = &receipt.last_words {
        line.push_str(&format!("; last words: {words}"));
    }
    line
}

fn waited_text(waited: &Waited) -> String {
    let mut parts = Vec::new();
    for one in &waited.agents {
        let mut text = format!("{}: {}", one.agent.short(), one.status.as_str());
        if let Some(message) = &one.message {
            text.push_str(&format!("\n{message}"));
        }
        parts.push(text);
    }
    parts.extend(waited.others.iter().cloned());
    if waited.timed_out {
        parts.push("The time is up.".to_owned());
    }
    if parts.is_empty() {
        parts.push("Nothing has come.".to_owned());
    }
    parts.join("\n\n")
}

/// A message of a worker, as its spawner follows it.
fn tell(message: &Message, told: &mut String) {
    for block in message.blocks() {
        let text = match block {
            // Of what the worker was told its spawner knows the rules.
            Block::Text(text) => match directive_task(text) {
                Some(task) => format!("[task] {task}"),
                None => text.clone(),
            },
            Block::ToolUse { name, input: ToolInput::Valid(input), .. } => {
                format!("[call] {name} {}", cut(input.as_str()))
            }
            Block::ToolUse { name, input: ToolInput::Invalid(text), .. } => {
                format!("[call] {name} {}", cut(text))
            }
            Block::ToolResult { content, is_error, .. } => {
                let texts: Vec<&str> = content.iter().filter_map(Block::as_text).collect();
                let how = if *is_error { "[failed]" } else { "[result]" };
                format!("{how} {}", cut(&texts.join("\n")))
            }
            Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => continue,
        };
        told.push_str("\n\n");
        told.push_str(&text);
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(RESULT_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
    }
}
