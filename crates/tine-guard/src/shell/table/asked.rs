//! Why commands that look like reads are none: they run code of the project, or reach a network or a service.

use crate::shell::word::Word;

const MAKE: &str = "with `-n` too it runs what `$(shell …)` and `+` in the makefile say";
const NETWORK: &str = "it reaches a network, by programs that settings may name";
const PROJECT: &str = "it runs code of the project";
const SERVICE: &str = "it speaks to a service that may do anything on the machine";
const CLUSTER: &str = "it reaches a cluster, by programs that its settings may name";
const PROVIDERS: &str = "it runs the project's providers, which reach a network";

/// The first words of commands, and why each is asked about.
const ASKED: [(&[&str], &str); 28] = [
    (&["cargo", "build"], PROJECT),
    (&["cargo", "check"], PROJECT),
    (&["cargo", "clippy"], PROJECT),
    (&["cargo", "doc"], PROJECT),
    (&["cargo", "fmt"], PROJECT),
    (&["cargo", "test"], PROJECT),
    (&["docker", "images"], SERVICE),
    (&["docker", "inspect"], SERVICE),
    (&["docker", "logs"], SERVICE),
    (&["docker", "ps"], SERVICE),
    (&["gh"], NETWORK),
    (&["git", "fetch"], NETWORK),
    (&["git", "ls-remote"], NETWORK),
    (&["git", "pull"], NETWORK),
    (&["go", "build"], PROJECT),
    (&["go", "test"], PROJECT),
    (&["go", "vet"], PROJECT),
    (&["kubectl", "get"], CLUSTER),
    (&["kubectl", "logs"], CLUSTER),
    (&["make", "-n"], MAKE),
    (&["make"], PROJECT),
    (&["npm", "outdated"], NETWORK),
    (&["npm", "test"], PROJECT),
    (&["npm", "view"], NETWORK),
    (&["pytest"], PROJECT),
    (&["terraform", "plan"], PROVIDERS),
    (&["terraform", "show"], PROVIDERS),
    (&["terraform", "validate"], PROVIDERS),
];

/// Why the command is asked about, for one whose name does not say so.
pub(in crate::shell) fn why_asked(name: &str, arguments: &[Word]) -> Option<&'static str> {
    let begins = |words: &&[&str]| {
        let given = std::iter::once(name).chain(arguments.iter().map(|word| word.text.as_str()));
        words.len() <= 1 + arguments.len()
            && words.iter().zip(given).all(|(word, one)| *word == one)
    };
    ASKED.iter().find(|(words, _)| begins(words)).map(|(_, why)| *why)
}
