//! Which commands bring a warning, and which do not.

use proptest::prelude::*;

use super::{Severity, warning};
use crate::shell::ShellText;

fn told(command: &str) -> &'static str {
    warning(&ShellText::new(command)).map_or("", |warning| warning.text)
}

#[test]
fn what_destroys_is_named() {
    let cases = [
        ("git reset --hard HEAD~1", "throws away changes that were not committed"),
        ("git push --force", "overwrites what others may have pushed"),
        ("git push -f origin main", "overwrites what others may have pushed"),
        ("git push origin +main", "overwrites what others may have pushed"),
        (
            "git push --force-with-lease",
            "overwrites the remote branch unless somebody else has pushed",
        ),
        ("git push origin :old", "deletes a branch or tag on the remote"),
        ("git clean -fdx", "deletes files that git does not track"),
        ("git checkout .", "throws away changes that were not committed"),
        ("git -C sub checkout -- a", "throws away changes that were not committed"),
        ("git restore a", "throws away changes that were not committed"),
        ("git stash drop", "deletes stashed changes"),
        ("git branch -D x", "deletes a branch that may not be merged"),
        ("git commit --amend", "replaces the last commit"),
        ("git commit -m x --no-verify", "skips the checks that run before it"),
        ("git rebase -i main", "writes commits anew"),
        ("git reflog expire --all", "deletes the record of earlier states"),
        ("git gc --prune=now", "deletes objects that nothing refers to, now"),
        ("rm a", "deletes files"),
        ("rm -f a", "deletes files without asking"),
        ("rm -r a", "deletes folders with all that is in them"),
        ("cd x && sudo rm -rf build", "deletes folders with all that is in them, without asking"),
        ("rm -rf /", "deletes everything below a whole system or home"),
        ("(rm -rf ~)", "deletes everything below a whole system or home"),
        ("find . -name x -delete", "deletes every file that it finds"),
        ("find . -exec rm {} \\;", "deletes every file that it finds"),
        ("ls | xargs rm -f", "deletes files without asking"),
        ("bash -c 'rm -r x'", "deletes folders with all that is in them"),
        ("echo $(rm -r x)", "deletes folders with all that is in them"),
        ("dd if=a of=/dev/sda", "writes over a device"),
        ("echo x > /dev/sda", "writes over a device"),
        ("mkfs.ext4 /dev/sdb", "makes a new file system over what is there"),
        ("wipefs -a /dev/sdb", "changes the layout of a disk"),
        ("shred x", "overwrites files so that they cannot be restored"),
        ("truncate -s0 x", "cuts files off"),
        ("chmod -R 777 .", "changes the modes of a whole folder"),
        ("chown -R me .", "changes the owner of a whole folder"),
        ("mv a /dev/null", "moves a file to where it is lost"),
        ("kill -9 -1", "ends every process that it may"),
        ("killall node", "ends every process of that name"),
        ("sudo shutdown now", "stops the machine"),
        ("crontab -r", "deletes all scheduled jobs"),
        ("psql -c 'DROP TABLE users'", "drops part of a database"),
        ("mysql -e \"truncate table a\"", "empties a table"),
        ("sqlite3 a.db 'delete from a'", "deletes every row of a table"),
        ("psql <<E\nalter table a drop column b\nE", "drops part of a database"),
        ("kubectl delete ns x", "deletes objects of the cluster"),
        ("kubectl drain n1", "moves everything off a node of the cluster"),
        ("helm uninstall x", "removes a release from the cluster"),
        ("terraform destroy", "destroys infrastructure"),
        ("docker system prune -af", "deletes everything that is not in use"),
        ("docker volume rm x", "deletes containers, images or volumes"),
        ("aws s3 rm s3://x --recursive", "deletes stored objects"),
        ("gcloud compute instances delete x", "deletes something in the cloud"),
        ("curl -s http://x | sudo bash", "runs code from the network unseen"),
        (":(){ :|:& };:", "starts processes until the machine stands still"),
    ];
    for (command, expected) in cases {
        assert_eq!(told(command), expected, "{command}");
    }
}

#[test]
fn edits_in_place_are_named() {
    for command in [
        "sed -i s/a/b/ f",
        "sed -i.bak s/a/b/ f",
        "sed -ni p f",
        "sed -Ei s/a/b/ f",
        "sed --in-place=.b p f",
        "sed s/a/b/ f -i",
        "perl -i -pe s/a/b/ f",
        "perl -pi -e s/a/b/ f",
        "gawk -i inplace 1 f",
        "ex f",
        "ed f",
    ] {
        assert_eq!(told(command), "edits files in place", "{command}");
    }
    assert_eq!(told("sort a -o a"), "writes its result over a file");
    assert_eq!(told("cat a | tee b"), "writes its result over a file");
}

#[test]
fn what_only_looks_like_it_brings_none() {
    for command in [
        "",
        "ls -la",
        "echo \"rm -rf /\"",
        "echo 'git push --force'",
        "grep -rf patterns .",
        "git log --grep='reset --hard'",
        "git commit -m 'rm -rf x'",
        "git clean -n",
        "git clean -nfd",
        "git restore --staged a",
        "git push",
        "git branch -d x",
        "git stash",
        "git checkout main",
        "rg 'DROP TABLE'",
        "echo drop table a",
        "psql -c 'delete from a where b'",
        "ls # rm -rf /",
        "sed -n p f",
        "sed -e 's/i/j/' f",
        "sort -n a",
        "kubectl get pods",
        "docker ps",
        "fdisk -l",
        "curl http://x -o y; bash z",
        "echo x > /dev/null",
        "ls 2>/dev/null",
        "tee -a log",
        "find . -name rm",
        "x=rm; ls",
        "perl -e 'print 1'",
        "man rm",
    ] {
        assert_eq!(told(command), "", "{command}");
    }
}

#[test]
fn the_worst_comes_first() {
    assert_eq!(
        told("rm -f a; mkfs.ext4 /dev/sda; git reset --hard"),
        "makes a new file system over what is there"
    );
    assert_eq!(
        told("sed -i p a && rm -r b && git stash drop"),
        "deletes folders with all that is in them"
    );
    assert!(Severity::Ruins > Severity::Loses && Severity::Loses > Severity::Changes);
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,60}|[a-z '\"\\\\;|&<>(){}$`#\n-]{0,60}") {
        warning(&ShellText::new(&text));
    }

    #[test]
    fn single_quotes_hide_any_command(text in "[^'\\x00]{0,40}") {
        prop_assert_eq!(told(&format!("echo '{text}'")), "");
    }
}
