//! The terminal itself: taken, given back whatever happens, lent to an editor or to the shell.

use std::io::{self, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, kill_current_process_group};

/// Whether the terminal is ours at this moment.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, ours until this is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Whether the terminal keeps the mouse.
    is_without_mouse: bool,
}

impl Screen {
    /// Takes the terminal. A panic gives it back before it says why.
    pub(super) fn take() -> io::Result<Self> {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            usual(panic);
        }));
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(Self { terminal, is_without_mouse: false })
    }

    /// Draws a frame: only what changed is sent, and a terminal that knows synchronized output shows it all at once.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        queue!(stdout(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(draw).map(drop);
        execute!(stdout(), EndSynchronizedUpdate)?;
        drawn
    }

    /// Draws everything anew with the next frame.
    ///
    /// Ratatui's own `clear` asks the terminal where its cursor is, and fails where that does not answer at once.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        execute!(stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(())
    }

    /// Puts a text on the clipboard, of a terminal that lets programs do so (OSC 52); over SSH, too.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Takes the mouse, or leaves it to the terminal, which selects text with it.
    pub(super) fn take_mouse(&mut self, takes: bool) -> io::Result<()> {
        self.is_without_mouse = !takes;
        match takes {
            true => execute!(stdout(), EnableMouseCapture),
            false => execute!(stdout(), DisableMouseCapture),
        }
    }

    /// Gives the terminal back for as long as something else needs it.
    pub(super) fn give(&mut self) -> io::Result<()> {
        give_back();
        Ok(())
    }

    /// Takes it again.
    pub(super) fn take_back(&mut self) -> io::Result<()> {
        enter()?;
        if self.is_without_mouse {
            execute!(stdout(), DisableMouseCapture)?;
        }
        self.clear()
    }

    /// Back to the shell, until it lets this process go on.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        give_back();
        // The whole group, as the terminal itself does it.
        kill_current_process_group(Signal::TSTP)?;
        self.take_back()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableMouseCapture)
}

/// Once, however often it is asked for.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nothing is left to tell of a terminal that does not listen.
        let _ = execute!(
            stdout(),
            EndSynchronizedUpdate,
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            crossterm::cursor::Show
        );
        let _ = disable_raw_mode();
    }
}
