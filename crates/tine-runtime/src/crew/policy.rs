//! The rules of starting workers, each with the words in which it is shown and in which it refuses.

/// Whether models may fork their conversation, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkChoice {
    /// Where `subagent_type` is `fork`.
    #[default]
    Explicit,
    /// Also where `subagent_type` is left out.
    Implicit,
    /// Never.
    Off,
}

/// Worker-made workers are not allowed unless this is raised.
const DEPTH_MAX_DEFAULT: u32 = 1;

/// What a model may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpawnPolicy {
    /// Forks.
    pub fork: ForkChoice,
    /// Whether the agent is a coordinator, whose workers all start fresh: what it knows of all of them would lead each of them
    /// astray.
    pub coordinator: bool,
    /// How many workers may stand below each other; 0 for none at all. Forks that a person makes do not count.
    pub depth_max: u32,
    /// Whether an agent whose model is done goes on when a worker of its run reports. Otherwise it reads of it at its next
    /// turn, whenever that is.
    pub wakes: bool,
}

impl Default for SpawnPolicy {
    fn default() -> Self {
        Self {
            fork: ForkChoice::default(),
            coordinator: false,
            depth_max: DEPTH_MAX_DEFAULT,
            wakes: true,
        }
    }
}

impl SpawnPolicy {
    /// Whether models may fork. While they may, every worker runs in the background and reports in the same way.
    pub fn forks(&self) -> bool {
        self.fork != ForkChoice::Off && !self.coordinator
    }

    /// Whether a worker starts from the conversation when nothing is said about it.
    pub fn forks_by_itself(&self) -> bool {
        self.forks() && self.fork == ForkChoice::Implicit
    }

    /// Why a fork is refused; `None` when it is not.
    pub fn fork_refusal(&self) -> Option<&'static str> {
        if self.coordinator {
            return Some(
                "You coordinate (workers.coordinator is set), so workers start fresh and never from this conversation. Leave \
                 `fork` out and put everything that the worker has to know into the prompt.",
            );
        }
        (self.fork == ForkChoice::Off).then_some(
            "Forks are turned off here (fork.mode is off). Start a fresh worker and put everything that it has to know \
             into the prompt.",
        )
    }

    /// Why a worker that is to be waited for is refused; `None` when it is not.
    pub fn foreground_refusal(&self) -> Option<&'static str> {
        self.forks().then_some(
            "While forks are on (fork.mode), every worker runs in the background and reports by a <task-notification> message. \
             Leave `run_in_background` out; call TaskOutput with `block` where you can do nothing without the result.",
        )
    }

    /// Why an agent of this depth cannot start a worker; `None` when it can.
    pub fn depth_refusal(&self, depth: u32) -> Option<String> {
        if self.depth_max == 0 {
            return Some(
                "Workers are turned off here (workers.depth is 0). Do the task yourself."
                    .to_owned(),
            );
        }
        (depth >= self.depth_max).then(|| {
            format!(
                "You are a worker, so you cannot start workers or resume any (workers.depth is {}). Do the task yourself, with \
                 your own tools, and report what you could not do.",
                self.depth_max
            )
        })
    }

    /// The rules as they stand, one a line: name, and what it means now.
    pub fn describe(&self) -> Vec<(&'static str, String)> {
        let forks = match (self.coordinator, self.fork) {
            (true, _) => "never: a coordinator's workers start fresh",
            (false, ForkChoice::Explicit) => "when the model asks for `fork`",
            (false, ForkChoice::Implicit) => "unless the model names another agent",
            (false, ForkChoice::Off) => "never",
        };
        let runs = if self.forks() {
            "in the background, and report by notification"
        } else {
            "in the background where the model asks for it; else it waits for them"
        };
        let depth = match self.depth_max {
            0 => "models start no workers".to_owned(),
            1 => "workers start no workers".to_owned(),
            depth => format!("{depth} workers below each other"),
        };
        vec![
            ("models fork", forks.to_owned()),
            ("workers run", runs.to_owned()),
            ("depth", depth),
            (
                "reports",
                if self.wakes {
                    "wake the agent that started the worker".to_owned()
                } else {
                    "wait for the next turn of the agent that started the worker".to_owned()
                },
            ),
            ("without a terminal", "the same; permissions decide what they may do".to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_never_forks_whatever_the_choice() {
        for fork in [ForkChoice::Explicit, ForkChoice::Implicit, ForkChoice::Off] {
            let policy = SpawnPolicy { fork, coordinator: true, ..SpawnPolicy::default() };
            assert!(!policy.forks() && !policy.forks_by_itself());
            assert!(policy.fork_refusal().is_some_and(|why| why.contains("coordinate")));
            assert_eq!(policy.foreground_refusal(), None);
        }
    }

    #[test]
    fn an_omitted_type_forks_only_where_that_was_chosen() {
        let with = |fork| SpawnPolicy { fork, ..SpawnPolicy::default() };
        assert!(!with(ForkChoice::Explicit).forks_by_itself());
        assert!(with(ForkChoice::Implicit).forks_by_itself());
        assert!(with(ForkChoice::Explicit).foreground_refusal().is_some());
        assert!(with(ForkChoice::Off).fork_refusal().is_some());
    }

    #[test]
    fn depth_counts_workers_alone() {
        let with = |depth_max| SpawnPolicy { depth_max, ..SpawnPolicy::default() };
        assert!(with(0).depth_refusal(0).is_some());
        assert!(with(1).depth_refusal(0).is_none() && with(1).depth_refusal(1).is_some());
        assert!(with(2).depth_refusal(1).is_none() && with(2).depth_refusal(2).is_some());
    }

    #[test]
    fn the_rules_can_be_read() {
        let lines: Vec<String> = SpawnPolicy::default()
            .describe()
            .into_iter()
            .map(|(name, what)| format!("{name}: {what}"))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        models fork: when the model asks for `fork`
        workers run: in the background, and report by notification
        depth: workers start no workers
        reports: wake the agent that started the worker
        without a terminal: the same; permissions decide what they may do
        ");
    }
}
