//! Commands that would read a folder whole, and what may lie in it.

use tine_guard::filter::AutoMemFilter;

use crate::support::{Home, command};

/// A filter in a project of a user whose home is `home`.
fn filter(home: &Home) -> AutoMemFilter {
    std::fs::create_dir_all(home.path("work/src")).unwrap();
    std::fs::create_dir_all(home.path("home/project")).unwrap();
    home.link(home.path("home"), "work/door");
    home.link(home.path("home/.ssh"), "work/keys");
    let filter = AutoMemFilter::new(home.path("mem")).unwrap();
    filter.in_directory(&home.path("work")).in_home(&home.path("home"))
}

#[test]
fn a_search_above_a_key_store_is_refused() {
    let home = Home::new();
    let filter = filter(&home);
    for text in [
        "grep -r x ~",
        "grep -r x ~/",
        "grep -R x HOME/home",
        "rg -uuu x ~",
        "rg x HOME/",
        "grep -rn x /",
        "grep -rn x //",
        "rg x /etc",
        "grep -r x /home",
        "grep -r x /root",
        "grep -r x /proc",
        "rg x /run",
        "rg x /var",
        "rg x /dev",
        "diff -rN ~/a ~",
        "diff -r / HOME/out",
        "git diff --no-index ~ /x",
        "git grep --no-index x ~",
        "cd ~ && grep -r x",
        "cd ~; rg x",
        "cd ..; grep -r x home",
        "cd / && cd etc && grep -r x .",
        "grep -r x door",
        "grep -r x door/",
        "grep -r x src/../door",
        "grep -r x ~/.config",
        "rg x ~/.local/share",
        "cat ~/.config/*/*",
        "cat ~/.config/g*/hosts.yml",
        "cat /home/*/.config/gh/hosts.yml",
        "grep -r x ~/.*",
        "grep -r x /h*",
        "grep -r x /*",
        "cat /*/shadow",
        "cat /etc/sh*",
        "cat /etc/sudoer?",
        "cat /proc/*/environ",
        "cat /proc/[0-9]*/maps",
        "cat door/.config/*/*",
        "head /r*n/secrets/*",
        "cat ~/.ssh/id_rsa",
        "cat ~/.config/gh/hosts.yml",
        "cd ~ && cat .config/gh/hosts.yml",
        "cd ~/.config; cat gh/hosts.yml",
        "cat ~root/.profile",
        "cat keys/../.netrc",
        "cat keys/id_rsa",
        "cat keys/config",
        "cat /proc/self/maps",
        "cat /proc/self/fd/0",
        "cat /dev/fd/3",
        "ls -l /proc/1",
        "xxd /proc/kcore",
        "strings /dev/sda",
    ] {
        let said = home.said(&filter, "Bash", &command(&text.replace("HOME/", &home.text(""))));
        let refused = ["secret: ", "not_read_only: "].iter().any(|code| said.starts_with(code));
        assert!(refused, "{text}: {said}");
    }
    let said = |text: &str| home.said(&filter, "Bash", &command(text));
    insta::assert_snapshot!(said("grep -r x ~"), @"secret: Denied: `HOME/home` has keys or passwords further down, and the command may print all that is there. Name a narrower directory, or use Grep, which leaves secrets out.");
    insta::assert_snapshot!(said("cat ~/.config/*/*"), @"secret: Denied: `HOME/home/.config/*/*` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("cat ~root/x"), @"not_read_only: Denied: `~r` at column 5: somebody's home directory. Use a command that only reads, or FileRead, Glob and Grep.");
    insta::assert_snapshot!(said("cd a; cat src/../b"), @"secret: Denied: `src/../b` leads back out of a folder that may be a link. Write the path without `..`.");
    insta::assert_snapshot!(said("cd a; cd b; cd c; cd d; cat e"), @"secret: Denied: the command changes its directory too often to be followed. Write absolute paths instead.");
}

#[test]
fn plain_reads_stay_plain() {
    let home = Home::new();
    let filter = filter(&home);
    for text in [
        "grep -r x",
        "grep -rn x .",
        "rg x",
        "rg x src",
        "cat src/*.rs",
        "cat src/../a.rs",
        "git log -p",
        "git diff",
        "git grep x",
        "diff -r src HOME/out",
        "grep -r x ~/project",
        "cat ~/project/*.md",
        "cat ~/notes.md",
        "ls ~",
        "ls -la ~ /",
        "ls /etc",
        "find ~ -name x",
        "cat /etc/os-release /etc/hosts",
        "cat /etc/*-release",
        "grep -r x /usr/include",
        "grep MemTotal /proc/meminfo",
        "cat /sys/class/net/eth?/address",
        "cd src && grep -r x",
        "cd ~/project && rg x",
        "cat - </dev/null",
        "grep x /dev/null a",
    ] {
        let said = home.said(&filter, "Bash", &command(&text.replace("HOME/", &home.text(""))));
        assert_eq!(said, "allow", "{text}");
    }
}
