//! What the word under the cursor could become: commands, flags, agents, files. Offered while one writes, taken by one key.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};
use tine_model::AgentState;

use super::command::{COMMANDS, Takes, completions};
use super::{App, Effect, Files, called};
use crate::host::CommandWords;

/// Most offers that are kept; nobody looks through more.
pub(crate) const OFFERS_MAX: usize = 50;

/// Flags of `/fork`.
const FORK_FLAGS: [(&str, &str); 6] = [
    ("--worktree", "in a worktree of its own"),
    ("--bg", "in the background; you stay here"),
    ("--name", "what it is called"),
    ("--at", "inherit up to this entry only"),
    ("--model", "another model, for the price of the cache"),
    ("--accept-cache-loss", "send all of it to the other model anew"),
];

/// Commands that people use every day. They are offered before all others, in this order.
const EVERYDAY: [&str; 14] = [
    "help", "model", "resume", "new", "fork", "tree", "diff", "rewind", "compact", "clear", "mode",
    "cost", "stop", "quit",
];

/// Something that a word could become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// What would stand there.
    pub(crate) text: String,
    /// What it is.
    pub(crate) help: String,
}

/// The offers for the word under the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offers {
    /// The best ones, the best first.
    pub(crate) offers: Vec<Offer>,
    /// The number of all of them.
    pub(crate) total: usize,
    /// The place of the marked one.
    pub(crate) marked: usize,
    /// The kind of the word.
    of: Sort,
    /// Characters of the word, which it replaces.
    length: usize,
    /// Whether the person has chosen among them.
    is_chosen: bool,
}

/// A word that can be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// A command.
    Command,
    /// A file behind its sign.
    File,
    /// Something else.
    Other,
}

impl App {
    /// Finds the offers for what is written now, and the files for each word that begins to name one: they come and go.
    pub(super) fn offer(&mut self) -> Vec<Effect> {
        let word = self.find_offers();
        let is_old = self.files.of != self.focus || (word == "@" && self.files.paths.is_some());
        if word.starts_with('@') && (is_old || self.files.paths.is_none() && word == "@") {
            self.files = Files { of: self.focus, paths: None };
            vec![Effect::Files(self.focus)]
        } else {
            Vec::new()
        }
    }

    /// Finds the offers among what is known; the word under the cursor.
    pub(super) fn find_offers(&mut self) -> String {
        let (before, is_first_line) = self.input().before_cursor();
        let word_at = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = before[word_at..].to_owned();
        let is_command = before.trim_start() == word && word.starts_with('/');
        let (of, offers, total) = match word.strip_prefix('@') {
            Some(beginning) => {
                let (offers, total) = self.files_like(beginning, "@");
                (Sort::File, offers, total)
            }
            None if is_first_line => {
                let offers = self.words_like(&before, &word);
                let total = offers.len();
                (if is_command { Sort::Command } else { Sort::Other }, offers, total)
            }
            None => (Sort::Other, Vec::new(), 0),
        };
        let is_typed = matches!(offers.as_slice(), [only] if only.text.trim_end() == word);
        let length = word.chars().count();
        self.offers = (!offers.is_empty() && !is_typed).then_some(Offers {
            offers,
            total,
            marked: 0,
            of,
            length,
            is_chosen: false,
        });
        word
    }

    /// Offers for the word under the cursor that nobody has asked for yet: a path in a command of the person's own.
    pub(super) fn offer_paths(&mut self) -> Vec<Effect> {
        let (before, _) = self.input().before_cursor();
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_owned();
        let word = word.trim_start_matches('!');
        if self.files.of != self.focus || self.files.paths.is_none() {
            self.files = Files { of: self.focus, paths: None };
            return vec![Effect::Files(self.focus)];
        }
        let (offers, total) = self.files_like(word, "");
        let length = word.chars().count();
        self.offers = (!offers.is_empty()).then_some(Offers {
            offers,
            total,
            marked: 0,
            of: Sort::Other,
            length,
            is_chosen: false,
        });
        Vec::new()
    }

    /// Files whose paths are like the beginning, the best first, and how many there are in all.
    fn files_like(&self, beginning: &str, sign: &str) -> (Vec<Offer>, usize) {
        let offer = |path: &String| Offer { text: format!("{sign}{path} "), help: String::new() };
        let Some(files) = self.files.paths.as_ref().filter(|_| self.files.of == self.focus) else {
            return (Vec::new(), 0);
        };
        if beginning.is_empty() {
            return (files.iter().take(OFFERS_MAX).map(offer).collect(), files.len());
        }
        let pattern = Pattern::parse(beginning, CaseMatching::Smart, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let found = pattern.match_list(files.iter(), &mut matcher);
        let total = found.len();
        (found.into_iter().take(OFFERS_MAX).map(|(path, _)| offer(path)).collect(), total)
    }

    /// Commands, and what may follow them.
    fn words_like(&self, before: &str, word: &str) -> Vec<Offer> {
        let Some(line) = before.trim_start().strip_prefix('/') else { return Vec::new() };
        let Some((name, _)) = line.split_once(char::is_whitespace) else {
            let offer = |command: &super::command::Command| Offer {
                text: format!("/{} ", command.names[0]),
                help: command.help.to_owned(),
            };
            let mut found: Vec<_> = completions(line).collect();
            // What is typed already comes first; the sort keeps the order of all others.
            let rank = |name: &str| EVERYDAY.iter().position(|everyday| *everyday == name);
            found.sort_by_key(|command| {
                (command.names[0] != line, rank(command.names[0]).unwrap_or(EVERYDAY.len()))
            });
            return found.into_iter().map(offer).collect();
        };
        let Some(command) = COMMANDS.iter().find(|command| command.names.contains(&name)) else {
            return Vec::new();
        };
        match command.takes() {
            Takes::Agents if !word.starts_with('-') => self.agents_like(word),
            Takes::ForkFlags if word.starts_with('-') => FORK_FLAGS
                .iter()
                .filter(|(flag, _)| flag.starts_with(word))
                .map(|(flag, help)| Offer { text: format!("{flag} "), help: (*help).to_owned() })
                .collect(),
            Takes::WorkerWords => self.worker_words_like(&line[..line.len() - word.len()], word),
            Takes::Agents | Takes::ForkFlags | Takes::Words => Vec::new(),
        }
    }

    /// Options or commands of the longest command of the command line that stands before the word.
    fn worker_words_like(&self, before: &str, word: &str) -> Vec<Offer> {
        let before: Vec<&str> = before.split_whitespace().collect();
        let stands = |words: &&CommandWords| {
            let command: Vec<&str> = words.command.split(' ').collect();
            // Commands are chosen right behind their own; options anywhere.
            let takes_commands = words.words.iter().any(|(word, _)| !word.starts_with('-'));
            before.starts_with(&command) && !(takes_commands && before.len() > command.len())
        };
        let found = self.worker_words.iter().filter(stands).max_by_key(|words| words.command.len());
        let words = found.into_iter().flat_map(|found| &found.words);
        let is_like = |(text, _): &&(String, String)| {
            text.starts_with(word) && (text.starts_with('-') == word.starts_with('-'))
        };
        let offer = |(text, help): &(String, String)| Offer {
            text: format!("{text} "),
            help: help.clone(),
        };
        words.filter(is_like).map(offer).take(OFFERS_MAX).collect()
    }

    fn agents_like(&self, beginning: &str) -> Vec<Offer> {
        let like = |name: &str| name.starts_with(beginning);
        let lives = |state| state != AgentState::Dead;
        let agents = self.agents.iter().rev().filter(|agent| lives(agent.state));
        let agents = agents.filter(|agent| like(&called(agent)) || like(&agent.id.to_string()));
        let offer = |agent: &tine_model::AgentRecord| {
            let help = self.title_of(agent.id).unwrap_or_else(|| agent.state.as_str().to_owned());
            Offer { text: format!("{} ", called(agent)), help }
        };
        agents.take(OFFERS_MAX).map(offer).collect()
    }

    /// Marks another offer, by so many down the list.
    pub(super) fn choose(&mut self, down: bool) {
        if let Some(offers) = &mut self.offers {
            let count = offers.offers.len();
            offers.marked = (offers.marked + if down { 1 } else { count - 1 }) % count;
            offers.is_chosen = true;
        }
    }

    /// Puts the marked offer in the place of the word.
    pub(super) fn take_offer(&mut self) -> Vec<Effect> {
        let Some(offers) = self.offers.take() else { return Vec::new() };
        let Some(offer) = offers.offers.get(offers.marked) else { return Vec::new() };
        self.input().replace_before_cursor(offers.length, &offer.text);
        self.offer()
    }

    /// Returns true if Enter takes the marked offer: the person has marked it, or the word is no command or file yet.
    pub(super) fn enter_takes_offer(&self) -> bool {
        let Some(offers) = &self.offers else { return false };
        let (before, _) = self.line().before_cursor();
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_whole = match offers.of {
            Sort::Command => {
                let name = word.trim_start_matches('/');
                COMMANDS.iter().any(|command| command.names.contains(&name))
            }
            Sort::File => offers.offers.iter().any(|offer| offer.text.trim_end() == word),
            Sort::Other => true,
        };
        offers.is_chosen || !is_whole
    }

    /// Takes the marked offer. A command that needs nothing more is sent.
    pub(super) fn enter_offer(&mut self) -> Vec<Effect> {
        let is_command = self.offers.as_ref().is_some_and(|offers| offers.of == Sort::Command);
        let effects = self.take_offer();
        let text = self.line().text();
        let name = text.trim().trim_start_matches('/');
        let is_ready = |command: &&super::command::Command| {
            command.names[0] == name && command.usage.is_empty()
        };
        if is_command && COMMANDS.iter().any(|command| is_ready(&command)) {
            self.submit()
        } else {
            effects
        }
    }
}
