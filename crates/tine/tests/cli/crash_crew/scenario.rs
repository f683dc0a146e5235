//! What is to be killed: a root that starts some workers, quick ones and slow ones, with and without tools.

/// A sequence of chances that a seed repeats (splitmix64).
pub(super) struct Chance(u64);

impl Chance {
    /// Of one round: rounds can be run alone.
    pub(super) fn of_round(seed: u64, round: u64) -> Self {
        let mut first = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(first.next() ^ round.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One of these.
    pub(super) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// What a round is made of.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) scenario: String,
    /// Tokens of the whole tree: sometimes enough, sometimes not.
    pub(super) budget: u64,
    /// Workers that may run at the same time.
    pub(super) running: &'static str,
    /// Whether the root is taken up and killed once more.
    pub(super) twice: bool,
}

impl Plan {
    pub(super) fn new(chance: &mut Chance) -> Self {
        let workers = 2 + chance.below(4);
        let calls: Vec<String> = (0..workers)
            .map(|number| {
                let kind = chance.one_of(&["quick", "slow", "tool", "command", "command", "long"]);
                let from = chance.one_of(&["", r#", subagent_type = "fork""#]);
                format!(r#"{{ name = "Agent", input = {{ prompt = "{kind} {number}"{from} }} }}"#)
            })
            .collect();
        let calls = calls.join(", ");
        let (slow, pace) = (20 + chance.below(400), chance.below(4));
        let then = match chance.below(3) {
            0 => r#"tool_calls = [{ name = "TaskWait", input = { timeout = 5 } }]"#,
            _ => r#"text = "I wait.""#,
        };
        let scenario = format!(
            r#"
name = "crash"
per_chunk_ms = {pace}

[[turn]]
when = {{ user_contains = "Task: slow" }}
text = "Scope: slow\nResult: it took a while to tell, word by word by word by word"
fault = {{ first_byte_ms = {slow} }}

[[turn]]
when = {{ user_contains = "Task: tool", turn = 0 }}
text = "I look."
tool_calls = [{{ name = "Glob", input = {{ pattern = "*.a" }} }}, {{ name = "Grep", input = {{ pattern = "x" }} }}]

[[turn]]
when = {{ user_contains = "Task: command", turn = 0 }}
tool_calls = [{{ name = "Bash", input = {{ command = "sleep 0.1; echo done" }} }}]

[[turn]]
when = {{ user_contains = "Task: long", turn = 0 }}
tool_calls = [{{ name = "Bash", input = {{ command = "(env -i setsid sleep 2 >/dev/null 2>&1 &) ; trap '' TERM; sleep 2" }} }}]

[[turn]]
when = {{ user_contains = "Task: " }}
text = "Scope: all of it\nResult: done"

[[turn]]
when = {{ user_equals = "embark", turn = 0 }}
text = "I start them."
tool_calls = [{calls}]

[[turn]]
when = {{ user_equals = "embark", turn = 1 }}
{then}

[[turn]]
text = "Understood."
"#
        );
        let budget =
            chance.one_of(&[1_000_000, 1_000_000, 25_000, 14_000, 6_000]) + chance.below(4_000);
        let running = chance.one_of(&["none", "none", "2", "1"]);
        let twice = chance.below(3) == 0;
        Self { scenario, budget, running, twice }
    }
}
