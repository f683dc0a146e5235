//! Machines, services and databases; and code from the network.

use super::Warning;
use crate::shell::reading::Command;

/// Programs that take SQL.
const SQL_CLIENTS: [&str; 9] =
    words!("psql mysql mariadb sqlite3 sqlplus sqlcmd clickhouse-client duckdb bq");

const SHELLS: [&str; 10] =
    ["sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl", "ruby", "node"];

/// A shell that is fed by a download.
pub(super) fn piped_into_shell(commands: &[&Command]) -> Option<Warning> {
    let mut downloaded = false;
    for command in commands {
        let name = command.program();
        downloaded = matches!(name, "curl" | "wget" | "fetch") || (downloaded && command.is_piped);
        if downloaded && command.is_piped && SHELLS.contains(&name) {
            return Warning::ruins("runs code from the network unseen");
        }
    }
    None
}

/// A function that calls itself twice.
pub(super) fn fork_bomb(text: &str) -> Option<Warning> {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    bare.contains(":(){:|:&}")
        .then(|| Warning::ruins("starts processes until the machine stands still"))?
}

/// The warning for a program and its arguments.
pub(super) fn warning(name: &str, arguments: &[String]) -> Option<Warning> {
    let words: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let has = |option: &str| arguments.iter().any(|word| word == option);
    let sub = |at: usize| words.get(at).copied().unwrap_or_default();
    match name {
        "shutdown" | "reboot" | "poweroff" | "halt" => Warning::ruins("stops the machine"),
        "init" | "telinit" if matches!(sub(0), "0" | "6") => Warning::ruins("stops the machine"),
        "systemctl" if matches!(sub(0), "poweroff" | "reboot" | "halt") => {
            Warning::ruins("stops the machine")
        }
        "kill" if has("-1") => Warning::ruins("ends every process that it may"),
        "killall" | "pkill" => Warning::loses("ends every process of that name"),
        "kill" if has("-9") || has("-KILL") || has("-SIGKILL") => {
            Warning::changes("ends a process without letting it clean up")
        }
        "crontab" if has("-r") => Warning::loses("deletes all scheduled jobs"),
        "userdel" | "deluser" => Warning::loses("deletes an account"),
        "iptables" | "nft" if has("-F") || sub(0) == "flush" => {
            Warning::loses("removes all rules of the firewall")
        }
        "kubectl" | "oc" if sub(0) == "delete" => Warning::ruins("deletes objects of the cluster"),
        "kubectl" | "oc" if sub(0) == "drain" => {
            Warning::ruins("moves everything off a node of the cluster")
        }
        "helm" if matches!(sub(0), "uninstall" | "delete") => {
            Warning::ruins("removes a release from the cluster")
        }
        "terraform" | "tofu" | "pulumi" | "cdk" if sub(0) == "destroy" || has("-destroy") => {
            Warning::ruins("destroys infrastructure")
        }
        "docker" | "podman" if sub(1) == "prune" || sub(0) == "prune" => {
            Warning::loses("deletes everything that is not in use")
        }
        "docker" | "podman"
            if matches!(sub(0), "rm" | "rmi")
                || matches!(
                    (sub(0), sub(1)),
                    ("volume" | "container" | "image" | "network", "rm")
                ) =>
        {
            Warning::loses("deletes containers, images or volumes")
        }
        "docker-compose" if sub(0) == "down" && has("-v") => {
            Warning::loses("deletes containers and their volumes")
        }
        "aws" if sub(0) == "s3" && (sub(1) == "rm" && has("--recursive") || sub(1) == "rb") => {
            Warning::ruins("deletes stored objects")
        }
        "aws" if sub(1).starts_with("delete-") || sub(1).starts_with("terminate-") => {
            Warning::ruins("deletes something in the cloud")
        }
        "gsutil" if words.contains(&"rm") => Warning::ruins("deletes stored objects"),
        "gcloud" | "az" if words.contains(&"delete") => {
            Warning::ruins("deletes something in the cloud")
        }
        "gh" if sub(1) == "delete" => Warning::ruins("deletes something on the server"),
        "redis-cli"
            if words.iter().any(|w| {
                w.eq_ignore_ascii_case("flushall") || w.eq_ignore_ascii_case("flushdb")
            }) =>
        {
            Warning::ruins("deletes all keys of a database")
        }
        "dropdb" => Warning::ruins("deletes a database"),
        "npm" | "cargo" if matches!(sub(0), "publish" | "unpublish" | "yank") => {
            Warning::changes("changes what others can install")
        }
        _ => None,
    }
}

/// What SQL inside a command would lose, where one of its programs takes any.
pub(super) fn sql(commands: &[&Command], text: &str) -> Option<Warning> {
    if !commands.iter().any(|command| SQL_CLIENTS.contains(&command.program())) {
        return None;
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let pair = |first: &str, second: &[&str]| {
        words.windows(2).any(|pair| pair[0] == first && second.contains(&pair[1]))
    };
    if pair("drop", &["table", "database", "schema", "view", "index", "user", "role", "column"]) {
        return Warning::ruins("drops part of a database");
    }
    if words.contains(&"truncate") {
        return Warning::ruins("empties a table");
    }
    let unbounded = lower
        .split(';')
        .any(|statement| statement.contains("delete from") && !statement.contains("where"));
    if unbounded { Warning::ruins("deletes every row of a table") } else { None }
}
