//! Patches as Codex's `apply_patch` takes them: a text with changes of files, one below the other.

/// The lines around a patch.
const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Beginnings of the lines of a patch that are no lines of a file.
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// A new file.
    Add { path: String, content: String },
    /// A file that goes.
    Delete { path: String },
    /// A file that changes, and perhaps its name.
    Update { path: String, move_to: Option<String>, hunks: Vec<Hunk> },
}

impl Change {
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Delete { path } | Self::Update { path, .. } => path,
        }
    }
}

/// Lines of a file that change, with lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hunk {
    /// Lines that stand somewhere before, one after the other, such as the head of a function.
    pub(super) anchors: Vec<String>,
    pub(super) lines: Vec<Line>,
    /// It ends where the file ends.
    pub(super) is_at_end: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Kept(String),
    Removed(String),
    Added(String),
}

/// Reads a patch. The error says what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Vec<Change>, String> {
    let lines: Vec<&str> = text.lines().collect();
    let is = |mark: &'static str| move |line: &&str| line.trim() == mark;
    let Some(begin) = lines.iter().position(is(BEGIN)) else {
        return Err(format!("it does not begin with `{BEGIN}`"));
    };
    let Some(end) = lines.iter().rposition(is(END)).filter(|end| *end > begin) else {
        return Err(format!("it does not end with `{END}`"));
    };
    let mut reader = Reader { changes: Vec::new() };
    for (number, line) in lines.iter().enumerate().take(end).skip(begin + 1) {
        reader.line(line).map_err(|why| format!("line {}: {why}", number + 1))?;
    }
    reader.finish()
}

struct Reader {
    changes: Vec<Change>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let path = |name: &str| match name.trim() {
            "" => Err("the file has no name".to_owned()),
            name => Ok(name.to_owned()),
        };
        if let Some(name) = line.strip_prefix(ADD) {
            self.changes.push(Change::Add { path: path(name)?, content: String::new() });
        } else if let Some(name) = line.strip_prefix(DELETE) {
            self.changes.push(Change::Delete { path: path(name)? });
        } else if let Some(name) = line.strip_prefix(UPDATE) {
            let (path, hunks) = (path(name)?, Vec::new());
            self.changes.push(Change::Update { path, move_to: None, hunks });
        } else {
            return match self.changes.last_mut() {
                None if line.trim().is_empty() => Ok(()),
                None => Err(format!("a file comes first, such as `{UPDATE}src/a.rs`")),
                Some(Change::Delete { .. }) if line.trim().is_empty() => Ok(()),
                Some(Change::Delete { .. }) => Err("a file that goes has no lines".to_owned()),
                Some(Change::Add { content, .. }) => added(content, line),
                Some(Change::Update { move_to, hunks, .. }) => match line.strip_prefix(MOVE) {
                    Some(name) if hunks.is_empty() && move_to.is_none() => {
                        *move_to = Some(path(name)?);
                        Ok(())
                    }
                    Some(_) => Err(format!("`{MOVE}` stands right below `{UPDATE}`")),
                    None => updated(hunks, line),
                },
            };
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<Change>, String> {
        if self.changes.is_empty() {
            return Err("it changes no file".to_owned());
        }
        for (index, change) in self.changes.iter().enumerate() {
            let path = change.path();
            if self.changes[..index].iter().any(|before| before.path() == path) {
                return Err(format!("it names `{path}` twice; put all its hunks below one line"));
            }
            if let Change::Update { hunks, move_to, .. } = change {
                let changes =
                    |hunk: &Hunk| hunk.lines.iter().any(|line| !matches!(line, Line::Kept(_)));
                match hunks.iter().position(|hunk| !changes(hunk)) {
                    Some(hunk) => {
                        return Err(format!("hunk {} of `{path}` changes nothing", hunk + 1));
                    }
                    None if hunks.is_empty() && move_to.is_none() => {
                        return Err(format!("it has no hunk for `{path}`"));
                    }
                    None => {}
                }
            }
        }
        Ok(self.changes)
    }
}

fn added(content: &mut String, line: &str) -> Result<(), String> {
    match line.strip_prefix('+') {
        Some(text) => {
            content.push_str(text);
            content.push('\n');
            Ok(())
        }
        None if line.trim().is_empty() => Ok(()),
        None => Err("each line of a new file begins with `+`".to_owned()),
    }
}

fn updated(hunks: &mut Vec<Hunk>, line: &str) -> Result<(), String> {
    if line == "@@" || line.starts_with("@@ ") {
        let anchor = line[2..].trim();
        // Anchors below each other belong to one hunk.
        if hunks.last().is_none_or(|hunk| !hunk.lines.is_empty()) {
            hunks.push(Hunk::default());
        }
        if let (Some(hunk), false) = (hunks.last_mut(), anchor.is_empty()) {
            hunk.anchors.push(line[3..].to_owned());
        }
        return Ok(());
    }
    if line.trim_end() == END_OF_FILE {
        return match hunks.last_mut() {
            Some(hunk) => {
                hunk.is_at_end = true;
                Ok(())
            }
            None => Err(format!("`{END_OF_FILE}` stands behind a hunk")),
        };
    }
    let line = match line.chars().next() {
        // A blank at the end of a line is easily lost.
        None => Line::Kept(String::new()),
        Some(' ') => Line::Kept(line[1..].to_owned()),
        Some('-') => Line::Removed(line[1..].to_owned()),
        Some('+') => Line::Added(line[1..].to_owned()),
        Some(_) => {
            return Err("each line of a hunk begins with ` `, `+`, `-` or `@@`".to_owned());
        }
    };
    if hunks.last().is_none_or(|hunk| hunk.is_at_end) {
        hunks.push(Hunk::default());
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines.push(line);
    }
    Ok(())
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
