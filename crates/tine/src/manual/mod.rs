//! The manual: one page, made from the command line's types and a few sections of text.

pub(crate) mod examples;
mod json;
#[cfg(test)]
mod reference;
mod sections;
mod settings;
mod trust;
mod worktrees;

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use self::sections::{SECTIONS, Section};
use crate::fail::EXIT_CODES;

/// The page in roff, for `man -l -`.
pub(crate) fn page(command: Command) -> io::Result<String> {
    let mut page = Vec::new();
    let man = Man::new(command.clone().subcommand_value_name("command")).manual("tine");
    man.render_title(&mut page)?;
    // Names and JSON are copied from here: no word may be divided.
    page.extend_from_slice(b".nh\n.ad l\n");
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    heading("SH", "COMMANDS").to_writer(&mut page)?;
    for sub in command.get_subcommands() {
        render_command(&mut page, "tine", sub)?;
    }
    for section in SECTIONS {
        render_section(section).to_writer(&mut page)?;
    }
    exit_status().to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}

/// How the lines of a help begin that stay as they are.
const EXAMPLES: &str = "Examples:\n";

/// A command and those below it, each under its whole name.
fn render_command(page: &mut Vec<u8>, above: &str, command: &Command) -> io::Result<()> {
    let name = format!("{above} {}", command.get_name());
    if !command.is_subcommand_required_set() {
        render_leaf(page, &name, command)?;
    }
    let mut shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.try_for_each(|sub| render_command(page, &name, sub))
}

/// What a command itself does.
fn render_leaf(page: &mut Vec<u8>, name: &str, command: &Command) -> io::Result<()> {
    let usage = command.clone().bin_name(name).disable_help_flag(true);
    heading("SS", name).to_writer(page)?;
    let man = Man::new(usage.clone());
    let mut parts = Vec::new();
    man.render_description_section(&mut parts)?;
    parts.extend_from_slice(b".PP\n");
    man.render_synopsis_section(&mut parts)?;
    man.render_options_section(&mut parts)?;
    // Below a command, its parts need no headings of their own.
    let parts = String::from_utf8(parts).map_err(io::Error::other)?;
    for line in parts.lines().filter(|line| !line.starts_with(".SH ")) {
        page.extend_from_slice(line.as_bytes());
        page.push(b'\n');
    }
    if let Some(help) = usage.get_after_help() {
        let help = help.to_string();
        let examples = help.find(EXAMPLES).unwrap_or(help.len());
        let (prose, examples) = help.split_at(examples);
        paragraphs(prose).to_writer(page)?;
        verbatim(examples).to_writer(page)?;
    }
    Ok(())
}

fn render_section(section: &Section) -> Roff {
    let mut roff = heading("SH", section.heading);
    if !section.text.is_empty() {
        roff.text([roman(section.text)]);
    }
    for (term, meaning) in section.terms {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
    roff
}

fn exit_status() -> Roff {
    let mut roff = heading("SH", "EXIT STATUS");
    for code in EXIT_CODES {
        roff.control("TP", []);
        roff.text([bold(code.code.to_string())]);
        roff.text([roman(code.meaning.replace('`', ""))]);
    }
    roff
}

fn heading(level: &str, words: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control(level, [words]);
    roff
}

/// Text of which each line is a paragraph.
fn paragraphs(text: &str) -> Roff {
    let mut roff = Roff::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        roff.control("PP", []);
        roff.text([roman(line)]);
    }
    roff
}

/// Text whose lines stay as they are.
fn verbatim(text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("PP", []);
    roff.control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn every_command_and_every_section_is_on_the_page() {
        let page = page(command()).unwrap();
        let tine = command();
        for sub in tine.get_subcommands() {
            assert!(page.contains(&format!(".SS \"tine {}", sub.get_name())), "{}", sub.get_name());
        }
        for section in SECTIONS {
            assert!(page.contains(section.heading), "{}", section.heading);
        }
    }

    #[test]
    fn every_variable_that_a_confined_command_gets_is_on_the_page() {
        let page = page(command()).unwrap().replace('\\', "");
        for name in tine_tools::PASSED_VARIABLES.iter().chain(&tine_tools::CERTIFICATE_VARIABLES) {
            assert!(page.contains(name), "{name}");
        }
    }

    #[test]
    fn every_page_of_help_stands_in_80_columns() {
        use unicode_width::UnicodeWidthStr as _;

        fn check(command: &Command) {
            let mut page = command.clone().term_width(80);
            for help in [page.render_help().to_string(), page.render_long_help().to_string()] {
                for line in help.lines() {
                    assert!(line.width() <= 80, "{}: {line}", command.get_name());
                }
                // Lines that are wrapped by hand are wrapped once more, elsewhere.
                let prose = help.rsplit("Options:").next().unwrap_or_default();
                let prose = prose.split(EXAMPLES).next().unwrap_or_default();
                let long = |line: &&str| line.starts_with(char::is_alphabetic) && line.width() > 40;
                let lines: Vec<&str> = prose.lines().skip_while(|line| !long(line)).collect();
                for two in lines.windows(2).filter(|two| long(&two[0]) && !two[1].is_empty()) {
                    let next = two[1].split(' ').next().unwrap_or_default();
                    let room = two[0].width() + 1 + next.width();
                    assert!(room > 80, "{}: {two:?}", command.get_name());
                }
            }
            command.get_subcommands().for_each(check);
        }
        let mut tine = command();
        tine.build();
        check(&tine);
    }

    #[test]
    fn every_command_has_examples() {
        fn check(command: &Command) {
            if command.has_subcommands() {
                let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
                return shown.for_each(check);
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  "), "{}", command.get_name());
        }
        check(&command());
    }
}
