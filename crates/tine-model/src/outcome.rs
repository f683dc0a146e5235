//! How a reply and a run end.

/// Why the model stopped talking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// It reached `max_tokens`.
    MaxTokens,
    /// It wrote a stop sequence.
    StopSequence,
    /// It paused a long turn and may be asked to go on.
    Pause,
    /// It refused, or a filter cut it off.
    Refusal,
    /// The conversation no longer fits the model.
    ContextExceeded,
    /// A reason that tine does not know, in the provider's word.
    Other(String),
}

/// How a run ended. Every one of them carries the messages and the usage so far, beside this value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The model ended its turn.
    Completed,
    /// The turn limit was reached with tool calls still open.
    TurnLimit,
    /// A reply was cut at the token limit.
    LengthCut,
    /// The model refused.
    Refused,
    /// Somebody stopped it.
    Aborted,
    /// The time limit of the run was reached.
    TimedOut,
    /// The budget was spent.
    BudgetExhausted,
    /// A request failed for good; the cause in words.
    Failed(String),
}

impl Outcome {
    /// The outcome of a word; `cause` is that of a failed one, and counts for words that this version does not know.
    pub fn from_word(word: &str, cause: Option<String>) -> Self {
        let plain = [
            Self::Completed,
            Self::TurnLimit,
            Self::LengthCut,
            Self::Refused,
            Self::Aborted,
            Self::TimedOut,
            Self::BudgetExhausted,
        ];
        let found = plain.into_iter().find(|outcome| outcome.as_str() == word);
        let unknown = || cause.unwrap_or_else(|| format!("it ended as `{word}`"));
        found.unwrap_or_else(|| Self::Failed(unknown()))
    }

    /// The word used in `--json` and in the store.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TurnLimit => "turn_limit",
            Self::LengthCut => "length_cut",
            Self::Refused => "refused",
            Self::Aborted => "aborted",
            Self::TimedOut => "timed_out",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Failed(_) => "failed",
        }
    }
}
