//! What a shell verdict costs, printed. Run with `cargo xtask bench verdict`.
//!
//! Each line is the median over many rounds. Nothing here asserts a time: machines differ.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tine_guard::{ShellText, Width, shell_verdict, warning};

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
