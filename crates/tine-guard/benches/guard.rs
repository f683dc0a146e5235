//! The time of a shell verdict, and of all that is asked of a call between the model's reply and the process that it starts,
//! printed. Run with `cargo xtask bench guard`.
//!
//! Each line is the median over many rounds. Nothing here asserts a time: machines differ.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use tine_guard::{
    Call, PermissionMode, Rules, ShellText, Sweep, Width, command_reads, describe, judge,
    offered_rules, rule_for, shell_verdict, warning,
};
use tine_model::RawJson;

/// Rounds of one command.
const ROUNDS: usize = 5_000;

/// Rounds of one long text.
const LONG_ROUNDS: usize = 50;

const TYPICAL: [&str; 13] = [
    "ls -la",
    "git log --oneline --graph -20 | head",
    "find . -name '*.rs' -not -path './target/*' | wc -l",
    "grep -rn \"foo\" --include='*.py' . | sort | uniq -c | sort -rn | head -20",
    "sed -n '10,20p' src/main.rs",
    "jq '.a[] | select(.b > 1)' x.json",
    "cd src && ls -la 2>/dev/null || true",
    "grep -rn foo --include=*.{ts,tsx} {src,tests}; echo \"exit: $?\"",
    "time jq . <<'EOF'\n{\"a\": 1}\nEOF",
    "for f in $(git ls-files '*.rs'); do n=$(wc -l < \"$f\"); echo \"$n $f\"; done | sort -rn | head",
    "find . -name '*.rs' -print0 | xargs -0 grep -l TODO",
    "awk '{ sum += $1 } END { if (NR > 0) print sum / NR }' numbers",
    "rm -rf build && make -j8 install",
];

fn main() {
    println!("one typical command: strict verdict, wide verdict, warning");
    for command in TYPICAL {
        let verdict = median(ROUNDS, || shell_verdict(black_box(command), Width::Strict));
        let wide = median(ROUNDS, || shell_verdict(black_box(command), Width::Wide));
        let warned = median(ROUNDS, || warning(&ShellText::new(black_box(command))));
        println!("  {verdict:>9.1?} {wide:>9.1?} {warned:>9.1?}  {}", command.replace('\n', "⏎"));
    }
    calls();
    println!("long texts: strict verdict, wide verdict, warning");
    for bytes in [1_000, 10_000, 100_000] {
        for (name, piece) in [
            ("words", "cat a.txt "),
            ("commands", "ls; "),
            ("quotes", "echo 'a' "),
            ("open", "\"$("),
            ("globs", "ls a* "),
            ("braces", "ls {a,b} "),
        ] {
            let text = piece.repeat(bytes / piece.len());
            let verdict = median(LONG_ROUNDS, || shell_verdict(black_box(&text), Width::Strict));
            let wide = median(LONG_ROUNDS, || shell_verdict(black_box(&text), Width::Wide));
            let warned = median(LONG_ROUNDS, || warning(&ShellText::new(black_box(&text))));
            println!("  {verdict:>9.1?} {wide:>9.1?} {warned:>9.1?}  {bytes} bytes of {name}");
        }
    }
}

/// A call that runs unasked, and one that is asked about, with a dozen rules.
fn calls() {
    let allow = ["Bash(cargo test *)", "Bash(npm run *)", "Bash(git add *)", "FileEdit(src/**)"];
    let ask =
        ["Bash(git commit *)", "Bash(git rebase *)", "FileEdit(Cargo.toml)", "Bash(npm publish*)"];
    let deny = ["Bash(git push*)", "Bash(sudo *)", "FileRead(secrets/**)", "Bash(rm -rf *)"];
    let rules = Rules::parse(&allow, &ask, &deny).unwrap_or_default();
    let directory = Path::new("/home/user/project");
    println!("one call with 12 rules: until it runs, until it is asked about");
    for command in TYPICAL {
        let input = serde_json::json!({ "command": command }).to_string();
        let Ok(input) = RawJson::parse(&input) else { continue };
        let runs = median(ROUNDS, || decided(&Call::new("Bash", &input, directory), &rules));
        let asked = median(ROUNDS, || {
            let call = Call::new("Bash", &input, directory);
            let decided = decided(&call, &rules);
            let warned = call.shell_text().and_then(warning);
            (decided, rule_for(&call), offered_rules(&call), describe(&call), warned)
        });
        println!("  {runs:>9.1?} {asked:>9.1?}  {}", command.replace('\n', "⏎"));
    }
}

/// The answers that a run needs before a command starts: the verdict, the files that it names, and what it would print beside them.
fn decided(call: &Call<'_>, rules: &Rules) -> impl Sized + use<> {
    let verdict = judge(call, PermissionMode::Default, Width::Wide, rules);
    let text = call.shell_text();
    let reads = text.and_then(|text| command_reads(call.directory, text, Width::Wide, None));
    (verdict, reads, text.map(|text| Sweep::of(text, Width::Wide)))
}

fn median<T>(rounds: usize, mut run: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[rounds / 2]
}
