//! A question about a tool call, as every face shows it: the screen, the lines of `--plain`, and `tine run` at a terminal.
//!
//! What is shown and what may be answered is decided here, once. The faces add what they are drawn with.

mod answer;
mod asked;

pub use answer::{Choice, Cover, Said, Step, choices, said};
pub use asked::{Asked, AskedLine, Shade, asked_lines, whole};
