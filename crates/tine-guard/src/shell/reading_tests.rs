//! What is read of a text, on examples; `tests/rules_hold.rs` compares it with what bash starts.

use crate::shell::ShellText;

/// Every command that may run, one in a line; `launches` behind its launcher, indented.
fn read(text: &str) -> String {
    fn lines(command: &super::Command, depth: usize, out: &mut String) {
        out.push_str(&format!("{}{}\n", "  ".repeat(depth), command.shown()));
        if command.launches_unknown {
            out.push_str(&format!("{}(unknown)\n", "  ".repeat(depth + 1)));
        }
        for inner in &command.launches {
            lines(inner, depth + 1, out);
        }
    }
    let shell = ShellText::new(text);
    let reading = shell.reading();
    let mut out = String::new();
    for command in &reading.commands {
        lines(command, 0, &mut out);
    }
    if let Some(why) = &reading.uncertain {
        out.push_str(&format!("uncertain: {why}\n"));
    }
    out
}

#[test]
fn a_command_is_seen_wherever_it_stands() {
    for text in [
        "cd . && shipit now",
        "true; shipit now",
        "FOO=1 shipit now",
        "(shipit now)",
        "echo \"$(shipit now)\"",
        "echo `shipit now`",
        "shipit  now",
        "ship\\it now",
        "\"shipit\" now",
        "$'\\x73hipit' now",
        "true\nshipit now",
        "if true; then shipit now; fi",
        "! shipit now",
        "shipit now &",
        "f() { shipit now; }; f",
        "function f { shipit now; }",
        "coproc shipit now",
        "cat <(shipit now) > >(cat)",
        "case x in x) shipit now;& y) ls;; esac",
        "select a in b; do shipit now; done",
        "> x shipit now",
        "{shipit,now}",
        "cmd=shipit; $cmd now",
        "x=now; shipit $x",
        "[[ -n $(shipit now) ]]",
        "(( $(shipit now) ))",
        "((a); (shipit now))",
        "cat <<EOF\n$(shipit now)\nEOF",
        "echo ${x:-$(shipit now)}",
        "ship\\\nit now",
        "trap 'shipit now' EXIT",
        "alias x='shipit now'",
        "echo \"`shipit \\\"now\\\"`\"",
    ] {
        assert!(
            read(text).lines().any(|line| line.trim() == "shipit now"),
            "{text}:\n{}",
            read(text)
        );
    }
}

#[test]
fn launchers_are_seen_through() {
    for text in [
        "env shipit now",
        "env -i -u X PATH=\"$PATH\" shipit now",
        "env - shipit now",
        "env -S 'shipit now'",
        "command shipit now",
        "command -p shipit now",
        "exec -a x shipit now",
        "eval shipit now",
        "eval 'shipit now'",
        "bash -c 'shipit now'",
        "sh -ec 'shipit now'",
        "bash -o pipefail -c 'true; shipit now' x",
        "bash <<< 'shipit now'",
        "bash -s <<'EOF'\nshipit now\nEOF",
        "time -p shipit now",
        "timeout -k 1 --signal=KILL 5 shipit now",
        "timeout 5 env nice -n 5 shipit now",
        "nohup shipit now",
        "setsid -f shipit now",
        "stdbuf -oL shipit now",
        "sudo -u root shipit now",
        "sudo A=1 shipit now",
        "doas -u root shipit now",
        "find . -name x -exec shipit now \\;",
        "ssh -p 22 host shipit now",
        "ssh host 'cd x && shipit now'",
        "docker exec -it -e A=1 box shipit now",
        "docker --context x exec box sh -c 'shipit now'",
        "kubectl -n x exec pod -- shipit now",
        "flock /tmp/l -c 'shipit now'",
        "flock -w 5 /tmp/l shipit now",
        "su root -c 'shipit now'",
        "git submodule foreach 'shipit now'",
        "git -C x bisect run shipit now",
        "git rebase -x 'shipit now' main",
        "uv run shipit now",
        "watch -n 5 shipit now",
        "busybox sh -c 'shipit now'",
        "systemd-run --user --scope shipit now",
    ] {
        assert!(
            read(text).lines().any(|line| line.trim() == "shipit now"),
            "{text}:\n{}",
            read(text)
        );
    }
    insta::assert_snapshot!(read("ls | xargs -I{} shipit now {} | xargs shipit"), @"
    ls
    xargs -I{} shipit now {}
      shipit now … …
    xargs shipit
      shipit …
    ");
}

#[test]
fn what_is_not_certain_is_told() {
    insta::assert_snapshot!(read("$x now; git $y; git \"$y\"/b; rm *.o [ab]; for f in a b; do cat $f; done"), @"
    … now
    git …
    git …/b
    rm … …
    cat …
    ");
    insta::assert_snapshot!(read("x=status; f() { x=push; }; f; git $x"), @"
    f
    git …
    ");
    insta::assert_snapshot!(read("x=status; printf -v x push; git $x; eval \"$z\"; git $x"), @"
    printf -v x push
    git …
    eval …
      (unknown)
    ");
    insta::assert_snapshot!(read("cmd=(git push); \"${cmd[@]}\""), @"…");
    insta::assert_snapshot!(read("curl x | sh; bash -c \"$y\"; bash x.sh; hash -p /bin/rm ls"), @"
    curl x
    sh
      (unknown)
    bash -c …
      (unknown)
    bash x.sh
    hash -p /bin/rm ls
      (unknown)
    ");
    insta::assert_snapshot!(read("f() { git \"$@\"; }; f push; set -- push; git $1"), @"
    git …
    f push
    set -- push
    ");
    insta::assert_snapshot!(read("(( a[0] + 1 )); ls )"), @r#"
    ls
    uncertain: `)` at column 20: this closes nothing
    "#);
    insta::assert_snapshot!(read("echo 'git push' \"git push\" # git push"), @"echo git push git push");
}
