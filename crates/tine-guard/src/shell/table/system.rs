//! Utilities about the machine, its users and its processes.

use crate::shell::environment::may_be_shown;
use crate::shell::options::Parsed;
use crate::shell::refusal::Refusal;
use crate::shell::utility::{ANY, Operands, Utility};
use crate::shell::word::refuse;

const fn word_utility(name: &'static str, words_max: usize) -> Utility {
    Utility::new(name).operands(Operands::Words(words_max))
}

/// Programs that show the machine: its processes, network, disks, services and users, and the limits of whoever asks. A command behind a
/// wall has processes, a network and limits of its own, so that they would answer wrongly, some of them with exit code 0.
pub(crate) const OF_THE_MACHINE: [&str; 28] = words!(
    "df dmesg findmnt hostnamectl ifconfig ip last lsblk lscpu lsmod lsof lspci lsusb mount netstat pgrep pidof \
    ps pstree ss systemctl timedatectl ulimit uptime users vmstat w who"
);

pub(super) const TABLE: &[Utility] = &[
    word_utility("true", ANY).any_option_harmless(),
    word_utility("false", ANY).any_option_harmless(),
    word_utility("whoami", 0),
    word_utility("logname", 0),
    word_utility("arch", 0),
    word_utility("tty", 0).short("s").long(&["silent", "quiet"]),
    word_utility("id", ANY)
        .short("agGnruzZ")
        .long(&["context", "group", "groups", "name", "real", "user", "zero"]),
    word_utility("groups", ANY),
    // An operand would set the name, and the other options tell of a network.
    word_utility("hostname", 0).short("s").long(&["short"]),
    word_utility("uname", 0).short("asnrvmpio").long(&words!(
        "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system"
    )),
    word_utility("nproc", 0).long(&["all", "ignore="]),
    // Not `-s`; an operand that is no format would set the clock.
    word_utility("date", 1)
        .short("d:r<RuI::")
        .long(&words!(
            "date= debug iso-8601[=] resolution rfc-email rfc-2822 rfc-3339= reference=< utc universal"
        ))
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
    word_utility("umask", 0).short("Sp"),
    word_utility("dpkg", ANY).short("lLsS").long(&[
        "list",
        "listfiles",
        "status",
        "search",
        "get-selections",
        "print-architecture",
    ]),
    word_utility("getconf", 2).short("a"),
    word_utility("locale", ANY).short("akmc").long(&[
        "all-locales",
        "charmaps",
        "category-name",
        "keyword-name",
    ]),
    // What it prints may reset a terminal, but not these.
    word_utility("tput", 1).condition(tput_asks),
    word_utility("getent", ANY).condition(getent_local),
];

fn date_format(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    match parsed.operands.first() {
        Some(word) if !word.text.starts_with('+') => {
            refuse(word, "`date` may only get a format that begins with `+`")
        }
        _ => Ok(()),
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
    if begins_with(parsed, &["cols", "lines", "colors"]) {
        Ok(())
    } else {
        refuse_first(parsed, "tput", "`tput` may only ask for cols, lines and colors")
    }
}

/// Names of machines would be looked up in the network.
fn getent_local(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    if begins_with(parsed, &["passwd", "group", "services", "protocols", "shells"]) {
        Ok(())
    } else {
        refuse_first(parsed, "getent", "not on the list of what `getent` may look up")
    }
}

fn named_variable(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    if let Some(word) = parsed.operands.iter().find(|word| !may_be_shown(&word.text)) {
        return refuse(word, "a variable that may hold a key");
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
