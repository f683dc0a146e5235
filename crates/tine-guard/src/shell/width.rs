//! The two widths of the shell verdict.

/// How much counts as a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Width {
    /// Only text in which the words that bash would run are certain. It needs no wall: a command that is accepted runs
    /// no program but those that it names, and none of them writes.
    #[default]
    Strict,
    /// The same text, in front of a read-only wall that stands but may show secrets. Programs that git starts are behind it, too.
    Walled,
    /// Also loops, conditions, substitutions and small programs over known readers. It holds only in front of a
    /// read-only wall that stands, where a mistake costs a failed command and nothing else.
    Wide,
}
