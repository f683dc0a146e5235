//! A question about a tool call, as every face shows it: the screen, the lines of `--plain`, and `tine run` at a terminal.
//!
//! This module decides once what is shown and what may be answered. The faces add what they are drawn with.

mod answer;
mod asked;
mod look_alike;

pub use answer::{Choice, Cover, Said, Step, choices, said};
pub use asked::{Asked, AskedLine, Shade, asked_lines, whole};
pub use look_alike::warning;
