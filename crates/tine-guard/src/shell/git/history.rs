//! Subcommands that show commits and differences. They share most of their options.

use super::no_signatures;
use crate::shell::utility::Utility;

/// Letters of revision walks and differences. Not `-O`, which reads an order file, and no pager.
const SHORT: &str = "abBC::cDEFgG:iI:l:L:mM::n:pPqrRsS:tuU:vwWX::z";

/// Not `--output`, `--ext-diff`, `--textconv`, `--show-signature`, `--remerge-diff`.
const LONG: &[&str] = &words!(
    "oneline graph no-graph all branches[=] tags[=] remotes[=] glob= decorate[=] no-decorate clear-decorations \
    decorate-refs= decorate-refs-exclude= stat[=] shortstat numstat dirstat[=] summary compact-summary name-only \
    name-status patch no-patch patch-with-stat patch-with-raw raw abbrev-commit no-abbrev-commit abbrev[=] \
    no-abbrev pretty[=] format= since= after= until= before= author= committer= grep= grep-reflog= all-match \
    invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp basic-regexp merges no-merges \
    min-parents= max-parents= no-min-parents no-max-parents first-parent exclude-first-parent-only reverse \
    follow full-diff max-count= skip= date= relative-date date-order topo-order author-date-order parents \
    children left-right cherry-pick cherry-mark cherry left-only right-only boundary ancestry-path[=] \
    simplify-by-decoration full-history dense sparse simplify-merges show-pulls no-walk[=] do-walk walk-reflogs \
    log-size source not exclude= reflog merge ignore-missing color[=] no-color word-diff[=] word-diff-regex= \
    color-words[=] color-moved[=] no-color-moved color-moved-ws= no-renames find-renames[=] find-copies[=] \
    find-copies-harder break-rewrites[=] irreversible-delete diff-filter= ignore-space-change ignore-all-space \
    ignore-blank-lines ignore-space-at-eol ignore-cr-at-eol ignore-matching-lines= unified= minimal patience \
    histogram anchored= diff-algorithm= function-context full-index binary text exit-code quiet check no-prefix \
    default-prefix src-prefix= dst-prefix= line-prefix= relative[=] no-relative no-ext-diff no-textconv \
    ignore-submodules[=] submodule[=] inter-hunk-context= notes[=] no-notes mailmap no-mailmap use-mailmap \
    encoding= expand-tabs[=] no-expand-tabs pickaxe-all pickaxe-regex find-object= cc combined-all-paths \
    no-diff-merges dd indent-heuristic no-indent-heuristic rename-empty no-rename-empty rename-limit= cached \
    staged merge-base no-index count objects objects-edge disk-usage[=] timestamp header no-commit-header root \
    no-commit-id always numbered email group= creation-factor= no-dual-color base ours theirs skip-to= \
    rotate-to= no-stat ita-invisible-in-index include-untracked only-untracked show-linear-break[=]"
);

const fn walk(name: &'static str) -> Utility {
    Utility::new(name).short(SHORT).long(LONG).numbers().condition(no_signatures)
}

/// `git log`, also for `stash` and `reflog`.
pub(super) const LOG: Utility = walk("log");

pub(super) const TABLE: &[Utility] = &[
    LOG,
    walk("show"),
    walk("diff"),
    walk("whatchanged"),
    walk("rev-list"),
    walk("diff-tree"),
    walk("diff-index"),
    walk("diff-files"),
    walk("range-diff"),
    walk("shortlog").short("abcdeEFG:iL:nPqS:stw::"),
    Utility::new("cherry").short("v").long(&["abbrev[=]", "verbose"]),
    Utility::new("blame").short("bcC::efklL:M::nNpstw").long(BLAME),
    Utility::new("annotate").short("bcC::efklL:M::nNpstw").long(BLAME),
    Utility::new("describe").long(&words!(
        "all tags contains abbrev[=] candidates= exact-match debug long match= exclude= always first-parent dirty[=] \
        broken[=]"
    )),
];

const BLAME: &[&str] = &words!(
    "porcelain line-porcelain incremental date= show-name show-number show-email root show-stats abbrev= \
    ignore-rev= color-lines color-by-age since= score-debug first-parent reverse no-progress encoding= minimal"
);
