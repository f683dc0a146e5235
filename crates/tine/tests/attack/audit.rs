//! The audit of confined runs that touch nothing reports nothing.

use serde_json::{Value, json};

use crate::ground::Ground;
use crate::report::{Row, cannot_run};
use crate::world::{Call, World};

/// Runs, and the fans of workers, none of which does anything outside.
#[test]
fn an_audit_of_a_run_that_touches_nothing_reports_nothing() {
    for ground in Ground::ALL {
        if cannot_run("audits of quiet runs", ground) {
            continue;
        }
        let world = World::new();
        for name in [".bashrc", ".ssh/id_rsa", ".config/x/y", "work/f", "other/.git/config"] {
            world.write(name, "x\n");
        }
        world.write(".tine-home/config.toml", "[workers]\nnudge = false\n");
        let read = [
            Call::new("FileRead", json!({ "file_path": "f" })),
            Call::bash("cat f"),
            Call::bash("echo y > g"),
        ];
        let quiet = world.scenario("quiet", &[]);
        let busy = world.turns("busy", &[("WORK", &read)]);
        let mut reports = Vec::new();
        for (model, prompt) in [(&quiet, "hello"), (&busy, "WORK")] {
            for confine in ["directory", "read-only"] {
                let run =
                    ["run", "--output-format", "json", "--model", model, "--confine", confine];
                let run = [&run[..], &["--permission-mode", "bypass", prompt]].concat();
                reports.push(report(&world, ground, &run));
            }
            world.done(ground, &["run", "-q", "--name", prompt, "--model", model, "hello"]);
            let fan = [
                "fan",
                prompt,
                "-d",
                prompt,
                "-d",
                prompt,
                "--json",
                "--permission-mode",
                "bypass",
            ];
            reports.push(report(&world, ground, &fan));
        }
        let mut row = Row::new("audits of quiet runs", reports.len());
        row.escaped = reports.into_iter().flatten().collect();
        row.settle(ground, 6, 0);
    }
}

/// What the audit of a command tells: in its result, or to a person.
fn report(world: &World, ground: Ground, arguments: &[&str]) -> Vec<String> {
    let ran = world.tine(ground, arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{arguments:?}: {stderr}");
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let audit = &result["audit"];
    assert_eq!(audit["complete"], true, "{result}");
    let escapes = audit["escapes"].as_array().unwrap().iter();
    let told = stderr.lines().filter(|line| line.contains("outside while"));
    escapes.map(ToString::to_string).chain(told.map(str::to_owned)).collect()
}
