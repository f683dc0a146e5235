//! The view of a wall as its stages are told to build it, kept true while commands of the wall move files about.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::finder::{Finder, Found};
use super::namespace::{
    Anchors, PathText, Setup, StageProgram, Wanted, cover, cover_sockets, try_view, view,
};
use super::sockets;

/// A view that was built once, without a command in it.
pub(super) struct View {
    pub(super) program: StageProgram,
    finder: Finder,
    state: Mutex<State>,
}

struct State {
    setup: Setup,
    /// The same as text.
    order: Arc<[u8]>,
    anchors: Anchors,
    /// Socket files of others that are covered.
    sockets: BTreeSet<PathBuf>,
    is_complete: bool,
}

impl State {
    fn new(mut setup: Setup, found: &Found) -> io::Result<Self> {
        let (mut anchors, has_room) = cover(&mut setup, found);
        let sockets = of_others(&setup);
        cover_sockets(&mut setup, &mut anchors, &sockets);
        let is_complete = found.is_complete && has_room;
        Ok(Self { order: text(&setup)?, setup, anchors, sockets, is_complete })
    }

    /// Covers the socket files that others have made since.
    fn cover_new_sockets(&mut self) -> io::Result<()> {
        let now = of_others(&self.setup);
        let new: BTreeSet<PathBuf> = now.difference(&self.sockets).cloned().collect();
        if !new.is_empty() {
            cover_sockets(&mut self.setup, &mut self.anchors, &new);
            self.order = text(&self.setup)?;
            self.sockets.extend(new);
        }
        Ok(())
    }
}

/// The socket files of others, where a command could make a socket to reach them by.
fn of_others(setup: &Setup) -> BTreeSet<PathBuf> {
    if setup.rules.has_loopback { sockets::of_others() } else { BTreeSet::new() }
}

fn text(setup: &Setup) -> io::Result<Arc<[u8]>> {
    let mut text = serde_json::to_vec(setup)?;
    text.push(b'\n');
    Ok(text.into())
}

impl View {
    /// A view that covers what was `found`, which `finder` looks for again when it was moved. Tries the view. Blocks.
    pub(super) fn new(
        program: &StageProgram,
        wanted: &Wanted<'_>,
        (finder, found): (Finder, Found),
    ) -> io::Result<Self> {
        let state = State::new(view(wanted)?, &found)?;
        try_view(program, &state.order)?;
        Ok(Self { program: program.clone(), finder, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The order for the stages, as things stand now.
    pub(super) fn order(&self) -> io::Result<Arc<[u8]>> {
        let mut state = self.state();
        state.cover_new_sockets()?;
        Ok(Arc::clone(&state.order))
    }

    /// Returns true if all secrets were looked for.
    pub(super) fn is_complete(&self) -> bool {
        self.state().is_complete
    }

    /// Returns true if the path is covered, or lies below what is covered.
    pub(super) fn masks(&self, path: &Path) -> bool {
        self.state().setup.masked.iter().any(|secret| path.starts_with(secret.path.path()))
    }

    /// The paths that are covered.
    pub(super) fn masked(&self) -> Vec<PathBuf> {
        self.state().setup.masked.iter().map(|secret| secret.path.path()).collect()
    }

    /// The paths that commands cannot change, though they lie where commands may write.
    pub(super) fn protected(&self) -> Vec<PathBuf> {
        self.state().setup.protected.iter().map(PathText::path).collect()
    }

    /// Returns true if what the order names still lies where it says.
    pub(super) fn is_current(&self) -> bool {
        self.state().anchors.hold()
    }

    /// Makes the order anew where something was moved or removed. Fails where a secret cannot be found any more. Blocks, for
    /// some seconds at the most.
    pub(super) fn refresh(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.anchors.hold() {
            return Ok(());
        }
        let found = self.finder.find_again(&state.anchors.left())?;
        *state = State::new(state.setup.clone(), &found)?;
        Ok(())
    }
}
