//! A shell text, as it was read and before anything in it is expanded.

/// One command with what stands around it.
#[derive(Clone, Debug)]
pub(in crate::shell) struct Command {
    pub(in crate::shell) node: Node,
    pub(in crate::shell) redirects: Vec<Redirect>,
    /// Byte offset in the text.
    pub(in crate::shell) at: usize,
}

/// How a pipeline follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shell) enum Link {
    /// The first one, or after `;`, `&` or a newline.
    Sequence,
    /// After `&&`.
    And,
    /// After `||`.
    Or,
}

/// A pipeline, and how it follows the one before.
#[derive(Clone, Debug)]
pub(in crate::shell) struct Item {
    pub(in crate::shell) link: Link,
    pub(in crate::shell) pipeline: Vec<Command>,
    /// Whether `&` stands behind it.
    pub(in crate::shell) background: bool,
}

/// Commands in order.
pub(in crate::shell) type List = Vec<Item>;

/// The kinds of commands.
#[derive(Clone, Debug)]
pub(in crate::shell) enum Node {
    /// Assignments, then a name and arguments; one of the two may be missing.
    Simple { assignments: Vec<Assignment>, words: Vec<Template> },
    /// `{ … }` and `( … )`.
    Group { list: List, subshell: bool },
    /// `for NAME in WORDS`.
    For { name: String, words: Vec<Template>, body: List },
    /// `for ((…; …; …))`.
    Count { parts: Vec<Arithmetic>, body: List },
    /// `while` and `until`.
    Loop { condition: List, body: List, until: bool },
    /// `if` with its `elif`, and `else`.
    If { arms: Vec<(List, List)>, otherwise: Option<List> },
    /// `case`, each arm with its patterns. `falls` where one may go on into the next.
    Case { word: Template, arms: Vec<(Vec<Template>, List)>, falls: bool },
    /// `[[ … ]]`.
    Condition(Vec<Test>),
    /// `((…))`.
    Compute(Arithmetic),
    /// A function: its commands may run wherever its name stands later.
    Function(Box<Command>),
    /// `coproc`, with what it runs.
    Coprocess(Box<Command>),
}

/// `NAME=…`, `NAME+=…`.
#[derive(Clone, Debug)]
pub(in crate::shell) struct Assignment {
    pub(in crate::shell) name: String,
    pub(in crate::shell) append: bool,
    /// The value, or the elements of a list.
    pub(in crate::shell) values: Vec<Template>,
    pub(in crate::shell) list: bool,
    /// Subscripts of elements that are set, which bash computes.
    pub(in crate::shell) subscripts: Vec<Arithmetic>,
    pub(in crate::shell) at: usize,
}

/// A redirect that is no matter of course.
#[derive(Clone, Debug)]
pub(in crate::shell) enum Redirect {
    /// `< FILE`.
    File(Template),
    /// `<<< WORD`.
    Text(Template),
    /// `<< NAME`, by its place among the documents of the text.
    Document(usize),
    /// `> FILE` and its kin, where it is neither /dev/null nor another descriptor; `<> FILE` as well.
    Output(Template),
    /// A descriptor that is copied or closed: `>&3`, `<&-`.
    Copy,
}

/// One part of `[[ … ]]`.
#[derive(Clone, Debug)]
pub(in crate::shell) enum Test {
    /// A test of one word.
    Of(String, Template),
    /// Two words and what compares them.
    Compare(Template, String, Template),
    /// A word that must not be empty.
    Word(Template),
}

/// A word before its expansions.
#[derive(Clone, Debug, Default)]
pub(in crate::shell) struct Template {
    pub(in crate::shell) parts: Vec<Part>,
    /// Byte offset in the text.
    pub(in crate::shell) at: usize,
}

/// A piece of a word.
#[derive(Clone, Debug)]
pub(in crate::shell) enum Part {
    /// Characters that stay as they are.
    Text { text: String, quoted: bool },
    /// One wildcard character outside quotes.
    Glob(char),
    /// `~` at the beginning.
    Tilde,
    /// `$NAME` and `${…}`.
    Parameter { name: String, change: Change, quoted: bool },
    /// `$(…)` and backticks.
    Command { list: List, quoted: bool },
    /// `<(…)` and `>(…)`.
    Process(List),
    /// Something that becomes any text, or any number of words.
    Unknown,
    /// `$((…))`.
    Number(Arithmetic),
    /// `{1..900}`: a number each.
    Sequence,
}

/// What `${…}` does with the text of a variable.
#[derive(Clone, Debug)]
pub(in crate::shell) enum Change {
    /// Nothing.
    None,
    /// Counts it.
    Length,
    /// Another text where it has none, or has one; `=` also assigns it.
    Instead { with: Box<Template>, assigns: bool },
    /// Cuts a pattern off.
    Cut(Box<Template>),
    /// Replaces a pattern.
    Replace { pattern: Box<Template>, with: Box<Template> },
    /// Turns letters into capitals or back.
    Case,
    /// Takes characters by their places.
    Slice(Vec<Arithmetic>),
    /// Takes an element of a list.
    Element(Arithmetic),
    /// All elements of a list.
    All,
    /// Something else, in which these parts are expanded.
    Other(Box<Template>),
}

/// An arithmetic expression: what it uses and what it sets.
#[derive(Clone, Debug, Default)]
pub(in crate::shell) struct Arithmetic {
    /// Names whose values are computed with.
    pub(in crate::shell) names: Vec<String>,
    /// Whether it may set any of the names.
    pub(in crate::shell) sets: bool,
    /// Expansions in it.
    pub(in crate::shell) parts: Vec<Part>,
    /// Whether nothing stands in it.
    pub(in crate::shell) empty: bool,
    /// Whether it is a number and nothing else.
    pub(in crate::shell) constant: bool,
    /// Byte offset in the text.
    pub(in crate::shell) at: usize,
}

impl Template {
    /// A text in quotes.
    pub(in crate::shell) fn text(at: usize, text: &str) -> Self {
        Self { parts: vec![Part::Text { text: text.to_owned(), quoted: true }], at }
    }

    /// The text, where all of it stands outside quotes and stays as it is.
    pub(in crate::shell) fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// The text, where it stays as it is, in quotes or not.
    pub(in crate::shell) fn literal(&self) -> Option<String> {
        let piece = |part: &Part| match part {
            Part::Text { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.parts.iter().map(piece).collect()
    }
}
