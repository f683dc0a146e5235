//! Utilities that search in files or for them, apart from `find`.

use crate::shell::utility::{ANY, Operands, Utility};

const GREP_LONG: &[&str] = &words!(
    "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file=< ignore-case no-ignore-case word-regexp \
    line-regexp null-data no-messages invert-match max-count= byte-offset line-number line-buffered \
    with-filename no-filename label= only-matching quiet silent binary-files= text directories= devices= \
    recursive dereference-recursive include= exclude= exclude-from=< exclude-dir= files-without-match \
    files-with-matches count initial-tab null before-context= after-context= context= group-separator= \
    no-group-separator color[=] colour[=] binary"
);

const fn grep(name: &'static str) -> Utility {
    Utility::new(name)
        .short("EFGPe:f<iywxzsvm:bnHhoqad:D:rRLlcTZUuA:B:C:I")
        .numbers()
        .long(GREP_LONG)
        .operands(Operands::PatternThenPaths)
        .any_option_harmless()
        .takes_dashes(&["e", "regexp"])
}

/// Not `-x`, `-X` and `-l`, which run programs.
const fn fd(name: &'static str) -> Utility {
    Utility::new(name)
        .short("HIusigFaLp0t:e:d:E:S:o:c:j:1q")
        .long(&words!(
            "hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted case-sensitive ignore-case glob regex \
            fixed-strings absolute-path follow full-path print0 max-depth= min-depth= exact-depth= exclude= prune type= \
            extension= size= changed-within= changed-before= owner= color= threads= max-results= quiet and= \
            one-file-system search-path=< path-separator="
        ))
        .operands(Operands::PatternThenPaths)
        .names_only()
}

pub(super) const TABLE: &[Utility] = &[
    grep("grep"),
    grep("egrep"),
    grep("fgrep"),
    // Not `--pre`, `--hostname-bin` and `-z`, which run programs.
    Utility::new("rg")
        .short("aA:bB:cC:d:e:E:f<Fg:hHiIj:lLm:M:nNopPqr:sSt:T:uUvVwx0.")
        .long(&words!(
            "after-context= auto-hybrid-regex before-context= binary block-buffered byte-offset case-sensitive color= \
            colors= column no-column context= context-separator= no-context-separator count count-matches crlf debug \
            dfa-size-limit= encoding= engine= field-context-separator= field-match-separator= file=< files \
            files-with-matches files-without-match fixed-strings follow glob= glob-case-insensitive heading no-heading \
            hidden no-hidden iglob= ignore-case ignore-file=< ignore-file-case-insensitive include-zero invert-match \
            json line-buffered line-number no-line-number line-regexp max-columns= max-columns-preview max-count= \
            max-depth= maxdepth= max-filesize= mmap no-mmap multiline multiline-dotall no-config no-ignore no-ignore-dot \
            no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs \
            no-messages no-require-git no-unicode null null-data one-file-system only-matching passthru path-separator= \
            pcre2 pcre2-version pretty quiet regex-size-limit= regexp= replace= smart-case sort= sort-files sortr= stats \
            stop-on-nonmatch text threads= trace trim type= type-add= type-clear= type-list type-not= unrestricted \
            vimgrep with-filename no-filename word-regexp"
        ))
        .operands(Operands::PatternThenPaths)
        .takes_dashes(&["e", "regexp"]),
    fd("fd"),
    fd("fdfind"),
    Utility::new("look")
        .short("adft:")
        .long(&["alternative", "alphanum", "ignore-case", "terminate="])
        .operands(Operands::PatternThenPaths),
    Utility::new("which").short("as").long(&["all"]).operands(Operands::Words(ANY)),
    Utility::new("whereis").short("bms").operands(Operands::Words(ANY)),
    Utility::new("type").short("afptP").operands(Operands::Words(ANY)),
];
