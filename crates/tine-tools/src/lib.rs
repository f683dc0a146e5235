//! Built-in tools: frozen schemas and execution.
//!
//! A tool takes the arguments as the model wrote them and gives back text. Whatever goes wrong, from
//! a missing field to a failed command, is a [`ToolOutput`] that the model sees; nothing here is an
//! error of the run. This crate never decides whether a call may happen: whoever calls [`Tool::run`]
//! has already asked the guard, and says with [`Place::judged`] which real path was judged. That path is
//! opened below a directory's handle without following links, so check and use are one act.
//!
//! Tools must run inside a tokio runtime whose input/output and time drivers are on. Unix only:
//! commands are ended through their process group.

mod arguments;
mod bash;
mod beneath;
mod caller;
mod detached;
mod disk;
mod editor;
mod file_edit;
mod file_read;
mod file_write;
mod foreground;
mod glob;
mod grep;
mod ground;
mod leftover;
mod linked;
mod output_watcher;
mod own_git;
mod paths;
mod place;
mod preview;
mod processes;
mod repl;
mod repository;
mod show;
mod shown;
mod sweep;
mod tool;
mod toolbox;
mod unread;
mod walk;
mod wall;
mod watchdog;

pub use arguments::wrong_argument;
pub use bash::{Background, Bash, BashOutput, is_withheld_variable};
pub use caller::Caller;
pub use detached::{Detached, hide_environment, is_environment_hidden, leave_session};
pub use editor::{edit_file, page, printed_by};
pub use file_edit::FileEdit;
pub use file_read::{FileRead, known_text};
pub use file_write::FileWrite;
pub use foreground::{ProgramEnd, run_in_foreground};
pub use glob::Glob;
pub use grep::Grep;
pub use leftover::{AGENT_VARIABLE, can_find_leftovers, end_leftovers, find_leftovers};
pub use linked::part_linked_worktree;
pub use output_watcher::OutputWatcher;
pub use own_git::{GIT_LOOK_TIME_MAX, GitCall, GitCallError};
pub use place::{Limits, Place, PlaceError, RootError, Withheld};
pub use preview::{Preview, preview};
pub use repl::Repl;
pub use shown::{ShownFile, files_shown_whole};
pub use sweep::{SWEEP_ENTRIES_MAX, Swept, sweep};
pub use tool::{Effect, Tool, ToolOutput, ToolSpec};
pub use toolbox::{Toolbox, ToolboxError};
pub use unread::refuse_unread;
#[cfg(feature = "fuzzing")]
pub use wall::read_request;
pub use wall::{
    CERTIFICATE_VARIABLES, CommandLimit, CommandLimits, CommandLimitsSet, Enclosure, Gap,
    GitProgram, Ground, Metadata, Missing, PASSED_VARIABLES, ProgramWall, ProgramWallError,
    Readable, ResourceLimits, STAGE_ARGUMENT, StageProgram, Support, Wall, WallError,
    clear_temporary, has_control_groups, stage_of,
};
