//! The terminal itself: taken, given back whatever happens, lent to an editor or to the shell.

use std::io::{self, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, kill_current_process_group};

use super::attention::{Notify, RESTORE_TITLE, SAVE_TITLE, title};

/// Whether the terminal is ours at this moment.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, ours until this is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// True while the screen has the mouse.
    has_mouse: bool,
    /// The way in which the person is called.
    pub(super) notify: Notify,
    /// The title that the terminal was given.
    title: String,
}

impl Screen {
    /// Takes the terminal, for this thread. A panic here gives it back before it says why; of one elsewhere the screen goes on,
    /// and what it would have said across it is kept for [`last_panic`]. The mouse is taken, too, where `has_mouse` says so.
    pub(super) fn take(has_mouse: bool) -> io::Result<Self> {
        let usual = std::panic::take_hook();
        let draws = thread::current().id();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == draws || !TAKEN.load(Ordering::SeqCst) {
                give_back();
                usual(panic);
            } else {
                *panicked() = Some(panic.to_string());
            }
        }));
        enter(has_mouse)?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(Self { terminal, has_mouse, notify: Notify::default(), title: String::new() })
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

    /// Calls the person. The text says why, and must hold no control character.
    pub(super) fn call(&mut self, why: &str) -> io::Result<()> {
        execute!(stdout(), Print(self.notify.sequence(why)))
    }

    /// Gives the terminal a title, which must hold no control character. The one that it had comes back with the shell.
    pub(super) fn set_title(&mut self, text: String) -> io::Result<()> {
        if self.title == text {
            return Ok(());
        }
        self.title = text;
        execute!(stdout(), Print(title(&self.title)))
    }

    /// Takes the mouse, or leaves it to the terminal, which selects text with it.
    pub(super) fn take_mouse(&mut self, takes: bool) -> io::Result<()> {
        self.has_mouse = takes;
        if takes {
            execute!(stdout(), EnableMouseCapture)
        } else {
            execute!(stdout(), DisableMouseCapture)
        }
    }

    /// Gives the terminal back for as long as something else needs it.
    pub(super) fn give(&mut self) -> io::Result<()> {
        give_back();
        Ok(())
    }

    /// Takes it again.
    pub(super) fn take_back(&mut self) -> io::Result<()> {
        enter(self.has_mouse)?;
        self.title.clear();
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

/// What the last panic of another thread said, and where it was.
pub(super) fn last_panic() -> Option<String> {
    panicked().take()
}

fn panicked() -> MutexGuard<'static, Option<String>> {
    static PANICKED: Mutex<Option<String>> = Mutex::new(None);
    PANICKED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn enter(has_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(
        stdout(),
        Print(SAVE_TITLE),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange
    )?;
    if has_mouse {
        execute!(stdout(), EnableMouseCapture)?;
    }
    Ok(())
}

/// Once, however often it is asked for.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // First of all: an Enter that is typed as soon as the screen has gone must end a line, which it does not do in raw mode.
        let _ = disable_raw_mode();
        // Nothing is left to tell of a terminal that does not listen.
        let _ = execute!(
            stdout(),
            EndSynchronizedUpdate,
            DisableMouseCapture,
            DisableFocusChange,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Print(RESTORE_TITLE),
            crossterm::cursor::Show
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tine_testkit::pty::{Place, Terminal};

    use super::*;

    const TAKES: &str = "\u{1b}[?1049h";
    const GIVES_BACK: &str = "\u{1b}[?1049l";

    /// Says to the test, run by itself in a terminal, which thread is to panic.
    const WHO: &str = "TINE_TUI_WHO_PANICS";

    struct Here(tempfile::TempDir);

    impl Place for Here {
        fn program(&self) -> PathBuf {
            std::env::current_exe().unwrap()
        }

        fn home(&self) -> PathBuf {
            self.0.path().to_owned()
        }

        fn work(&self) -> PathBuf {
            self.home()
        }
    }

    /// What a terminal is sent by this test itself, in which somebody panics.
    fn sent(who: &str) -> String {
        let test =
            "drive::terminal::tests::a_panic_gives_the_terminal_back_and_one_elsewhere_does_not";
        let here = Here(tempfile::tempdir().unwrap());
        Terminal::start_with(&here, &["--exact", test, "--nocapture"], &[(WHO, who)]).end().1
    }

    fn panic_in_a_terminal(who: &str) {
        let mut screen = Screen::take(false).unwrap();
        if who == "here" {
            panic!("boom");
        }
        std::thread::spawn(|| panic!("boom")).join().unwrap_err();
        screen.draw(|frame| frame.render_widget("draws", frame.area())).unwrap();
        drop(screen);
        println!("kept: {:?}", last_panic());
    }

    #[test]
    fn a_panic_gives_the_terminal_back_and_one_elsewhere_does_not() {
        if let Ok(who) = std::env::var(WHO) {
            return panic_in_a_terminal(&who);
        }
        let places = |text: &str, words: &[&str]| -> Vec<usize> {
            words.iter().map(|word| text.find(word).unwrap_or_else(|| panic!("{text}"))).collect()
        };
        let text = sent("here");
        assert!(places(&text, &[TAKES, GIVES_BACK, "boom", "FAILED"]).is_sorted(), "{text}");
        let text = sent("elsewhere");
        let in_order = [TAKES, "draws", GIVES_BACK, "kept: Some(", "boom"];
        assert!(places(&text, &in_order).is_sorted(), "{text}");
    }
}
