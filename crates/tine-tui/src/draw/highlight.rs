//! Code in the sixteen colours of the terminal, so that it reads on dark and on light. It looks at words, texts, numbers and comments, and
//! never parses: what it takes for wrong is shown plainly, and a line costs about a microsecond.
//!
//! A parser with grammars (`syntect`) was measured at 14 to 50 MiB and 75 µs a line.

use ratatui::style::{Color, Modifier, Style};

use super::languages::{Language, Quote};
use super::wrap::Run;

const WORD: Style = Style::new().fg(Color::Magenta);
const TEXT: Style = Style::new().fg(Color::Green);
const VALUE: Style = Style::new().fg(Color::Cyan);
const COMMENT: Style = Style::new().add_modifier(Modifier::DIM);
const PLAIN: Style = Style::new();

/// Words that are values in most languages.
const VALUES: [&str; 9] =
    ["true", "false", "null", "nil", "None", "True", "False", "undefined", "NULL"];

/// Most lines of one text that are coloured; what stands behind them is plain. A frame has 16 ms.
pub(super) const COLOURED_LINES_MAX: usize = 2_000;

/// Goes through code, line by line.
#[derive(Debug)]
pub(super) struct Scanner {
    language: &'static Language,
    /// What ends the text or the comment that a line before began, and its colour.
    inside: Option<(&'static str, Style)>,
    lines: usize,
}

impl Scanner {
    /// At the beginning of a text.
    pub(super) fn new(language: &'static Language) -> Self {
        Self { language, inside: None, lines: 0 }
    }

    /// The next line, in colours.
    pub(super) fn line(&mut self, line: &str) -> Vec<Run> {
        self.lines += 1;
        let mut runs = Runs::default();
        if self.lines > COLOURED_LINES_MAX {
            runs.add(line, PLAIN);
            return runs.0;
        }
        let mut rest = line;
        if let Some((close, style)) = self.inside.take() {
            rest = self.until(rest, 0, (close, true), style, &mut runs);
        }
        while let Some(first) = rest.chars().next() {
            rest = self.step(rest, first, &mut runs);
        }
        runs.0
    }

    /// Takes one thing off the line; what is left of it.
    fn step<'a>(&mut self, rest: &'a str, first: char, runs: &mut Runs) -> &'a str {
        let language = self.language;
        if let Some((open, close)) = language.block.filter(|(open, _)| rest.starts_with(open)) {
            return self.until(rest, open.len(), (close, true), COMMENT, runs);
        }
        if language.comments.iter().any(|sign| rest.starts_with(sign)) && runs.may_comment(rest) {
            runs.add(rest, COMMENT);
            return "";
        }
        let begins = |quote: &&Quote| rest.starts_with(quote.open);
        if first.is_alphanumeric() || first == '_' {
            // A raw text begins with a letter.
            if let Some(quote) = language.quotes.iter().find(begins) {
                return self.until(rest, quote.open.len(), (quote.close, true), TEXT, runs);
            }
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            runs.add(word, self.word(word, after));
            return after;
        }
        if let Some(quote) = language.quotes.iter().find(begins) {
            let mark = runs.0.len();
            let after =
                self.until(rest, quote.open.len(), (quote.close, quote.spans_lines), TEXT, runs);
            if let (Some(run), true) = (runs.0.get_mut(mark), self.is_key(after)) {
                run.1 = VALUE;
            }
            return after;
        }
        let taken = match first {
            '\'' if language.has_characters => character(rest),
            _ => None,
        };
        let end = taken.unwrap_or_else(|| first.len_utf8());
        runs.add(&rest[..end], if taken.is_some() { TEXT } else { PLAIN });
        &rest[end..]
    }

    fn word(&self, word: &str, after: &str) -> Style {
        let language = self.language;
        let mut words = language.words.split(' ');
        let is_own = if language.ignores_case {
            words.any(|own| own.eq_ignore_ascii_case(word))
        } else {
            words.any(|own| own == word)
        };
        match word.starts_with(|c: char| c.is_ascii_digit()) {
            true => VALUE,
            false if is_own => WORD,
            false if VALUES.contains(&word) || self.is_key(after) => VALUE,
            false => PLAIN,
        }
    }

    /// Whether what stands before this is the name of a field.
    fn is_key(&self, after: &str) -> bool {
        self.language.key_sign.is_some_and(|sign| after.trim_start().starts_with(sign))
    }

    /// Takes all up to the end of a text or a comment, or of the line, where that ends it or it goes on behind it.
    fn until<'a>(
        &mut self,
        rest: &'a str,
        skip: usize,
        (close, spans_lines): (&'static str, bool),
        style: Style,
        runs: &mut Runs,
    ) -> &'a str {
        let escapes = style == TEXT;
        let end = closing(&rest[skip..], close, escapes).map(|end| skip + end);
        if end.is_none() && spans_lines {
            self.inside = Some((close, style));
        }
        let (taken, after) = rest.split_at(end.unwrap_or(rest.len()));
        runs.add(taken, style);
        after
    }
}

/// Runs of a line.
#[derive(Default)]
struct Runs(Vec<Run>);

impl Runs {
    fn add(&mut self, text: &str, style: Style) {
        match self.0.last_mut() {
            Some((last, same)) if *same == style => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push((text.to_owned(), style)),
        }
    }

    /// Whether a comment may begin here: `#` and `;` in the middle of a word begin none (`$#`, `a#b`).
    fn may_comment(&self, rest: &str) -> bool {
        let last = self.0.last().and_then(|(text, _)| text.chars().next_back());
        !rest.starts_with(['#', ';']) || last.is_none_or(char::is_whitespace)
    }
}

/// Where a text ends, behind its closing sign.
fn closing(text: &str, close: &str, escapes: bool) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if escapes && character == '\\' {
            is_escaped = true;
        } else if text[at..].starts_with(close) {
            return Some(at + close.len());
        }
    }
    None
}

/// Where a character between apostrophes ends; `None` of a lifetime.
fn character(text: &str) -> Option<usize> {
    let inner = text.get(1..)?;
    let first = inner.chars().next()?;
    let end = match first {
        '\\' => closing(inner, "'", true)?,
        other if inner[other.len_utf8()..].starts_with('\'') => other.len_utf8() + 1,
        _ => return None,
    };
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::languages::named;
    use super::*;

    /// Each run with a letter for its colour.
    fn shown(language: &str, text: &str) -> String {
        let mut scanner = Scanner::new(named(language).unwrap());
        let part = |(text, style): Run| match style {
            WORD => format!("w[{text}]"),
            TEXT => format!("t[{text}]"),
            VALUE => format!("v[{text}]"),
            COMMENT => format!("c[{text}]"),
            _ => text,
        };
        let line = |line| scanner.line(line).into_iter().map(part).collect::<String>();
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn words_texts_numbers_and_comments_are_told_apart() {
        insta::assert_snapshot!(shown("rust", "fn a<'a>(x: &'a str) -> char { // why\n    let y = \"a\\\"b\nc\"; '\\n' /* to\n here */ 0x1f + b'x'\nlet z = r#\"a\"b\"#; None"), @r##"
        w[fn] a<'a>(x: &'a str) -> char { c[// why]
            w[let] y = t["a\"b]
        t[c"]; t['\n'] c[/* to]
        c[ here */] v[0x1f] + bt['x']
        w[let] z = t[r#"a"b"#]; v[None]
        "##);
        insta::assert_snapshot!(shown("python", "def f(x):\n    '''Doc\n    of it'''\n    return x + 1.5 # end\nprint(\"a#b\", True)"), @r#"
        w[def] f(x):
            t['''Doc]
        t[    of it''']
            w[return] x + v[1].v[5] c[# end]
        print(t["a#b"], v[True])
        "#);
        insta::assert_snapshot!(shown("sh", "for f in $#; do echo \"$f\"; done # all"), @r#"w[for] f w[in] $#; w[do] w[echo] t["$f"]; w[done] c[# all]"#);
        insta::assert_snapshot!(shown("sql", "SELECT a FROM b WHERE c = 'd' -- e"), @"w[SELECT] a w[FROM] b w[WHERE] c = t['d'] c[-- e]");
        insta::assert_snapshot!(shown("json", "{\"a\": [1, true, \"b\"]}"), @r#"{v["a"]: [v[1], v[true], t["b"]]}"#);
        insta::assert_snapshot!(shown("toml", "a = \"b\" # c\n[d]"), @r#"
        v[a] = t["b"] c[# c]
        [d]
        "#);
        insta::assert_snapshot!(shown("html", "<a href=\"b\"><!-- c\n d --></a>"), @r#"
        <a v[href]=t["b"]>c[<!-- c]
        c[ d -->]</a>
        "#);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_of_any_text(
            language in prop::sample::select(vec!["rust", "python", "js", "sh", "sql", "json", "toml", "html", "lua", "hs"]),
            text in "([a-z0-9]{1,5}|[\"'`#/*;<>=:\\-\\\\{}\\[\\] ]|r#\"|日){0,40}",
        ) {
            let mut scanner = Scanner::new(named(language).unwrap());
            for line in [text.as_str(), text.as_str()] {
                let runs = scanner.line(line);
                prop_assert_eq!(runs.iter().map(|(text, _)| text.as_str()).collect::<String>(), line);
            }
        }
    }
}
