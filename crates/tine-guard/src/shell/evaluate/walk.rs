//! Going through a text: every command that may run, in every form that its variables may give it.
//!
//! What no verdict accepts is noted as the objection, and the rest is gone through all the same, so that rules see it.
//! Variables are followed in the order of the commands. Where commands may run or not, what holds in either case is kept;
//! loops are gone through until nothing new is learned. So a word that the text makes itself, such as an option in a
//! variable, is judged as if it stood there.

use std::collections::BTreeSet;

use super::endless::{always, leaves};
use super::expand::behind;
use super::names::{is_harmless, may_be_set};

use super::value::{Text, Value, Variables};
use crate::shell::refusal::Refusal;
use crate::shell::syntax::tree::{
    Assignment, Command, Item, Link, List, Node, Part, Redirect, Template, Test,
};
use crate::shell::utility::ReadPath;
use crate::shell::word::Word;

/// The result of judging a piece.
pub(super) type Judged<T> = Result<T, Refusal>;

/// A simple command that may run, in one of the forms that its variables may give it.
#[derive(Clone, Debug)]
pub(in crate::shell) struct Ran {
    /// Its name, then its arguments. Never empty.
    pub(in crate::shell) words: Vec<Word>,
    /// The text of its input, where that is known.
    pub(in crate::shell) input: Option<String>,
    /// True if it reads what another command of its pipeline prints.
    pub(in crate::shell) is_piped: bool,
}

/// Most commands that are judged for one text; loops and variables make more of them than are written.
const STEPS_MAX: usize = 4_000;

/// Bytes of variables that count as a step more. What is known of them is copied a few times for each command.
const BYTES_A_STEP: usize = 1_024;

/// Words of one command that count as a step more.
const WORDS_A_STEP: usize = 8;

/// Most times that a loop is gone through. What is known only grows less, so a few suffice.
const ROUNDS_MAX: usize = 8;

/// What was found so far.
pub(super) struct Evaluator<'a> {
    documents: &'a [Template],
    pub(super) variables: Variables,
    /// The words of every command that may run, with marks for what is not known.
    pub(super) seen: Vec<Vec<String>>,
    pub(super) paths: Vec<ReadPath>,
    /// The first thing that no verdict accepts.
    pub(super) objection: Option<Refusal>,
    /// The simple commands as the shell runs them, without what they run themselves.
    pub(super) ran: Vec<Ran>,
    /// Whether it does something beside its commands: it redirects input or output to anywhere but nowhere, sets a variable that
    /// may change more than how programs print, or leaves a command in the background.
    pub(super) does_more: bool,
    /// The files that are opened for input and for output.
    pub(super) inputs: Vec<Word>,
    pub(super) outputs: Vec<Word>,
    /// Whether bash may run what the text of a variable holds.
    pub(super) is_indirect: bool,
    /// Texts in variables that the shell or a program may run; `None` for one that is not known.
    pub(super) held: Vec<Option<String>>,
    /// Names of variables that assignments set.
    pub(super) assigned: BTreeSet<String>,
    /// Names of variables that may be lists.
    pub(super) lists: BTreeSet<String>,
    /// Whether variables that the text does not set may come from a text around it.
    pub(super) is_within: bool,
    /// Variables that functions set, whenever those run; `None` where any may be set.
    pub(super) loose: Option<BTreeSet<String>>,
    pub(super) functions: usize,
    /// What held where a loop was left, for each loop around.
    loops: Vec<Vec<Variables>>,
    /// True if the input comes from another command of a pipeline.
    is_piped: bool,
    steps: usize,
    /// Whether an error ends the reading.
    is_exhausted: bool,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(documents: &'a [Template]) -> Self {
        Self {
            documents,
            variables: Variables::default(),
            seen: Vec::new(),
            paths: Vec::new(),
            objection: None,
            ran: Vec::new(),
            does_more: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            is_indirect: false,
            held: Vec::new(),
            assigned: BTreeSet::new(),
            lists: BTreeSet::new(),
            is_within: false,
            loose: Some(BTreeSet::new()),
            functions: 0,
            loops: Vec::new(),
            is_piped: false,
            steps: 0,
            is_exhausted: false,
        }
    }

    pub(super) fn object(&mut self, refusal: Refusal) {
        self.objection.get_or_insert(refusal);
    }

    /// Notes a refusal and goes on with what is known then; only an exhausted reading ends.
    pub(super) fn soften<T>(&mut self, judged: Judged<T>, otherwise: T) -> Judged<T> {
        match judged {
            Err(refusal) if !self.is_exhausted => {
                self.object(refusal);
                Ok(otherwise)
            }
            other => other,
        }
    }

    /// Whether nothing is known of the variable, whatever was assigned to it.
    pub(super) fn is_loose(&self, name: &str) -> bool {
        self.loose.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Judges the commands; what they print, if anything.
    pub(super) fn list(&mut self, list: &List, input: &Value) -> Judged<Option<Value>> {
        let mut printed = None;
        for Item { link, pipeline, background } in list {
            self.does_more |= background;
            let certain = *link == Link::Sequence && !background;
            let before = (!certain).then(|| self.variables.clone());
            let more = self.pipeline(pipeline, input)?;
            printed = either(printed, more);
            if let Some(before) = before {
                self.variables = before.or(&self.variables);
            }
        }
        Ok(printed)
    }

    fn pipeline(&mut self, commands: &[Command], input: &Value) -> Judged<Option<Value>> {
        if let [only] = commands {
            return self.command(only, input);
        }
        let before = self.variables.clone();
        let mut after = before.clone();
        let mut passed = Some(input.clone());
        let is_piped = self.is_piped;
        for (at, command) in commands.iter().enumerate() {
            self.is_piped = is_piped || at > 0;
            self.variables = before.clone();
            passed = self.command(command, &passed.unwrap_or(Value::Any))?;
            after = after.or(&self.variables);
        }
        self.is_piped = is_piped;
        self.variables = after;
        Ok(passed)
    }

    /// Judges commands that run in a shell of their own.
    pub(super) fn substitute(&mut self, list: &List) -> Judged<Value> {
        let before = self.variables.clone();
        let printed = self.list(list, &Value::Any)?;
        self.variables = before;
        Ok(printed.unwrap_or_else(|| Value::text("")))
    }

    fn command(&mut self, command: &Command, input: &Value) -> Judged<Option<Value>> {
        self.steps += 1 + self.variables.bytes() / BYTES_A_STEP;
        if self.steps > STEPS_MAX {
            self.is_exhausted = true;
            let why = "this runs too many commands to be judged";
            return Err(Refusal::new(command.at, "", why));
        }
        let mut given = None;
        self.does_more |= !command.redirects.is_empty();
        for redirect in &command.redirects {
            let value = self.redirect(redirect);
            given = self.soften(value, Some(Value::Any))?.or(given);
        }
        let input = given.as_ref().unwrap_or(input);
        match &command.node {
            Node::Simple { assignments, words } => {
                let redirects = given.is_some().then_some(command.redirects.as_slice());
                self.simple(assignments, words, input, redirects)
            }
            Node::Group { list, subshell: false } => self.list(list, input),
            Node::Group { list, subshell: true } => {
                let before = self.variables.clone();
                let printed = self.list(list, input)?;
                self.variables = before;
                Ok(printed)
            }
            Node::For { name, words, body } => self.for_loop(name, words, body, input, command.at),
            Node::Count { parts, body } => {
                if parts.get(1).is_none_or(|part| part.empty || part.constant) && !leaves(body) {
                    self.object(Refusal::new(command.at, "for", ENDLESS));
                }
                if let Some(first) = parts.first() {
                    self.compute(first)?;
                }
                self.repeat(|all| {
                    parts.iter().skip(1).try_for_each(|part| all.compute(part))?;
                    all.list(body, input)
                })
            }
            Node::Loop { condition, body, until } => {
                if always(condition, *until) && !leaves(body) && !leaves(condition) {
                    self.object(Refusal::new(command.at, "while", ENDLESS));
                }
                self.repeat(|all| {
                    let printed = all.list(condition, input)?;
                    Ok(either(printed, all.list(body, input)?))
                })
            }
            Node::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref(), input),
            Node::Case { word, arms, falls } => self.case(word, arms, *falls, input),
            Node::Condition(tests) => {
                for test in tests {
                    let judged = self.test(test);
                    self.soften(judged, ())?;
                }
                Ok(None)
            }
            Node::Compute(arithmetic) => self.compute(arithmetic).map(|()| None),
            Node::Function(body) => self.function(body),
            Node::Coprocess(body) => {
                self.does_more = true;
                let before = self.variables.clone();
                self.command(body, &Value::Any)?;
                self.variables = before.or(&self.variables);
                Ok(None)
            }
        }
    }

    /// A function's commands, with whatever its variables may hold when it runs.
    fn function(&mut self, body: &Command) -> Judged<Option<Value>> {
        let before = self.variables.clone();
        self.variables.forget();
        self.arguments_are_unknown();
        self.functions += 1;
        let done = self.command(body, &Value::Any);
        self.functions -= 1;
        self.variables = before;
        done.map(|_| None)
    }

    pub(super) fn arguments_are_unknown(&mut self) {
        for name in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"] {
            self.variables.set(name, Value::Any);
        }
    }

    /// The value of the input that a redirect gives.
    fn redirect(&mut self, redirect: &Redirect) -> Judged<Option<Value>> {
        match redirect {
            Redirect::Copy => Ok(None),
            Redirect::Output(template) => {
                for form in self.forms(std::slice::from_ref(template))? {
                    self.outputs.extend(form);
                }
                Ok(None)
            }
            input => self.input(input).map(Some),
        }
    }

    fn input(&mut self, redirect: &Redirect) -> Judged<Value> {
        match redirect {
            Redirect::Copy | Redirect::Output(_) => Ok(Value::Any),
            Redirect::Text(template) => self.value(template),
            Redirect::Document(index) => {
                if let Some(document) = self.documents.get(*index) {
                    self.pieces(document)?;
                }
                Ok(Value::Any)
            }
            Redirect::File(template) => {
                if let [Part::Process(list)] = template.parts.as_slice() {
                    return self.substitute(list);
                }
                for form in self.forms(std::slice::from_ref(template))? {
                    self.inputs.extend(form.iter().cloned());
                    let refuse = |piece: &str| {
                        let why = "input may only come from a file that is named here";
                        Err(Refusal::new(template.at, piece, why))
                    };
                    let [word] = form.as_slice() else { return refuse("<") };
                    let device = word.text.starts_with("/dev/")
                        && !matches!(word.text.as_str(), "/dev/null" | "/dev/stdin");
                    if device || word.may_be_option() || word.text.starts_with("//") {
                        return refuse(&word.text);
                    }
                    self.note(vec![ReadPath::of(word, true)]);
                }
                Ok(Value::Any)
            }
        }
    }

    fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Template],
        input: &Value,
        redirects: Option<&[Redirect]>,
    ) -> Judged<Option<Value>> {
        if words.is_empty() {
            for assignment in assignments {
                self.assignment(assignment)?;
            }
            // `$(< FILE)` is the file.
            return Ok((redirects.is_some() && assignments.is_empty()).then_some(Value::Any));
        }
        let name = words[0].bare().unwrap_or_default().to_owned();
        let mut separator = false;
        for assignment in assignments {
            let judged = self.for_one_command(assignment, &name);
            separator |= self.soften(judged, false)?;
        }
        let text = self.text_of_input(redirects.unwrap_or_default(), input);
        let mut printed = None;
        for form in self.forms(words)? {
            self.steps += 1 + form.len() / WORDS_A_STEP;
            if form.is_empty() {
                continue;
            }
            self.note_computed(&form);
            let judged = self.run(&form, (input, separator));
            if judged.is_err() || !matches!(name.as_str(), "read" | "mapfile" | "readarray") {
                self.loosen(&form);
            }
            let more = self.soften(judged, Some(Value::Any))?;
            printed = either(printed, more);
            self.ran.push(Ran { words: form, input: text.clone(), is_piped: self.is_piped });
        }
        Ok(printed)
    }

    /// The text of a command's input, where it stands in the command itself.
    fn text_of_input(&self, redirects: &[Redirect], input: &Value) -> Option<String> {
        match redirects.last() {
            Some(Redirect::Document(index)) => self.documents.get(*index)?.literal(),
            Some(_) | None => input.only().map(str::to_owned),
        }
    }

    fn assignment(&mut self, assignment: &Assignment) -> Judged<()> {
        let Assignment { name, append, values, list, subscripts, at } = assignment;
        self.assigned.insert(name.clone());
        for subscript in subscripts {
            self.compute(subscript)?;
        }
        if *list {
            self.lists.insert(name.clone());
        }
        let mut value = if *list {
            let mut elements = Value::Names;
            for form in self.forms(values)? {
                for word in &form {
                    elements = elements.or(of_word(word));
                }
            }
            // Several words come out of it, whatever they are.
            elements
        } else {
            match values.first() {
                Some(value) => self.value(value)?,
                None => Value::text(""),
            }
        };
        if *append {
            let before = self.variable(name, *at);
            let before = self.soften(before, Value::Any)?;
            value = if *list { before.or(value) } else { behind(before, value) };
        }
        if !may_be_set(name) && is_harmless(name, value.only()) {
            self.note_assignment(name);
            self.variables.set(name, value);
            return Ok(());
        }
        self.does_more = true;
        let judged = self.assign(name, value, *at);
        self.soften(judged, ())
    }

    /// An assignment before a command; whether it says what divides words.
    fn for_one_command(&mut self, assignment: &Assignment, command: &str) -> Judged<bool> {
        let value = match assignment.values.first() {
            Some(value) if !assignment.list => self.value(value)?,
            _ => Value::text(""),
        };
        let name = assignment.name.as_str();
        self.assigned.insert(name.to_owned());
        self.does_more |= !is_harmless(name, value.only());
        self.note_held(name, &value);
        if name == "IFS" && command == "read" && !assignment.list {
            return Ok(value.only() != Some(""));
        }
        if assignment.list
            || assignment.append
            || !is_harmless(name, value.only()) && !may_be_set(name)
        {
            let why = "this variable may change what the command does";
            return Err(Refusal::new(assignment.at, name, why));
        }
        Ok(false)
    }

    fn for_loop(
        &mut self,
        name: &str,
        words: &[Template],
        body: &List,
        input: &Value,
        at: usize,
    ) -> Judged<Option<Value>> {
        let mut value: Option<Value> = None;
        for template in words {
            for form in self.forms(std::slice::from_ref(template))? {
                for word in &form {
                    value = either(value, Some(of_word(word)));
                }
            }
        }
        let value = value.unwrap_or_else(|| Value::text(""));
        self.repeat(|all| {
            let judged = all.assign(name, value.clone(), at);
            all.soften(judged, ())?;
            all.list(body, input)
        })
    }

    /// Goes through a loop until nothing new is learned of the variables.
    fn repeat(
        &mut self,
        mut round: impl FnMut(&mut Self) -> Judged<Option<Value>>,
    ) -> Judged<Option<Value>> {
        let (mut entry, mut printed) = (self.variables.clone(), None);
        for count in 0..ROUNDS_MAX {
            self.variables = entry.clone();
            self.loops.push(Vec::new());
            let more = round(self);
            let left = self.loops.pop().unwrap_or_default();
            printed = either(printed, more?);
            let mut after = entry.clone().or(&self.variables);
            for state in &left {
                after = after.or(state);
            }
            if after == entry {
                break;
            }
            entry = if count > 0 { after.widened(&entry) } else { after };
            if count + 1 == ROUNDS_MAX {
                self.is_exhausted = true;
                return Err(Refusal::new(0, "", "what the loop does is not certain"));
            }
        }
        self.variables = entry;
        Ok(printed)
    }

    /// `break`, `continue`, `exit`: what holds here may hold behind every loop around.
    pub(super) fn leave(&mut self) {
        let state = self.variables.clone();
        for states in &mut self.loops {
            states.push(state.clone());
        }
    }

    fn conditional(
        &mut self,
        arms: &[(List, List)],
        otherwise: Option<&List>,
        input: &Value,
    ) -> Judged<Option<Value>> {
        let (mut after, mut printed): (Option<Variables>, _) = (None, None);
        for (condition, body) in arms {
            printed = either(printed, self.list(condition, input)?);
            let before = self.variables.clone();
            printed = either(printed, self.list(body, input)?);
            let done = std::mem::replace(&mut self.variables, before);
            after = Some(after.map_or(done.clone(), |after| after.or(&done)));
        }
        if let Some(otherwise) = otherwise {
            printed = either(printed, self.list(otherwise, input)?);
        }
        if let Some(after) = after {
            self.variables = after.or(&self.variables);
        }
        Ok(printed)
    }

    fn case(
        &mut self,
        word: &Template,
        arms: &[(Vec<Template>, List)],
        falls: bool,
        input: &Value,
    ) -> Judged<Option<Value>> {
        self.pieces(word)?;
        let before = self.variables.clone();
        let (mut after, mut printed) = (before.clone(), None);
        for (patterns, list) in arms {
            self.variables = if falls { after.clone() } else { before.clone() };
            for pattern in patterns {
                self.pieces(pattern)?;
            }
            printed = either(printed, self.list(list, input)?);
            after = after.or(&self.variables);
        }
        self.variables = after;
        Ok(printed)
    }

    /// One test of `[[ … ]]`. Numbers must be numbers: bash runs what other texts hold.
    fn test(&mut self, test: &Test) -> Judged<()> {
        match test {
            Test::Word(word) => self.pieces(word).map(|_| ()),
            Test::Of(operator, word) => {
                if matches!(operator.as_str(), "-v" | "-R") {
                    let value = self.value(word)?;
                    self.is_indirect |= value.only().is_none_or(|name| name.contains('['));
                }
                if !crate::shell::builtin::is_test_of_one(operator) {
                    return Err(Refusal::new(word.at, operator, "not on the list of tests"));
                }
                let file = !matches!(operator.as_str(), "-n" | "-z");
                for form in self.forms(std::slice::from_ref(word))? {
                    if file {
                        self.note(form.iter().map(|word| ReadPath::of(word, false)).collect());
                    }
                }
                Ok(())
            }
            Test::Compare(one, operator, other) => {
                let values = (self.value(one)?, self.value(other)?);
                match operator.as_str() {
                    "=" | "==" | "!=" | "<" | ">" | "=~" | "-nt" | "-ot" | "-ef" => Ok(()),
                    "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                        if values.0.is_number() && values.1.is_number() {
                            return Ok(());
                        }
                        let why = "only numbers may be compared: bash runs what other texts hold";
                        self.is_indirect = true;
                        Err(Refusal::new(one.at, operator, why))
                    }
                    _ => Err(Refusal::new(one.at, operator, "not on the list of tests")),
                }
            }
        }
    }
}

/// Why a loop without an end is refused.
const ENDLESS: &str = "a loop without an end is no read";

/// What is known where one or the other was printed.
pub(super) fn either(one: Option<Value>, other: Option<Value>) -> Option<Value> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.or(other)),
        (one, None) => one,
        (None, other) => other,
    }
}

/// What is known of a word as a text.
pub(super) fn of_word(word: &Word) -> Value {
    let marked = word.text.contains([super::expand::MARK, super::expand::NAMES]);
    if !word.variables.is_empty() {
        Value::Any
    } else if word.text == super::expand::NUMBER {
        Value::Number
    } else if marked || word.glob.is_some() || word.text.contains(super::expand::NUMBER) {
        if word.text.starts_with('-') { Value::Any } else { Value::Names }
    } else {
        Value::Texts([Text { text: word.text.clone(), home: word.tilde }].into())
    }
}
