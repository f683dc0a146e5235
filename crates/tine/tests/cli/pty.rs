//! The program in a pseudo-terminal, at home where a test is.

use std::path::PathBuf;

pub(crate) use tine_testkit::pty::{COLUMNS, Place, Terminal, plain};

use crate::support::Home;

impl Place for Home {
    fn program(&self) -> PathBuf {
        env!("CARGO_BIN_EXE_tine").into()
    }

    fn home(&self) -> PathBuf {
        self.path()
    }

    fn work(&self) -> PathBuf {
        Self::work(self)
    }
}
