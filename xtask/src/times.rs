//! The runner of each test process, which gives it its world and measures it, and the report that compares the sums with budgets.
//!
//! Cargo and nextest start every test process through the runner that `target.….runner` names: `xtask timed DIRECTORY PLACE PROGRAM`.
//! The measure is CPU time of the process and of all processes that it waited for, since that is nearly the same on a quiet and on a
//! busy machine. A budget that is exceeded is a warning, and a failure only for whoever asks for it; the time on the clock is shown
//! beside it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::{process, world};

/// The CPU seconds that the tests of each crate may take with the usual share of cases: twice what a quiet machine
/// of 2026 takes, since others are slower.
const BUDGETS: &[(&str, u64)] = &[
    ("tine", 500),
    ("tine-guard", 80),
    ("tine-runtime", 150),
    ("tine-store", 40),
    ("tine-tools", 120),
    ("tine-wire", 40),
    ("tine-worktree", 190),
];

/// The CPU seconds of a crate that is not in the table.
const BUDGET_DEFAULT: u64 = 30;

/// The CPU seconds of one test binary, whatever its crate may take.
const BINARY_BUDGET: u64 = 60;

/// Test binaries that may take longer until they are mended.
const LONG_BINARIES: &[(&str, u64)] = &[
    ("tine::attack", 200),
    ("tine::cli", 300),
    ("tine-worktree", 110),
    // Over a hundred real repositories; git takes most of it, and on a slow machine half as long again.
    ("tine-worktree::worktree", 100),
];

/// The number of tests that the report names.
const SLOWEST: usize = 10;

/// Linux gives CPU times in hundredths of a second.
const TICK_MS: u64 = 10;

/// The environment variable that names the file in which tests say what they leave out (`tine_testkit::share`).
const SHARES: &str = "TINE_TEST_SHARES";

/// The environment variable that names the file in which tests say what they cannot run here (`tine_testkit::not_run`).
const NOT_RUN: &str = "TINE_TEST_NOT_RUN";

/// The copy of this program that starts the tests.
const RUNNER: &str = "runner";

/// The files that one run of the tests fills.
#[derive(Debug)]
pub(crate) struct Times {
    directory: PathBuf,
    /// The folder in which each test process gets its world.
    place: PathBuf,
}

/// One test process: a test under nextest, a whole binary under `cargo test`.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    package: String,
    binary: String,
    test: String,
    /// `None` where the system does not tell.
    cpu_ms: Option<u64>,
    wall_ms: u64,
}

impl Times {
    /// Begins a run below the target directory, and forgets the last one. Comes before a build, which may put another program in
    /// the place of this one.
    pub(crate) fn begin(target: &Path, place: &Path) -> Result<Self> {
        let directory = target.join("test-times");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let program = std::env::current_exe().context("cannot find xtask's own program")?;
        fs::copy(program, directory.join(RUNNER)).context("cannot copy xtask's own program")?;
        Ok(Self { directory, place: place.to_owned() })
    }

    /// The file in which tests say what they cannot run here.
    pub(crate) fn not_run(&self) -> PathBuf {
        self.directory.join("not-run")
    }

    /// The option that has cargo and nextest start tests through the runner.
    pub(crate) fn option(&self) -> Result<String> {
        let runner = self.directory.join(RUNNER);
        let words = [&runner, Path::new("timed"), &self.directory, &self.place];
        // A list of JSON strings is one of TOML, too.
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let words = serde_json::to_string(&words).context("cannot name the runner")?;
        Ok(format!("target.'cfg(all())'.runner={words}"))
    }

    /// Prints the sums and the slowest tests, and names what is over its budget: as a warning, or as an error where budgets judge.
    pub(crate) fn report(&self, is_judged: bool) -> Result<()> {
        let records = fs::read_to_string(self.directory.join("tests")).unwrap_or_default();
        let records: Vec<Record> = records.lines().filter_map(Record::read).collect();
        if records.is_empty() {
            bail!(
                "no test told its time\nhint: a `runner` of cargo's settings may stand before that of `cargo xtask test`"
            );
        }
        eprint!("{}", table(&records));
        let shares = fs::read_to_string(self.directory.join("shares")).unwrap_or_default();
        eprint!("{}", left_out(&shares));
        let over = over_budget(&records);
        if over.is_empty() {
            return Ok(());
        }
        let over = over.join("\n");
        if !is_judged {
            eprintln!("==> warning: over budget\n{over}");
            return Ok(());
        }
        bail!(
            "the tests take too long\n{over}\nhint: mend the slowest, or raise the budget in xtask/src/times.rs and say why"
        )
    }
}

/// Runs one test process in a world of its own, writes its times down, and ends as it ended.
pub(crate) fn timed(arguments: &[String]) -> Result<ExitCode> {
    let [directory, place, program, rest @ ..] = arguments else {
        bail!("`timed` needs two directories and a program");
    };
    let mut command = process::program(program);
    let directory = Path::new(directory);
    command.args(rest);
    command.env(SHARES, directory.join("shares")).env(NOT_RUN, directory.join("not-run"));
    // Of all that run at the same time, only this process has this number.
    let place = Path::new(place).join(std::process::id().to_string());
    world::enter(&mut command, &place)?;
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot run `{program}`"))?;
    // What a test has left without permission to remove it goes with the folder of the whole run.
    let _ = fs::remove_dir_all(&place);
    if !rest.iter().any(|argument| argument == "--list") {
        let wall_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let record = Record::of(program, rest, wall_ms);
        append(&directory.join("tests"), &record.line())?;
    }
    Ok(process::exit_code(status))
}

/// One write for the whole line, so that processes do not mix theirs.
fn append(path: &Path, line: &str) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(line.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

impl Record {
    fn of(program: &str, arguments: &[String], wall_ms: u64) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let stem = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
        let stem = stem.rsplit_once('-').map_or(stem.as_ref(), |(name, _)| name);
        let package = variable("CARGO_PKG_NAME").unwrap_or_else(|| stem.to_owned());
        let binary = variable("NEXTEST_BINARY_ID").unwrap_or_else(|| binary_id(&package, stem));
        let exact = arguments.iter().position(|argument| argument == "--exact");
        let before = exact.and_then(|at| at.checked_sub(1)).and_then(|at| arguments.get(at));
        let after = exact.and_then(|at| arguments.get(at + 1));
        let name = [after, before].into_iter().flatten().find(|word| !word.starts_with('-'));
        let test = name.map_or_else(String::new, String::clone);
        let stat = fs::read_to_string("/proc/self/stat").ok();
        Self { package, binary, test, cpu_ms: stat.as_deref().and_then(cpu_of_children), wall_ms }
    }

    fn line(&self) -> String {
        let Self { package, binary, test, cpu_ms, wall_ms } = self;
        let cpu = cpu_ms.map_or_else(String::new, |ms| ms.to_string());
        format!("{package}\t{binary}\t{test}\t{cpu}\t{wall_ms}\n")
    }

    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        Some(Self {
            package: fields.next()?,
            binary: fields.next()?,
            test: fields.next()?,
            cpu_ms: fields.next()?.parse().ok(),
            wall_ms: fields.next()?.parse().ok()?,
        })
    }
}

/// Returns the id that nextest gives to a binary: the unit tests of a package have its name alone.
fn binary_id(package: &str, stem: &str) -> String {
    if package.replace('-', "_") == stem {
        package.to_owned()
    } else {
        format!("{package}::{stem}")
    }
}

/// The CPU time of the processes that ended and were waited for, from the text of `/proc/self/stat`.
fn cpu_of_children(stat: &str) -> Option<u64> {
    // The name of the program stands in parentheses and may hold anything. The state is the first field behind it.
    let (_, behind) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    Some((ticks(13)? + ticks(14)?) * TICK_MS)
}

/// A sum of times.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    tests: usize,
    cpu_ms: u64,
    wall_ms: u64,
}

fn sums<'r>(records: &'r [Record], key: impl Fn(&'r Record) -> &'r str) -> BTreeMap<&'r str, Sum> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for record in records {
        let sum = sums.entry(key(record)).or_default();
        sum.tests += 1;
        sum.cpu_ms += record.cpu_ms.unwrap_or_default();
        sum.wall_ms += record.wall_ms;
    }
    sums
}

fn budget(package: &str) -> u64 {
    BUDGETS.iter().find(|(name, _)| *name == package).map_or(BUDGET_DEFAULT, |(_, budget)| *budget)
}

fn binary_budget(binary: &str) -> u64 {
    let long = LONG_BINARIES.iter().find(|(name, _)| *name == binary);
    long.map_or(BINARY_BUDGET, |(_, budget)| *budget)
}

fn table(records: &[Record]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "==> time of the tests (budgets in xtask/src/times.rs)");
    if records.iter().any(|record| record.cpu_ms.is_none()) {
        let _ = writeln!(
            text,
            "    NOT RUN: budgets: this system does not tell the CPU time of a process"
        );
    }
    let _ = writeln!(
        text,
        "    {:<16} {:>7} {:>9} {:>9} {:>9}",
        "crate", "runs", "CPU s", "budget", "clock s"
    );
    let seconds = |ms: u64| format!("{:.1}", std::time::Duration::from_millis(ms).as_secs_f64());
    let mut all = Sum::default();
    for (package, sum) in sums(records, |record| &record.package) {
        let (cpu, wall) = (seconds(sum.cpu_ms), seconds(sum.wall_ms));
        let _ = writeln!(
            text,
            "    {package:<16} {:>7} {cpu:>9} {:>9} {wall:>9}",
            sum.tests,
            budget(package)
        );
        all.tests += sum.tests;
        all.cpu_ms += sum.cpu_ms;
        all.wall_ms += sum.wall_ms;
    }
    let (cpu, wall) = (seconds(all.cpu_ms), seconds(all.wall_ms));
    let _ = writeln!(text, "    {:<16} {:>7} {cpu:>9} {:>9} {wall:>9}", "all", all.tests, "");
    if records.iter().any(|record| record.test.is_empty()) {
        let _ = writeln!(
            text,
            "    NOT RUN: the slowest tests: `cargo test` runs a binary as one; cargo-nextest tells its tests apart"
        );
        return text;
    }
    let mut slowest: Vec<&Record> = records.iter().collect();
    slowest.sort_by_key(|record| std::cmp::Reverse((record.wall_ms, record.cpu_ms)));
    let _ = writeln!(text, "==> the slowest tests\n    {:>9} {:>9}", "clock s", "CPU s");
    for record in slowest.iter().take(SLOWEST) {
        let cpu = record.cpu_ms.map_or_else(|| "?".to_owned(), seconds);
        let wall = seconds(record.wall_ms);
        let _ = writeln!(text, "    {wall:>9} {cpu:>9}  {} {}", record.binary, record.test);
    }
    text
}

/// What tests said that they leave out.
fn left_out(shares: &str) -> String {
    let mut shares: Vec<&str> = shares.lines().collect();
    shares.sort_unstable();
    shares.dedup();
    if shares.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "==> {} tests try a fixed share of their cases; all of them: cargo xtask test --all\n",
        shares.len()
    );
    for share in shares {
        let _ = writeln!(text, "    {share}");
    }
    text
}

fn over_budget(records: &[Record]) -> Vec<String> {
    let over = |kind: &str, name: &str, sum: Sum, budget: u64| {
        (sum.cpu_ms > budget * 1000).then(|| {
            let cpu = sum.cpu_ms / 1000;
            format!("  {kind} {name}: {cpu} s of CPU time, its budget is {budget} s")
        })
    };
    let crates = sums(records, |record| &record.package).into_iter();
    let crates = crates.filter_map(|(name, sum)| over("crate", name, sum, budget(name)));
    let binaries = sums(records, |record| &record.binary).into_iter();
    let binaries =
        binaries.filter_map(|(name, sum)| over("binary", name, sum, binary_budget(name)));
    crates.chain(binaries).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(binary: &str, test: &str, cpu_ms: u64) -> Record {
        let package = binary.split("::").next().unwrap_or_default().to_owned();
        let (binary, test) = (binary.to_owned(), test.to_owned());
        Record { package, binary, test, cpu_ms: Some(cpu_ms), wall_ms: 2 * cpu_ms }
    }

    #[test]
    fn the_time_of_children_is_read_behind_any_name() {
        let stat = "17 (a) b (c) S 1 17 17 0 -1 4194304 99 88 0 0 5 3 250 12 20 0 1 0 100";
        assert_eq!(cpu_of_children(stat), Some(2620));
        assert_eq!(cpu_of_children("17 (a) S 1"), None);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let known = record("a::b", "c::d", 40);
        assert_eq!(Record::read(known.line().trim_end()), Some(known));
        let unknown = Record { cpu_ms: None, ..record("a", "", 40) };
        assert_eq!(Record::read(unknown.line().trim_end()), Some(unknown));
    }

    #[test]
    fn binaries_have_the_names_that_nextest_gives_them() {
        assert_eq!(binary_id("tine-guard", "tine_guard"), "tine-guard");
        assert_eq!(binary_id("tine-guard", "judge"), "tine-guard::judge");
    }

    #[test]
    fn what_is_over_its_budget_is_named() {
        let short = record("none::a", "x", 1000);
        assert_eq!(over_budget(&[short]), <[String; 0]>::default());
        let long = || record("none::a", "x", 31_000);
        let expected = [
            "  crate none: 62 s of CPU time, its budget is 30 s",
            "  binary none::a: 62 s of CPU time, its budget is 60 s",
        ];
        assert_eq!(over_budget(&[long(), long()]), expected);
    }

    #[test]
    fn the_slowest_are_named_where_tests_are_told_apart() {
        let apart = [record("a", "quick", 10), record("a", "slow", 500)];
        let expected = "\
==> time of the tests (budgets in xtask/src/times.rs)
    crate               runs     CPU s    budget   clock s
    a                      2       0.5        30       1.0
    all                    2       0.5                 1.0
==> the slowest tests
      clock s     CPU s
          1.0       0.5  a slow
          0.0       0.0  a quick
";
        assert_eq!(table(&apart), expected);
        let whole = table(&[record("a", "", 500)]);
        assert!(whole.contains("NOT RUN: the slowest tests"), "{whole}");
    }

    #[test]
    fn each_share_is_listed_once() {
        assert_eq!(left_out(""), "");
        let listed = left_out("steps: 2 of 6\ncases: 4 of 12\nsteps: 2 of 6\n");
        let expected = "\
==> 2 tests try a fixed share of their cases; all of them: cargo xtask test --all
    cases: 4 of 12
    steps: 2 of 6
";
        assert_eq!(listed, expected);
    }
}
