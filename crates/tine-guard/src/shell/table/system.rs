//! Utilities about the machine, its users and its processes.

use crate::shell::environment::may_be_shown;
use crate::shell::options::{Options, Parsed};
use crate::shell::refusal::Refusal;
use crate::shell::utility::{ANY, Operands, ReadPath, Utility};
use crate::shell::word::Word;

const fn word_utility(name: &'static str, words_max: usize) -> Utility {
    Utility::new(name).operands(Operands::Words(words_max))
}

pub(super) const TABLE: &[Utility] = &[
    word_utility("true", ANY).any_option_harmless(),
    word_utility("false", ANY).any_option_harmless(),
    word_utility("whoami", 0),
    word_utility("logname", 0),
    word_utility("users", 0),
    word_utility("arch", 0),
    word_utility("tty", 0).short("s").long(&["silent", "quiet"]),
    word_utility("id", ANY)
        .short("agGnruzZ")
        .long(&["context", "group", "groups", "name", "real", "user", "zero"]),
    word_utility("groups", ANY),
    // An operand would set the name.
    word_utility("hostname", 0).short("aAdfiIsy").long(&[
        "alias",
        "all-fqdns",
        "all-ip-addresses",
        "fqdn",
        "long",
        "ip-address",
        "short",
        "domain",
    ]),
    word_utility("uname", 0).short("asnrvmpio").long(&[
        "all",
        "kernel-name",
        "nodename",
        "kernel-release",
        "kernel-version",
        "machine",
        "processor",
        "hardware-platform",
        "operating-system",
    ]),
    word_utility("uptime", 0).short("ps").long(&["pretty", "since"]),
    word_utility("nproc", 0).long(&["all", "ignore="]),
    // Not `-s`; an operand that is no format would set the clock.
    word_utility("date", 1)
        .short("d:r<RuI::")
        .long(&[
            "date=",
            "debug",
            "iso-8601[=]",
            "resolution",
            "rfc-email",
            "rfc-2822",
            "rfc-3339=",
            "reference=<",
            "utc",
            "universal",
        ])
        .condition(date_format),
    word_utility("cal", 3)
        .short("13jmswyY")
        .long(&["one", "three", "sunday", "monday", "julian", "year", "week"]),
    // Every variable at once would show keys.
    word_utility("printenv", ANY).short("0").long(&["null"]).condition(named_variable),
    word_utility("free", 0).short("bkmghltwv").long(&[
        "bytes", "kibi", "mebi", "gibi", "kilo", "mega", "giga", "human", "si", "lohi", "total",
        "wide",
    ]),
    Utility::new("lsblk")
        .short("aAbdfilJmno:OpPrsStx:")
        .long(&[
            "all",
            "bytes",
            "nodeps",
            "fs",
            "ascii",
            "json",
            "list",
            "perms",
            "noheadings",
            "output=",
            "output-all",
            "paths",
            "pairs",
            "raw",
            "inverse",
            "scsi",
            "topology",
            "sort=",
        ])
        .names_only(),
    word_utility("lscpu", 0).short("abcBJxyC::e::p::").long(&[
        "all",
        "online",
        "offline",
        "bytes",
        "json",
        "hex",
        "physical",
        "caches[=]",
        "extended[=]",
        "parse[=]",
    ]),
    word_utility("ifconfig", 0).short("as"),
    word_utility("umask", 0).short("Sp"),
    word_utility("dpkg", ANY).short("lLsS").long(&[
        "list",
        "listfiles",
        "status",
        "search",
        "get-selections",
        "print-architecture",
    ]),
    word_utility("lsmod", 0),
    word_utility("lspci", 0).short("vkntmD"),
    word_utility("lsusb", 0).short("vt"),
    Utility::new("lsof").short("anPtlUwRbi::c:u:p:d:g:").names_only(),
    word_utility("getconf", 2).short("a"),
    word_utility("locale", ANY).short("akmc").long(&[
        "all-locales",
        "charmaps",
        "category-name",
        "keyword-name",
    ]),
    word_utility("who", 2)
        .short("abdHlmpqrstTuw")
        .long(&["all", "boot", "count", "heading", "users", "runlevel", "short", "message"]),
    word_utility("w", 1).short("hsfuio").long(&[
        "no-header",
        "short",
        "from",
        "ip-addr",
        "old-style",
    ]),
    word_utility("last", ANY).short("adFiwxRn:p:s:t:").numbers().long(&[
        "limit=",
        "since=",
        "until=",
        "fullnames",
    ]),
    word_utility("pgrep", ANY).short("lafxnocvd:u:U:P:g:G:s:t:wi").long(&[
        "list-name",
        "list-full",
        "full",
        "exact",
        "newest",
        "oldest",
        "count",
        "ignore-case",
        "parent=",
        "user=",
        "euid=",
        "delimiter=",
    ]),
    word_utility("pidof", ANY).short("sxq"),
    word_utility("pstree", 1).short("aAcghlnpsStTuU").numbers(),
    // Not `-K`, which closes connections, and `-F`, `-D`.
    word_utility("ss", ANY).short("tulnpaxwe46smoriH").long(&[
        "tcp",
        "udp",
        "listening",
        "numeric",
        "processes",
        "all",
        "unix",
        "summary",
        "ipv4",
        "ipv6",
        "no-header",
    ]),
    word_utility("netstat", 0).short("tulnpaxrsieg46W").long(&[
        "tcp",
        "udp",
        "listening",
        "numeric",
        "programs",
        "all",
        "route",
        "statistics",
        "interfaces",
        "wide",
    ]),
    word_utility("vmstat", 2).short("afmnsdDS:twVy").condition(vmstat_ends),
    // What it prints may reset a terminal, but not these.
    word_utility("tput", 1).condition(tput_asks),
    word_utility("getent", ANY).condition(getent_local),
    word_utility("hostnamectl", 0),
    word_utility("timedatectl", 0),
    word_utility("ulimit", 0).short("aHScdefilmnpqrstuvx"),
    // The first operand says what it does. Not `show` and `cat`, which print the variables that services get.
    word_utility("systemctl", ANY)
        .short("alqt:p:n:")
        .long(&[
            "all",
            "full",
            "quiet",
            "type=",
            "state=",
            "property=",
            "lines=",
            "no-pager",
            "no-legend",
            "plain",
            "failed",
            "user",
            "system",
            "value",
        ])
        .condition(systemctl_shows),
    word_utility("mount", 0).short("l"),
    Utility::new("findmnt")
        .short("AabDfilJno:OPrRt:T<u")
        .long(&[
            "all",
            "ascii",
            "df",
            "json",
            "list",
            "noheadings",
            "output=",
            "output-all",
            "pairs",
            "raw",
            "target=<",
            "types=",
        ])
        .names_only(),
    word_utility("dmesg", 0).short("TtxkuPLrS").long(&[
        "ctime",
        "notime",
        "decode",
        "kernel",
        "userspace",
        "nopager",
        "color[=]",
        "level=",
        "facility=",
    ]),
];

fn date_format(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    match parsed.operands.first() {
        Some(word) if !word.text.starts_with('+') => Err(Refusal::new(
            word.at,
            &word.text,
            "`date` may only get a format that begins with `+`",
        )),
        _ => Ok(()),
    }
}

/// Longest time that `vmstat` may look on, in seconds.
const LOOK_SECONDS_MAX: u64 = 60;

/// With a delay and no count it never ends.
fn vmstat_ends(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    let numbers: Vec<u64> =
        parsed.operands.iter().filter_map(|word| word.text.parse().ok()).collect();
    let ends = match numbers.as_slice() {
        [] => parsed.operands.is_empty(),
        [delay, count] => delay.saturating_mul(*count) <= LOOK_SECONDS_MAX,
        _ => false,
    };
    match ends {
        true => Ok(()),
        false => refuse_first(parsed, "vmstat", "without a small count it does not end soon"),
    }
}

fn refuse_first(parsed: &Parsed<'_>, name: &str, why: &str) -> Result<(), Refusal> {
    let first = parsed.operands.first();
    let (at, piece) = first.map_or((0, name), |word| (word.at, word.text.as_str()));
    Err(Refusal::new(at, piece, why))
}

/// Whether the first operand is one of the words.
fn begins_with(parsed: &Parsed<'_>, words: &[&str]) -> bool {
    parsed.operands.first().is_some_and(|word| words.contains(&word.text.as_str()))
}

fn tput_asks(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    match begins_with(parsed, &["cols", "lines", "colors"]) {
        true => Ok(()),
        false => refuse_first(parsed, "tput", "`tput` may only ask for cols, lines and colors"),
    }
}

/// Names of machines would be looked up in the network.
fn getent_local(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    match begins_with(parsed, &["passwd", "group", "services", "protocols", "shells"]) {
        true => Ok(()),
        false => refuse_first(parsed, "getent", "not on the list of what `getent` may look up"),
    }
}

fn systemctl_shows(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    const SHOWS: [&str; 10] = [
        "status",
        "is-active",
        "is-enabled",
        "is-failed",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-sockets",
        "list-dependencies",
        "list-jobs",
    ];
    match parsed.operands.is_empty() || begins_with(parsed, &SHOWS) {
        true => Ok(()),
        false => refuse_first(parsed, "systemctl", "not a reading part of `systemctl`"),
    }
}

fn named_variable(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    if let Some(word) = parsed.operands.iter().find(|word| !may_be_shown(&word.text)) {
        return Err(Refusal::new(word.at, &word.text, "a variable that may hold a key"));
    }
    if parsed.operands.is_empty() && !parsed.has(&["help", "version"]) {
        return Err(Refusal::new(
            0,
            "printenv",
            "without a name it prints every variable, keys included",
        ));
    }
    Ok(())
}

/// `ps` in the spelling of System V, with dashes.
const PS: Options = Options {
    short: "AadefFHjlLMmNrTwyZC:G:g:o:O:p:q:s:t:u:U:k:",
    long: &[
        "sort=",
        "no-headers",
        "no-headings",
        "no-heading",
        "headers",
        "forest",
        "pid=",
        "ppid=",
        "quick-pid=",
        "user=",
        "User=",
        "group=",
        "Group=",
        "format=",
        "cols=",
        "columns=",
        "rows=",
        "lines=",
        "width=",
        "deselect",
        "sid=",
        "tty=",
    ],
    numbers: true,
    attached: true,
    any_harmless: false,
    takes_dashes: &[],
};

/// Its letters in the spelling of BSD; not `e`, which shows the variables of every process, keys included.
const PS_LETTERS: &str = "aAcfghHjklmnopqrStTuUvwxX";

/// `ps`: only its own mixture of spellings keeps it out of the table.
pub(super) fn ps(arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let parsed = PS.parse(arguments)?;
    let mut value_next = false;
    for word in &parsed.operands {
        let letters = word.text.chars().all(|c| PS_LETTERS.contains(c));
        let number = word.text.chars().all(|c| c.is_ascii_digit() || c == ',');
        // Names of columns; a single letter could be read as an option again.
        let columns = value_next && word.text.len() > 1 && !word.text.contains("environ");
        if !(letters || number || columns) || word.glob.is_some() {
            return Err(Refusal::new(word.at, &word.text, "not on the list of what `ps` may show"));
        }
        value_next = !value_next && word.text.ends_with(['o', 'O', 'k']);
    }
    for given in &parsed.options {
        // Where no user has the name, the letters behind `-u` are read as those of BSD.
        let attached = !given.word.text.starts_with("--") && given.word.text.len() > 2;
        let shows = given
            .value
            .is_some_and(|value| value.contains('e') && given.word.text.ends_with(value));
        let columns = given.value.is_some_and(|value| value.contains("environ"));
        if columns || matches!(given.name, "u" | "U") && attached && shows {
            let why = "it may show the variables of every process";
            return Err(Refusal::new(given.word.at, &given.word.text, why));
        }
    }
    Ok(Vec::new())
}
