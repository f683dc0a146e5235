//! Utilities that read text and print it changed.

use super::files::no_response_file;
use crate::shell::options::Parsed;
use crate::shell::refusal::Refusal;
use crate::shell::utility::{ANY, Operands, Utility};
use crate::shell::word::refuse;

pub(super) const TABLE: &[Utility] = &[
    Utility::new("cat")
        .short("AbeEnstTuv")
        .long(&[
            "show-all",
            "number-nonblank",
            "show-ends",
            "number",
            "squeeze-blank",
            "show-tabs",
            "show-nonprinting",
        ])
        .any_option_harmless(),
    Utility::new("head")
        .short("c:n:qvz")
        .numbers()
        .long(&["bytes=", "lines=", "quiet", "silent", "verbose", "zero-terminated"])
        .any_option_harmless(),
    // Not `-f` and its kin: a read must end.
    Utility::new("tail")
        .short("c:n:qvzr")
        .numbers()
        .long(&["bytes=", "lines=", "quiet", "silent", "verbose", "zero-terminated"])
        .any_option_harmless(),
    Utility::new("wc")
        .short("clLmw")
        .long(&["bytes", "chars", "lines", "words", "max-line-length", "files0-from=<", "total="])
        .any_option_harmless(),
    Utility::new("nl")
        .short("b:d:f:h:i:l:n:ps:v:w:")
        .long(&words!(
            "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= \
            number-format= no-renumber number-separator= starting-line-number= number-width="
        ))
        .any_option_harmless(),
    Utility::new("tac")
        .short("brs:")
        .long(&["before", "regex", "separator="])
        .any_option_harmless(),
    Utility::new("rev").any_option_harmless(),
    // Not `-o`, `-T` and `--compress-program`; not `--files0-from`, which prints files that are named elsewhere.
    Utility::new("sort").short("bdfgiMhnRrVcCk:mS:st:uz").long(&words!(
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort \
        human-numeric-sort numeric-sort random-sort random-source=< reverse sort= version-sort batch-size= check[=] \
        debug key= merge buffer-size= stable field-separator= parallel= unique zero-terminated"
    )),
    // A second operand would be written.
    Utility::new("uniq")
        .short("cdDf:is:uw:z")
        .long(&words!(
            "count repeated all-repeated[=] skip-fields= group[=] ignore-case skip-chars= unique zero-terminated \
            check-chars="
        ))
        .operands(Operands::Paths(1)),
    Utility::new("cut")
        .short("b:c:d:f:nsz")
        .long(&[
            "bytes=",
            "characters=",
            "delimiter=",
            "fields=",
            "complement",
            "only-delimited",
            "output-delimiter=",
            "zero-terminated",
        ])
        .any_option_harmless(),
    Utility::new("paste")
        .short("d:sz")
        .long(&["delimiters=", "serial", "zero-terminated"])
        .any_option_harmless(),
    Utility::new("join")
        .short("a:e:i1:2:j:o:t:v:z")
        .long(&["ignore-case", "check-order", "nocheck-order", "header", "zero-terminated"])
        .operands(Operands::Paths(2)),
    Utility::new("comm")
        .short("123iz")
        .long(&["check-order", "nocheck-order", "output-delimiter=", "total", "zero-terminated"])
        .operands(Operands::Paths(2)),
    Utility::new("tr")
        .short("cCdst")
        .long(&["complement", "delete", "squeeze-repeats", "truncate-set1"])
        .operands(Operands::Words(2))
        .any_option_harmless(),
    Utility::new("fold")
        .short("bsw:")
        .numbers()
        .long(&["bytes", "spaces", "width="])
        .any_option_harmless(),
    Utility::new("pr")
        .short("acdD:e::Ffh:i::Jl:mn::N:o:rs::S::tTvw:W:")
        .numbers()
        .long(&words!(
            "pages= columns= across show-control-chars double-space date-format= expand-tabs[=] form-feed header= \
            output-tabs[=] join-lines length= merge number-lines[=] first-line-number= indent= no-file-warnings \
            separator[=] sep-string[=] omit-header omit-pagination show-nonprinting width= page-width="
        ))
        .any_option_harmless(),
    Utility::new("expand").short("it:").numbers().long(&["initial", "tabs="]).any_option_harmless(),
    Utility::new("unexpand")
        .short("at:")
        .long(&["all", "first-only", "tabs="])
        .any_option_harmless(),
    Utility::new("fmt")
        .short("cp:stuw:g:")
        .numbers()
        .long(&[
            "crown-margin",
            "prefix=",
            "split-only",
            "tagged-paragraph",
            "uniform-spacing",
            "width=",
            "goal=",
        ])
        .any_option_harmless(),
    Utility::new("column").short("tLxeJds:o:c:N:H:O:R:T:W:E:l:r:p:i:").long(&words!(
        "table separator= output-separator= output-width= fillrows json table-name= table-columns= table-noheadings \
        table-hide= table-right= table-truncate= table-wrap= table-order= keep-empty-lines tree= tree-id= \
        tree-parent="
    )),
    Utility::new("od")
        .short("A:j:N:S:t:vw::abcdfhilosx")
        .long(&[
            "address-radix=",
            "skip-bytes=",
            "read-bytes=",
            "strings[=]",
            "format=",
            "output-duplicates",
            "width[=]",
            "endian=",
        ])
        .any_option_harmless(),
    Utility::new("hexdump").short("bcCde:f<n:os:vx").any_option_harmless(),
    Utility::new("hd").short("bcCde:f<n:os:vx").any_option_harmless(),
    Utility::new("strings")
        .short("awfn:t:oe:s:d")
        .numbers()
        .long(&[
            "all",
            "data",
            "bytes=",
            "radix=",
            "encoding=",
            "print-file-name",
            "include-all-whitespace",
            "output-separator=",
        ])
        .condition(no_response_file),
    // Its `--output` is a format, not a file.
    Utility::new("tokei")
        .short("c:Ce:fi<l:n:o:r:s:t:vV")
        .long(&words!(
            "columns= compact exclude= files hidden input=< languages no-ignore no-ignore-dot no-ignore-parent \
            no-ignore-vcs num-format= output= rsort= sort= streaming= types= verbose"
        ))
        .names_only(),
    // Not `-o` and `--format-multi`, which write.
    Utility::new("scc")
        .short("cdf:i:n:s:wzl")
        .long(&words!(
            "by-file ci exclude-dir= exclude-ext= format= include-ext= languages no-cocomo no-complexity no-duplicates \
            no-gen no-min not-match= sort= wide"
        ))
        .names_only()
        .condition(no_response_file),
    // A second operand of a decoder on other systems is read as well; `-o` is not on the list.
    Utility::new("base64")
        .short("dDiw:")
        .long(&["decode", "ignore-garbage", "wrap="])
        .operands(Operands::Paths(1)),
    Utility::new("base32")
        .short("diw:")
        .long(&["decode", "ignore-garbage", "wrap="])
        .operands(Operands::Paths(1)),
    Utility::new("tsort").operands(Operands::Paths(1)),
    // Not `-o`.
    Utility::new("shuf").short("ei:n:rz").long(&[
        "echo",
        "input-range=",
        "head-count=",
        "random-source=<",
        "repeat",
        "zero-terminated",
    ]),
    Utility::new("iconv").short("f:t:lcs").long(&["from-code=", "to-code=", "list", "silent"]),
    Utility::new("numfmt")
        .short("d:z")
        .long(&words!(
            "debug delimiter= field= format= from= from-unit= grouping header[=] invalid= padding= round= suffix= to= \
            to-unit= zero-terminated"
        ))
        .operands(Operands::Words(ANY)),
    Utility::new("seq")
        .short("f:s:w")
        .numbers()
        .long(&["format=", "separator=", "equal-width"])
        .operands(Operands::Words(3)),
    // Its language has no files and no commands.
    Utility::new("bc").short("lqsw").long(&["mathlib", "quiet", "standard", "warn"]),
    Utility::new("factor").operands(Operands::Words(ANY)),
    Utility::new("sleep").operands(Operands::Words(1)).condition(short_sleep),
];

/// Longest wait that is taken for part of a read, in seconds.
const SLEEP_SECONDS_MAX: u64 = 60;

fn short_sleep(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    let Some(word) = parsed.operands.first() else { return Ok(()) };
    match word.text.parse::<f64>() {
        Ok(seconds) if (0.0..=SLEEP_SECONDS_MAX as f64).contains(&seconds) => Ok(()),
        _ => refuse(word, format!("a wait must be at most {SLEEP_SECONDS_MAX} seconds")),
    }
}
