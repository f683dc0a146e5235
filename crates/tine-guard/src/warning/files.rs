//! Programs that delete or overwrite files, and those that edit them in place.

use super::Warning;
use crate::shell::NAMES;

/// Devices that are no disk.
const HARMLESS_DEVICES: [&str; 9] = words!(
    "/dev/null /dev/zero /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/full /dev/fd/1 /dev/fd/2"
);

fn is_device(path: &str) -> bool {
    path.starts_with("/dev/")
        && !HARMLESS_DEVICES.contains(&path)
        && !path.starts_with("/dev/tcp/")
        && !path.starts_with("/dev/shm/")
}

/// Output that goes to a disk itself.
pub(super) fn outputs(outputs: &[String]) -> Option<Warning> {
    let device = outputs.iter().find(|target| is_device(target));
    device.and_then(|_| Warning::ruins("writes over a device"))
}

/// The warning for a program and its arguments.
pub(super) fn warning(name: &str, arguments: &[String]) -> Option<Warning> {
    deletes(name, arguments).or_else(|| edits_in_place(name, arguments))
}

fn cluster(arguments: &[String], letters: &[char]) -> bool {
    arguments.iter().take_while(|word| *word != "--").any(|word| {
        word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letters))
    })
}

fn has(arguments: &[String], options: &[&str]) -> bool {
    arguments.iter().any(|word| options.iter().any(|option| word == option))
}

/// Whether an operand is a whole system or home.
fn names_everything(arguments: &[String]) -> bool {
    // Names of files stand for the mark: `/*`.
    let below = |word: &str| word.strip_suffix(NAMES).is_some_and(|path| path.ends_with('/'));
    arguments.iter().any(|word| {
        let path = word.trim_end_matches(NAMES);
        matches!(path, "/" | "~" | "~/" | "/home" | "/etc" | "/usr" | "/var")
            && (path == word || below(word))
    })
}

fn deletes(name: &str, arguments: &[String]) -> Option<Warning> {
    let recursive = cluster(arguments, &['r', 'R']) || has(arguments, &["--recursive"]);
    let forced = cluster(arguments, &['f']) || has(arguments, &["--force"]);
    match name {
        "rm" if recursive && names_everything(arguments) => {
            Warning::ruins("deletes everything below a whole system or home")
        }
        "rm" if recursive && forced => {
            Warning::loses("deletes folders with all that is in them, without asking")
        }
        "rm" if recursive => Warning::loses("deletes folders with all that is in them"),
        "rm" if forced => Warning::loses("deletes files without asking"),
        "rm" | "unlink" => Warning::changes("deletes files"),
        "shred" | "srm" | "wipe" => {
            Warning::loses("overwrites files so that they cannot be restored")
        }
        "find" if has(arguments, &["-delete"]) => {
            Warning::loses("deletes every file that it finds")
        }
        "find" => {
            let at =
                arguments.iter().position(|word| matches!(word.as_str(), "-exec" | "-execdir"))?;
            let run = arguments.get(at + 1)?;
            matches!(run.rsplit('/').next(), Some("rm" | "shred" | "unlink"))
                .then(|| Warning::loses("deletes every file that it finds"))?
        }
        "truncate" => Warning::loses("cuts files off"),
        "dd" => {
            let target = arguments.iter().find_map(|word| word.strip_prefix("of="))?;
            if is_device(target) {
                Warning::ruins("writes over a device")
            } else {
                Warning::loses("overwrites the file after `of=`")
            }
        }
        "mv" if arguments.last().is_some_and(|last| last == "/dev/null") => {
            Warning::loses("moves a file to where it is lost")
        }
        "chmod" if recursive => Warning::changes("changes the modes of a whole folder"),
        "chown" | "chgrp" if recursive => Warning::changes("changes the owner of a whole folder"),
        "rsync" if arguments.iter().any(|word| word.starts_with("--delete")) => {
            Warning::loses("deletes what the source does not have")
        }
        "fdisk" | "sfdisk" | "gdisk" | "parted" if has(arguments, &["-l", "--list", "print"]) => {
            None
        }
        "fdisk" | "sfdisk" | "gdisk" | "parted" | "wipefs" | "mkswap" | "blkdiscard" | "hdparm" => {
            Warning::ruins("changes the layout of a disk")
        }
        _ if name == "mkfs" || name.starts_with("mkfs.") => {
            Warning::ruins("makes a new file system over what is there")
        }
        "tee" if arguments.iter().any(|word| is_device(word)) => {
            Warning::ruins("writes over a device")
        }
        _ => None,
    }
}

fn edits_in_place(name: &str, arguments: &[String]) -> Option<Warning> {
    let edits = Warning::changes("edits files in place");
    let in_place = |name: &str| {
        arguments.iter().take_while(|word| *word != "--").any(|word| {
            let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            // Letters before `i` must take no value of their own.
            let before = match name {
                "sed" => "nrEsuz",
                _ => "pnlw0a",
            };
            cluster.is_some_and(|rest| {
                rest.trim_start_matches(|c| before.contains(c)).starts_with('i')
            })
        })
    };
    match name {
        "sed" | "gsed"
            if in_place("sed") || arguments.iter().any(|word| word.starts_with("--in-place")) =>
        {
            edits
        }
        "perl" | "ruby" if in_place(name) => edits,
        "gawk" | "awk" if has(arguments, &["inplace"]) => edits,
        "ex" | "ed" => edits,
        "sort" => {
            let output =
                arguments.iter().any(|word| word.starts_with("--output") || word.starts_with("-o"));
            if output { Warning::changes("writes its result over a file") } else { None }
        }
        "sponge" => Warning::changes("writes its result over a file"),
        "tee" if cluster(arguments, &['a']) || has(arguments, &["--append"]) => None,
        "tee" if arguments.iter().any(|word| !word.starts_with('-') && word != "/dev/null") => {
            Warning::changes("writes its result over a file")
        }
        _ => None,
    }
}
