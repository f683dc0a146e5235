//! Utilities about files as such: names, sizes, times, sums.

use crate::shell::options::Parsed;
use crate::shell::refusal::Refusal;
use crate::shell::utility::{ANY, Operands, Utility};
use crate::shell::word::refuse;

const SUM_LONG: &[&str] = &words!(
    "binary check tag text zero ignore-missing quiet status strict warn length= algorithm= untagged raw base64 \
    debug"
);

const fn sum(name: &'static str) -> Utility {
    Utility::new(name).short("bctwz").long(SUM_LONG).any_option_harmless()
}

const fn ls(name: &'static str) -> Utility {
    Utility::new(name)
        .short("aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1")
        .long(&words!(
            "all almost-all author escape block-size= ignore-backups color[=] directory dired classify[=] file-type \
            format= full-time group-directories-first no-group human-readable si dereference-command-line \
            dereference-command-line-symlink-to-dir hide= hyperlink[=] indicator-style= inode ignore= kibibytes \
            dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse \
            recursive size sort= time= time-style= tabsize= width= context zero"
        ))
        .names_only()
        .any_option_harmless()
}

/// `eza` and `exa`, which it took over: they look into repositories by a library, which runs nothing.
const fn eza(name: &'static str) -> Utility {
    Utility::new(name)
        .short("1lGxRTFXaAdL:rs:I:DfbBghHimMnSt:uUZow:@")
        .long(&words!(
            "oneline long grid across recurse tree dereference classify[=] color[=] colour[=] color-scale[=] icons[=] \
            no-quotes hyperlink absolute[=] width= all almost-all list-dirs level= reverse sort= group-directories-first \
            only-dirs only-files git-ignore ignore-glob= binary bytes group header links inode modified mounts numeric \
            blocksize time= accessed changed created time-style= total-size no-permissions no-filesize no-user no-time \
            octal-permissions git no-git extended context"
        ))
        .names_only()
}

pub(super) const TABLE: &[Utility] = &[
    ls("ls"),
    ls("dir"),
    ls("vdir"),
    eza("eza"),
    eza("exa"),
    Utility::new("stat")
        .short("Lfc:tx")
        .long(&["dereference", "file-system", "cached=", "format=", "printf=", "terse"])
        .names_only()
        .any_option_harmless(),
    Utility::new("du")
        .short("0abB:cDd:hHkLlmPsSt:xX<A")
        .long(&words!(
            "null all apparent-size block-size= bytes total dereference-args max-depth= files0-from=< human-readable \
            inodes dereference count-links no-dereference separate-dirs si summarize threshold= time[=] time-style= \
            exclude-from=< exclude= one-file-system"
        ))
        .names_only()
        .any_option_harmless(),
    // Not `-o` and `-R`, which write; tree reads values from the next word, so nothing is attached.
    Utility::new("tree")
        .short("adfilxL:P:I:pusghDFrtcvUnCASNQqJX")
        .long(&words!(
            "noreport dirsfirst filesfirst prune du si gitignore ignore-case matchdirs inodes device sort[=] charset[=] \
            filelimit[=] timefmt[=]"
        ))
        .values_apart()
        .names_only(),
    // Not `-C`, which compiles, `-z`, which runs decompressors, `-p`, which sets times, `-m` and `-s`.
    Utility::new("file")
        .short("bhiIkLNnrF:0f<E")
        .long(&words!(
            "brief mime mime-type mime-encoding dereference no-dereference no-pad raw separator= keep-going extension \
            print0 files-from=< no-buffer"
        ))
        .names_only(),
    Utility::new("basename")
        .short("as:z")
        .long(&["multiple", "suffix=", "zero"])
        .operands(Operands::Words(ANY))
        .any_option_harmless(),
    Utility::new("dirname")
        .short("z")
        .long(&["zero"])
        .operands(Operands::Words(ANY))
        .any_option_harmless(),
    Utility::new("realpath")
        .short("EeLmPqsz")
        .long(&words!(
            "canonicalize canonicalize-existing canonicalize-missing logical physical quiet relative-to=< relative-base=< \
            strip no-symlinks zero"
        ))
        .names_only()
        .any_option_harmless(),
    Utility::new("readlink")
        .short("femnqsvz")
        .long(&[
            "canonicalize",
            "canonicalize-existing",
            "canonicalize-missing",
            "no-newline",
            "quiet",
            "silent",
            "verbose",
            "zero",
        ])
        .names_only()
        .any_option_harmless(),
    Utility::new("pwd").short("LP").long(&["logical", "physical"]).operands(Operands::Words(0)),
    Utility::new("namei")
        .short("lmxov")
        .long(&["modes", "owners", "long", "nosymlinks", "mountpoints"])
        .names_only(),
    Utility::new("lsattr").short("RVadlpv").names_only(),
    Utility::new("getfacl")
        .short("aceEsRLPtpndv")
        .long(&words!(
            "access default omit-header all-effective no-effective skip-base recursive logical physical tabular \
            absolute-names numeric one-file-system"
        ))
        .names_only(),
    sum("md5sum"),
    sum("sha1sum"),
    sum("sha224sum"),
    sum("sha256sum"),
    sum("sha384sum"),
    sum("sha512sum"),
    sum("b2sum").short("bctwzl:"),
    sum("cksum").short("a:bctwzl:"),
    sum("sum").short("rs"),
    sum("shasum").short("a:bctUw0"),
    // `-s` is silent; a fourth operand and a third are offsets.
    Utility::new("cmp")
        .short("bi:ln:s")
        .long(&["print-bytes", "ignore-initial=", "verbose", "bytes=", "quiet", "silent"])
        .operands(Operands::Paths(4)),
    // Not `-l`, which runs another program.
    Utility::new("diff").short("aA:bBdeEiI:nNpPqrsS:tTuU:wW:x:X<yZcC:D:F:L:").numbers().long(&words!(
        "normal brief report-identical-files context[=] unified[=] ed rcs side-by-side width= left-column \
        suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= \
        suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case \
        no-ignore-file-name-case exclude= exclude-from=< starting-file= from-file=< to-file=< ignore-case \
        ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines \
        ignore-matching-lines= text strip-trailing-cr ifdef= minimal horizon-lines= speed-large-files color[=] \
        palette="
    )),
    // Not `--diff-program`.
    Utility::new("diff3")
        .short("aAeEmTxX3iL:")
        .long(&words!(
            "show-all ed show-overlap easy-only merge text strip-trailing-cr initial-tab label="
        ))
        .operands(Operands::Paths(3)),
    Utility::new("zipinfo").short("12smlvhtTz"),
    Utility::new("zcat"),
    Utility::new("bzcat"),
    Utility::new("xzcat"),
    Utility::new("nm")
        .short("aABCDgnprSuvP")
        .long(&[
            "demangle[=]",
            "dynamic",
            "extern-only",
            "defined-only",
            "undefined-only",
            "size-sort",
            "numeric-sort",
        ])
        .condition(no_response_file),
    Utility::new("objdump")
        .short("adDfhprRsStTxCM:j:w")
        .long(&["disassemble", "syms", "headers", "section=", "demangle[=]", "no-show-raw-insn"])
        .condition(no_response_file),
    Utility::new("size").short("ABdoxt").names_only().condition(no_response_file),
    Utility::new("readelf")
        .short("ahlSsrdVnWex:p:")
        .long(&words!(
            "all file-header segments sections symbols dynamic notes wide headers relocs"
        ))
        .condition(no_response_file),
];

/// The binutils take options from `@FILE`, and some of those load code.
pub(super) fn no_response_file(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    let values =
        parsed.options.iter().filter(|given| given.value.is_some_and(|v| v.starts_with('@')));
    let words = values.map(|given| given.word).chain(parsed.operands.iter().copied());
    match words.into_iter().find(|word| word.text.starts_with('@')) {
        Some(word) => refuse(word, "the file may hold options"),
        None => Ok(()),
    }
}
