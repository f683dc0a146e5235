//! The view of a wall as its stages are told to build it, kept true while commands of the wall move files about.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::finder::{Finder, Found};
use super::namespace::{Anchors, Setup, StageProgram, Wanted, cover, try_view, view};

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
    is_complete: bool,
}

impl State {
    fn new(mut setup: Setup, found: &Found) -> io::Result<Self> {
        let (anchors, has_room) = cover(&mut setup, found);
        let mut text = serde_json::to_vec(&setup)?;
        text.push(b'\n');
        let is_complete = found.is_complete && has_room;
        Ok(Self { setup, order: text.into(), anchors, is_complete })
    }
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

    /// The order for the stages.
    pub(super) fn order(&self) -> Arc<[u8]> {
        Arc::clone(&self.state().order)
    }

    /// Returns true if all secrets were looked for.
    pub(super) fn is_complete(&self) -> bool {
        self.state().is_complete
    }

    /// Returns true if the path is covered, or lies below what is covered.
    pub(super) fn masks(&self, path: &Path) -> bool {
        self.state().setup.masked.iter().any(|secret| path.starts_with(secret.path.path()))
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
