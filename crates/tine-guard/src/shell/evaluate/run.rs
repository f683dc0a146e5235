//! One command in one form: who judges it, and what the commands are that it runs itself.

use super::expand::{MARK, NAMES};
use super::readers;
use super::value::Value;
use super::walk::{Evaluator, Judged};
use super::{awk, output};
use crate::shell::table;
use crate::shell::utility::ReadPath;
use crate::shell::word::{Variable, Word, refuse};

/// What stands in a path for a name that is not known.
const SOME_NAME: &str = "some-name";

/// Commands of the shell, which nothing but the shell can run.
const SHELL_ONLY: [&str; 17] = words!(
    ": [[ break cd command continue exit export mapfile read readarray return set shopt type ulimit unset"
);

/// Most commands that run one another in one.
const WRAPPED_MAX: usize = 8;

/// Whether the word is what stands there and nothing else: data could become further words, and the next of them a command.
fn is_plain(word: &Word) -> bool {
    word.is_known() && word.glob.is_none() && !word.text.contains([MARK, NAMES])
}

impl Evaluator<'_> {
    /// Judges a command, its name first; what it prints. With the input comes whether the words in it are divided in an unusual way.
    pub(super) fn run(&mut self, words: &[Word], from: (&Value, bool)) -> Judged<Option<Value>> {
        self.run_within(words, from, 0)
    }

    fn run_within(
        &mut self,
        words: &[Word],
        from: (&Value, bool),
        depth: usize,
    ) -> Judged<Option<Value>> {
        let Some((name, arguments)) = words.split_first() else { return Ok(None) };
        if depth > WRAPPED_MAX {
            return refuse(name, "too many commands that run one another");
        }
        self.seen.push(words.iter().map(|word| word.text.clone()).collect());
        let input = from.0;
        match name.text.as_str() {
            ":" => return Ok(None),
            "break" | "continue" | "exit" | "return" => {
                self.leave();
                return Ok(None);
            }
            "read" => return self.read(arguments, from).map(|()| None),
            "mapfile" | "readarray" => return self.read_list(name, arguments).map(|()| None),
            "unset" | "export" | "set" | "shopt" => {
                return self.shell_state(name, arguments).map(|()| None);
            }
            "xargs" => return self.xargs(name, arguments, input, depth),
            "find" => {
                let rest = self.find(arguments, depth)?;
                self.judged(name, &rest)?;
            }
            "timeout" | "nice" | "ionice" | "command" | "env" => {
                return self.wrapper(name, arguments, from, depth);
            }
            "git" => {
                let rest = self.git(arguments)?;
                self.judged(name, &rest)?;
            }
            "awk" | "gawk" | "mawk" | "nawk" => {
                let paths = awk::judge(name, arguments)?;
                self.note(paths);
            }
            "cd" => self.cd(name, arguments)?,
            "test" => self.places(name, arguments)?,
            "[" => match arguments.split_last() {
                Some((last, rest)) if last.text == "]" => self.places(name, rest)?,
                _ => return refuse(name, "`[` must end with `]`"),
            },
            "tee" => readers::tee(name, arguments)?,
            _ => match readers::judge(name, arguments) {
                Some(judged) => {
                    let paths = judged?;
                    self.note(paths);
                }
                None => self.judged(name, &neutral(name, arguments)?)?,
            },
        }
        Ok(output::of(&name.text, arguments, input))
    }

    /// Judges a command by the tables of readers.
    fn judged(&mut self, name: &Word, arguments: &[Word]) -> Judged<()> {
        let paths = table::judge(&[std::slice::from_ref(name), arguments].concat())?;
        self.note(paths);
        Ok(())
    }

    /// A command that another command runs, without the shell.
    fn external(&mut self, words: &[Word], input: &Value, depth: usize) -> Judged<Option<Value>> {
        let Some(name) = words.first() else { return Ok(None) };
        let plain = name.text.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-[".contains(c));
        if !plain || SHELL_ONLY.contains(&name.text.as_str()) || !name.variables.is_empty() {
            return refuse(name, "not the plain name of a program");
        }
        self.run_within(words, (input, false), depth + 1)
    }

    /// Keeps the paths that a command reads; of a name that is not known its folder stays.
    pub(super) fn note(&mut self, paths: Vec<ReadPath>) {
        for mut path in paths {
            if path.text.contains([MARK, NAMES]) {
                path.tilde &= path.text.starts_with('~');
                path.text = path.text.replace(NAMES, "").replace(MARK, SOME_NAME);
            }
            if !self.paths.contains(&path) {
                self.paths.push(path);
            }
        }
    }

    /// `xargs`: the command that it runs gets words from its input.
    fn xargs(
        &mut self,
        name: &Word,
        arguments: &[Word],
        input: &Value,
        depth: usize,
    ) -> Judged<Option<Value>> {
        let (mut rest, mut place, mut data) = (arguments, None, input.clone());
        while let [word, more @ ..] = rest {
            let text = word.text.as_str();
            if !text.starts_with('-') {
                break;
            }
            if !is_plain(word) || more.first().is_some_and(|next| !is_plain(next)) {
                return refuse(word, "an option of `xargs` must be plain");
            }
            let value = |attached: &str| match attached {
                "" => more.first().map(|word| word.text.clone()),
                attached => Some(attached.to_owned()),
            };
            let mut taken = 1;
            let mut separate = |attached: &str| taken += usize::from(attached.is_empty());
            match text {
                "--" => {
                    rest = more;
                    break;
                }
                "-0" | "-r" | "-t" | "-x" | "-0r" | "-r0" | "--null" | "--no-run-if-empty"
                | "--verbose" | "--exit" => {}
                _ if text.starts_with("-I") => {
                    place = value(&text[2..]);
                    separate(&text[2..]);
                }
                _ if text.starts_with("-a") => {
                    data = Value::Any;
                    if let Some(file) = value(&text[2..]) {
                        let word = Word { text: file, ..word.clone() };
                        self.note(vec![ReadPath::of(&word, true)]);
                    }
                    separate(&text[2..]);
                }
                _ if ["-n", "-L", "-P", "-s", "-d"]
                    .iter()
                    .any(|letter| text.starts_with(letter)) =>
                {
                    separate(&text[2..]);
                }
                _ if text.starts_with("-0n") => separate(&text[3..]),
                _ if [
                    "--max-args=",
                    "--max-procs=",
                    "--max-lines=",
                    "--delimiter=",
                    "--max-chars=",
                ]
                .iter()
                .any(|long| text.starts_with(long)) => {}
                _ => return refuse(word, "not on the list of options that only read"),
            }
            rest = arguments.get(arguments.len() - rest.len() + taken..).unwrap_or_default();
        }
        if place.as_deref() == Some("") {
            return refuse(name, "the text to replace is missing");
        }
        let echo = [Word { text: "echo".to_owned(), ..name.clone() }];
        let inner = if rest.is_empty() { &echo[..] } else { rest };
        let words = match place {
            Some(place) => replaced(inner, &place, &data)?,
            None => [inner, &[several(name, &data)]].concat(),
        };
        self.external(&words, &Value::text(""), depth)
    }

    /// Judges the commands that `find` runs; the rest of its arguments.
    fn find(&mut self, arguments: &[Word], depth: usize) -> Judged<Vec<Word>> {
        let mut rest = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if !matches!(word.text.as_str(), "-exec" | "-execdir") {
                if word.text.starts_with('-') && (word.text.contains(MARK) || !word.is_known()) {
                    return refuse(word, "what `find` does must be plain");
                }
                rest.push(word.clone());
                continue;
            }
            let mut inner: Vec<Word> = Vec::new();
            let ended = loop {
                match words.next() {
                    Some(end) if end.text == ";" => break Some(Value::Names),
                    Some(end)
                        if end.text == "+" && inner.last().is_some_and(|w| w.text == "{}") =>
                    {
                        inner.pop();
                        break None;
                    }
                    Some(part) => inner.push(part.clone()),
                    None => return refuse(word, "the end of what `find` runs is missing"),
                }
            };
            let inner = match ended {
                Some(data) => replaced(&inner, "{}", &data)?,
                None => [inner, vec![several(word, &Value::Names)]].concat(),
            };
            self.external(&inner, &Value::Any, depth)?;
            rest.push(Word { text: "-print".to_owned(), ..word.clone() });
        }
        Ok(rest)
    }

    /// Commands that run another one.
    fn wrapper(
        &mut self,
        name: &Word,
        arguments: &[Word],
        from: (&Value, bool),
        depth: usize,
    ) -> Judged<Option<Value>> {
        let text = |at: usize| arguments.get(at).map_or("", |word| word.text.as_str());
        let is_option = |word: &Word| word.text.starts_with('-');
        let inner = match name.text.as_str() {
            "command" if arguments.first().is_some_and(is_option) || arguments.is_empty() => {
                self.judged(name, arguments)?;
                return Ok(Some(Value::Names));
            }
            "command" => return self.run_within(arguments, from, depth + 1),
            "timeout" => {
                let mut at = 0;
                loop {
                    match text(at) {
                        "-k" | "-s" => at += 2,
                        "--foreground" | "--preserve-status" | "-v" => at += 1,
                        _ => break,
                    }
                }
                let duration = text(at).trim_end_matches(['s', 'm', 'h']);
                if duration.parse::<f64>().is_err() {
                    return refuse(name, "the time of `timeout` must be plain");
                }
                at + 1
            }
            "nice" if text(0) == "-n" => 2,
            "ionice" if text(0) == "-c" && text(2) == "-n" => 4,
            "ionice" if text(0) == "-c" => 2,
            "ionice" if text(0).starts_with("-c") => 1,
            "env" => {
                let sets = |word: &&Word| {
                    let (name, value) = word.text.split_once('=').unwrap_or_default();
                    word.is_known() && super::names::is_harmless(name, Some(value))
                };
                let count = arguments.iter().take_while(sets).count();
                if count == arguments.len() {
                    return Ok(Some(Value::Any));
                }
                count
            }
            _ => 0,
        };
        let (own, inner) = arguments.split_at(inner.min(arguments.len()));
        if let Some(word) = own.iter().find(|word| !is_plain(word)) {
            return refuse(word, "what stands before the command must be plain");
        }
        match inner.first() {
            None => refuse(name, "the command is missing"),
            Some(word) if is_option(word) => {
                refuse(word, "not on the list of options that only read")
            }
            Some(_) => self.external(inner, from.0, depth),
        }
    }

    /// `git`: another directory, and settings of how it prints; the rest of its arguments.
    fn git(&mut self, arguments: &[Word]) -> Judged<Vec<Word>> {
        let mut rest = arguments;
        let mut kept = Vec::new();
        loop {
            match rest {
                [option, directory, more @ ..] if option.text == "-C" => {
                    if directory.may_be_option() || directory.glob.is_some() {
                        return refuse(directory, "where git goes must be plain");
                    }
                    let path = ReadPath { moves: true, ..ReadPath::of(directory, false) };
                    self.note(vec![path]);
                    rest = more;
                }
                [option, setting, more @ ..] if option.text == "-c" => {
                    if !setting.is_known() || !is_harmless_setting(&setting.text) {
                        return refuse(setting, "a setting may name a program");
                    }
                    rest = more;
                }
                [option, more @ ..] if option.text.starts_with('-') && option.is_known() => {
                    kept.push(option.clone());
                    rest = more;
                }
                _ => break,
            }
        }
        for word in rest {
            if word.text.starts_with('-') && word.text.contains(MARK) {
                return refuse(word, "an option of git must be plain");
            }
        }
        kept.extend(rest.iter().cloned());
        Ok(kept)
    }

    fn cd(&mut self, name: &Word, arguments: &[Word]) -> Judged<()> {
        if let [only] = arguments
            && only.text == "-"
        {
            return Ok(());
        }
        let single = |word: &Word| Word {
            glob: word.glob.filter(|_| !word.text.contains(MARK)),
            ..word.clone()
        };
        let arguments: Vec<Word> = arguments.iter().map(single).collect();
        self.judged(name, &arguments)
    }

    /// `[` and `test`, where the places of the words alone decide what is tested.
    fn places(&mut self, name: &Word, arguments: &[Word]) -> Judged<()> {
        let inner = match arguments {
            [not, rest @ ..] if not.text == "!" => rest,
            all => all,
        };
        let unclear = |word: &Word| !word.is_known() && word.glob.is_some();
        if let Some(word) = inner.iter().find(|word| unclear(word)) {
            return refuse(word, "in `[`, what a variable holds must stand in quotes");
        }
        let several = |word: &Word| word.glob.is_some() && word.text.contains([MARK, NAMES]);
        let plain = |word: &Word| word.is_known() && word.glob.is_none();
        let certain = match inner {
            [operator, _] => plain(operator) && operator.text.starts_with('-'),
            [_, operator, _] => plain(operator),
            _ => false,
        };
        if let Some(word) = inner.iter().find(|word| several(word)).filter(|_| !certain) {
            return refuse(word, "in `[`, names must stand in quotes");
        }
        let numbers = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
        let compares = matches!(inner, [_, operator, _] if operator.is_known()
            && numbers.contains(&operator.text.as_str()));
        if compares {
            return Ok(());
        }
        let quoted: Vec<Word> = arguments.iter().map(without_marks).collect();
        let word = Word { text: "test".to_owned(), ..name.clone() };
        self.judged(&word, &quoted)
    }
}

/// The word as one that cannot become several.
fn without_marks(word: &Word) -> Word {
    let glob = word.glob.filter(|_| !word.text.contains(MARK));
    Word { glob, ..word.clone() }
}

/// A word that may become any number of words of the data.
fn several(near: &Word, data: &Value) -> Word {
    let mut word = Word { text: MARK.to_string(), variables: Vec::new(), ..near.clone() };
    let end = word.text.len();
    word.glob = Some(end);
    if !data.is_names() {
        word.glob = Some(0);
        word.variables.push(Variable { name: String::new(), start: 0, end, quoted: true });
    }
    word
}

/// The words with the data in place of a text. A program or script that would hold data is refused by whoever judges it.
fn replaced(words: &[Word], place: &str, data: &Value) -> Judged<Vec<Word>> {
    let one = |word: &Word| {
        if !word.text.contains(place) {
            return Ok(word.clone());
        }
        if !word.is_known() || word.glob.is_some() {
            return refuse(word, "data in a word that is not certain");
        }
        let mut word = Word { text: word.text.replace(place, &MARK.to_string()), ..word.clone() };
        if !data.is_names() {
            for (start, mark) in word.text.match_indices(MARK) {
                let end = start + mark.len();
                word.variables.push(Variable { name: String::new(), start, end, quoted: true });
            }
        }
        Ok(word)
    };
    words.iter().map(one).collect()
}

/// Whether a setting only says how git prints.
fn is_harmless_setting(setting: &str) -> bool {
    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
    let key = key.to_ascii_lowercase();
    let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || " -".contains(c));
    match key.as_str() {
        "core.quotepath" | "log.date" | "diff.renames" | "core.abbrev" | "advice.detachedhead" => {
            plain
        }
        "core.pager" => matches!(value, "cat" | ""),
        _ => key.starts_with("color.") && plain,
    }
}

/// Arguments in which data stands only where it is data: scripts and formats must be plain.
fn neutral(name: &Word, arguments: &[Word]) -> Judged<Vec<Word>> {
    const DATA: &str = "data may not be part of a script";
    let mut arguments = arguments.to_vec();
    let marked = |word: &Word| word.text.contains([MARK, NAMES]);
    match name.text.as_str() {
        "sed" => {
            let mut script = false;
            let mut expected = false;
            for word in &arguments {
                let option = word.text.starts_with('-') && word.text != "-";
                let is_script = expected || !option && !script;
                if marked(word) && (is_script || option) {
                    return refuse(word, DATA);
                }
                let letters = option && !word.text.starts_with("--");
                expected = !expected
                    && (letters && word.text.ends_with('e') || word.text == "--expression");
                script |= is_script
                    || option
                        && (word.text.starts_with("--expression")
                            || letters && word.text.contains('e'));
            }
        }
        "printf" => {
            if let Some(word) = arguments
                .iter()
                .take(2)
                .find(|word| marked(word) && word.text.contains(['%', '\\']))
            {
                return refuse(word, DATA);
            }
            if let Some(word) = arguments.first().filter(|word| marked(word)) {
                return refuse(word, DATA);
            }
        }
        "jq" => {
            let mut at = 0;
            let mut filter = false;
            while at < arguments.len() {
                let text = arguments[at].text.clone();
                if matches!(text.as_str(), "--arg" | "--argjson") {
                    if let Some(value) = arguments.get_mut(at + 2) {
                        value.variables.clear();
                        value.glob = None;
                    }
                    at += 3;
                    continue;
                }
                if marked(&arguments[at]) && (!filter || text.starts_with('-')) {
                    return refuse(&arguments[at], DATA);
                }
                filter |= !text.starts_with('-');
                at += 1;
            }
        }
        _ => {}
    }
    Ok(arguments)
}
