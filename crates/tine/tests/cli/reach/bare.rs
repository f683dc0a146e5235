//! A system that can make neither namespaces nor use Landlock: commands of workers are refused until the user accepts it once.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use tine_testkit::{Ability, lacks, test_name};

use super::{Ran, home};

/// The calls that make the two layers: `landlock_create_ruleset`, `landlock_add_rule` and `landlock_restrict_self`, which have
/// one number on every machine, and `unshare`.
const LAYERS: [i64; 4] = [444, 445, 446, UNSHARE];
const UNSHARE: i64 = if cfg!(target_arch = "x86_64") { 272 } else { 97 };

/// The error of a call that a kernel does not know.
const UNKNOWN_CALL: u32 = 38;

/// A worker that tries a command, then writes with a file tool, and says what became of the command.
const SCENARIO: &str = r#"
name = "bare"

[[turn]]
when = { user_contains = "TRY", turn = 0 }
tool_calls = [
    { name = "FileWrite", input = { file_path = "written", content = "x" } },
    { name = "Bash", input = { command = "echo own > own" } },
]

[[turn]]
when = { user_contains = "TRY" }
text = "Scope: the try\nResult: {{tool_result.last}}"

[[turn]]
text = "So it is."
"#;

/// Runs a command as on a kernel that knows neither layer.
fn on_a_bare_kernel(home: &crate::support::Home, arguments: &[&str]) -> Ran {
    let mut command = home.tine(arguments);
    let run = move || {
        let rules: BTreeMap<_, _> = LAYERS.map(|call| (call, Vec::new())).into_iter().collect();
        let machine = std::env::consts::ARCH.try_into().unwrap();
        let answer = SeccompAction::Errno(UNKNOWN_CALL);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, machine).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        // It holds for this thread and for what it starts.
        apply_filter(&program).unwrap();
        Ran::of(&mut command)
    };
    std::thread::spawn(run).join().unwrap()
}

/// What a person is told.
fn said(ran: &Ran) -> String {
    let words = ["error:", "warning:", "hint:"];
    let lines = ran.stderr.lines().filter(|line| words.iter().any(|word| line.starts_with(word)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_worker_runs_no_command_where_nothing_can_keep_it_and_its_file_tools_work() {
    if lacks(Ability::Seccomp, &test_name()) {
        return;
    }
    let home = home(SCENARIO);
    home.done(&["run", "-q", "--name", "a", "hello"]);
    let is_there = |name: &str| std::fs::remove_file(home.work().join(name)).is_ok();
    let fan = ["fan", "a", "-d", "TRY", "--json"];

    let refused = on_a_bare_kernel(&home, &fan);
    check!(said(&refused), @"
    warning: this system can neither make namespaces nor use Landlock: commands of workers and of other confined runs are refused, their file tools work
    hint: `missing = \"accept\"` under [confine] in your own config.toml lets them run without a wall; `--confine off` does for one agent
    ");
    let report: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    let task = &report["tasks"][0];
    assert_eq!(task["error"], serde_json::Value::Null);
    check!(task["report"]["raw"].as_str().unwrap_or_default(), @"
    Scope: the try
    Result: commands are not run here: this system can neither make namespaces nor use Landlock, so nothing would keep a command in its directory. Work with the file tools. Only the user can change this: `tine doctor` says how
    ");
    assert_eq!((is_there("written"), is_there("own")), (true, false));

    // A project does not say it: content that does cannot be trusted.
    home.write("work/.tine/config.toml", "[confine]\nmissing = \"accept\"\n");
    check!(home.masked(&said(&home.ran(&["trust", "--yes"]))), @"
    error: [HOME]/work/.tine/config.toml may not set confine.missing
    hint: a project's file can only narrow permissions; put this into your own config.toml
    ");
    on_a_bare_kernel(&home, &fan);
    assert!(!is_there("own"));
    std::fs::remove_dir_all(home.work().join(".tine")).unwrap();

    let settings = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write("config.toml", &format!("{settings}\n[confine]\nmissing = \"accept\"\n"));
    let accepted = on_a_bare_kernel(&home, &fan);
    check!(said(&accepted).lines().next().unwrap_or_default(), @"warning: the kernel has no Landlock: commands can write and read whatever the user can");
    assert!(is_there("own"), "{}", accepted.stderr);
}

#[test]
fn a_doctor_of_a_bare_kernel_says_what_follows() {
    if lacks(Ability::Seccomp, &test_name()) {
        return;
    }
    let home = home(SCENARIO);
    let ran = on_a_bare_kernel(&home, &["doctor"]);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let lines = ran.stdout.lines().skip_while(|line| !line.contains("confinement"));
    let lines = lines.take_while(|line| !line.contains("terminal"));
    // Who has control groups is a matter of the machine.
    let lines: Vec<&str> = lines.filter(|line| !line.contains("confinement: limits")).collect();
    check!(lines.join("\n").replace(kernel.trim(), "[KERNEL]"), @r#"
    warn  confinement: namespaces: no mount namespaces can be made here: commands can change modes, owners and times of the user's files outside, write settings of git and editors in their directory, and read secrets that lie deep; runs with `--network` are refused
          hint: a system may forbid them: look at kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns
    warn  confinement: Landlock: the kernel has no Landlock: commands can write and read whatever the user can
    ok    confinement: system calls: a filter refuses sockets, the kernel's settings and other processes
    warn  confinement: reads: no read-only wall can stand: only the simplest reads run unasked, and they run without a wall
    ok    confinement: keys: other processes find no keys in tine's memory and environment
    warn  confinement: kernel [KERNEL]: this system can neither make namespaces nor use Landlock: commands of workers and of other confined runs are refused, their file tools work
          hint: `missing = "accept"` under [confine] in your own config.toml lets them run without a wall; `--confine off` does for one agent
    "#);
}
