//! Subcommands that list files, refs, objects and settings.

use super::no_signatures;
use crate::shell::options::Parsed;
use crate::shell::refusal::Refusal;
use crate::shell::utility::{ANY, Operands, Utility};
use crate::shell::word::refuse;

/// `git worktree list`.
pub(super) const WORKTREE_LIST: Utility =
    Utility::new("list").short("vz").long(&["porcelain", "verbose"]).operands(Operands::Words(0));

/// Words and no options.
pub(super) const WORDS: Utility = Utility::new("words").operands(Operands::Words(ANY));

const REF_LIST: &[&str] = &words!(
    "all remotes list verbose show-current contains no-contains merged no-merged points-at sort= format= \
    column[=] no-column color[=] no-color ignore-case abbrev[=] no-abbrev omit-empty"
);

pub(super) const TABLE: &[Utility] = &[
    Utility::new("status")
        .short("sbvzu::")
        .long(&words!(
            "short branch show-stash porcelain[=] long verbose untracked-files[=] ignore-submodules[=] ignored[=] \
            column[=] no-column ahead-behind no-ahead-behind renames no-renames find-renames[=]"
        ))
        .names_only(),
    // Any operand would make a branch, unless another word makes it a list.
    Utility::new("branch")
        .short("arvi")
        .long(REF_LIST)
        .operands(Operands::Words(ANY))
        .condition(branch_lists),
    Utility::new("tag")
        .short("ln::i")
        .long(REF_LIST)
        .operands(Operands::Words(ANY))
        .condition(tag_lists),
    // Not `show` without `-n`, `update` and the rest, which talk to the remote or write.
    Utility::new("remote")
        .short("vn")
        .long(&["verbose", "all", "push"])
        .operands(Operands::Words(3))
        .condition(remote_reads),
    Utility::new("config")
        .short("lz")
        .long(&words!(
            "get get-all get-regexp get-urlmatch list global system local worktree show-origin show-scope name-only null \
            type= bool int bool-or-int path expiry-date includes no-includes default= all"
        ))
        .operands(Operands::Words(2))
        .condition(config_reads),
    Utility::new("ls-files")
        .short("cdfikmostuvx:X<z")
        .long(&words!(
            "cached deleted others ignored stage unmerged killed modified directory no-empty-directory eol exclude= \
            exclude-from=< exclude-per-directory= exclude-standard error-unmatch full-name recurse-submodules abbrev[=] \
            format= deduplicate with-tree= sparse debug resolve-undo"
        ))
        .names_only(),
    Utility::new("ls-tree")
        .short("drtlz")
        .long(&[
            "long",
            "name-only",
            "name-status",
            "object-only",
            "full-name",
            "full-tree",
            "abbrev[=]",
            "format=",
        ])
        .names_only(),
    Utility::new("rev-parse").short("q").long(&words!(
        "abbrev-ref[=] short[=] show-toplevel show-cdup show-prefix git-dir absolute-git-dir git-common-dir \
        is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository verify quiet symbolic \
        symbolic-full-name all branches[=] tags[=] remotes[=] glob= exclude= show-superproject-working-tree git-path \
        since= after= until= before= revs-only no-revs flags no-flags show-object-format[=] path-format= not sq \
        disambiguate= default="
    )),
    // Not `--textconv`, `--filters` and `--batch`.
    Utility::new("cat-file").short("tspe").long(&["mailmap", "use-mailmap"]),
    // Not `-O`, which opens a pager.
    Utility::new("grep")
        .short("iIwvhHEGPFnlLzcoqpWA:B:C:e:f<m:ar")
        .numbers()
        .long(&words!(
            "cached untracked no-index no-exclude-standard exclude-standard recurse-submodules text ignore-case \
            max-depth= recursive no-recursive word-regexp invert-match full-name extended-regexp basic-regexp \
            perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null \
            only-matching count color[=] no-color break heading show-function context= after-context= before-context= \
            function-context max-count= threads= and or not all-match quiet no-textconv"
        ))
        .operands(Operands::PatternThenPaths)
        .takes_dashes(&["e"]),
    Utility::new("merge-base").short("a").long(&[
        "all",
        "is-ancestor",
        "fork-point",
        "octopus",
        "independent",
    ]),
    Utility::new("name-rev").long(&[
        "tags",
        "refs=",
        "exclude=",
        "name-only",
        "always",
        "all",
        "no-undefined",
    ]),
    Utility::new("for-each-ref")
        .long(&words!(
            "format= sort= count= points-at= merged[=] no-merged[=] contains[=] no-contains[=] ignore-case omit-empty \
            color[=] exclude="
        ))
        .operands(Operands::Words(ANY))
        .condition(no_signatures),
    Utility::new("show-ref")
        .short("sdq")
        .long(&words!(
            "heads branches tags head hash[=] abbrev[=] verify dereference quiet exists"
        ))
        .operands(Operands::Words(ANY)),
    // A second operand would set it.
    Utility::new("symbolic-ref")
        .short("q")
        .long(&["short", "quiet", "no-recurse"])
        .operands(Operands::Words(1)),
    Utility::new("count-objects")
        .short("vH")
        .long(&["verbose", "human-readable"])
        .operands(Operands::Words(0)),
    Utility::new("check-ignore")
        .short("qvnz")
        .long(&["quiet", "verbose", "non-matching", "no-index"])
        .names_only(),
    Utility::new("check-attr").short("az").long(&["all", "cached", "source="]).names_only(),
    Utility::new("var").short("l").operands(Operands::Words(1)),
];

/// Options that make `branch` and `tag` list, whatever follows.
const LISTING: [&str; 6] = ["list", "contains", "no-contains", "merged", "no-merged", "points-at"];

fn branch_lists(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    ref_lists(parsed, &LISTING)
}

fn tag_lists(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    ref_lists(parsed, &["l", "list", "contains", "no-contains", "merged", "no-merged", "points-at"])
}

fn ref_lists(parsed: &Parsed<'_>, listing: &[&str]) -> Result<(), Refusal> {
    no_signatures(parsed)?;
    match parsed.operands.first() {
        Some(word) if !parsed.has(listing) => {
            refuse(word, "without `--list` this would make a new one")
        }
        _ => Ok(()),
    }
}

fn remote_reads(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    let operands: Vec<&str> = parsed.operands.iter().map(|word| word.text.as_str()).collect();
    match (operands.as_slice(), parsed.operands.first()) {
        ([], _) | (["get-url", _], _) => Ok(()),
        (["show"], _) => Ok(()),
        (["show", _], _) if parsed.has(&["n"]) => Ok(()),
        (["show", _], Some(word)) => {
            Err(Refusal::new(word.at, "show", "without `-n` it talks to the remote"))
        }
        (_, Some(word)) => refuse(word, "not a reading part of `git remote`"),
        (_, None) => Ok(()),
    }
}

fn config_reads(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    let operands: Vec<&str> = parsed.operands.iter().map(|word| word.text.as_str()).collect();
    let reads = parsed.has(&["get", "get-all", "get-regexp", "get-urlmatch"]);
    let lists = parsed.has(&["l", "list"]);
    let fine = match operands.as_slice() {
        [] | ["list"] => true,
        ["get", key] | [key] => reads || key.contains('.'),
        [_, _] => reads && !lists,
        _ => false,
    };
    match parsed.operands.first() {
        Some(word) if !fine => refuse(word, "this would change the configuration"),
        _ => Ok(()),
    }
}
