//! The recording as a picture that moves: SVG, for pages that play no recordings.

use std::fmt::Write as _;

use vt100::{Color, Screen};

/// Pixels of a column and of a line.
const COLUMN_PX: f64 = 8.4;
const LINE_PX: f64 = 18.0;

/// Pixels around the screen.
const MARGIN_PX: f64 = 14.0;

const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d8dae0";

/// The sixteen colours of a terminal.
const COLOURS: [&str; 16] = [
    "#3b3f46", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dae0",
    "#7f848e", "#f0868e", "#b0d894", "#f0d090", "#80c4ff", "#d896ea", "#74ccd8", "#ffffff",
];

/// A screen, and when it is shown and replaced, in seconds.
pub(crate) struct Frame {
    pub(crate) screen: Screen,
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
}

/// The frames one after the other, again and again.
pub(crate) fn svg(frames: &[Frame], title: &str) -> String {
    let Some(last) = frames.last() else { return String::new() };
    let (rows, columns) = last.screen.size();
    let (width, height) = (
        f64::from(columns) * COLUMN_PX + 2.0 * MARGIN_PX,
        f64::from(rows) * LINE_PX + 2.0 * MARGIN_PX,
    );
    let whole_s = last.to_s;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n",
        escaped(title)
    );
    for frame in frames {
        let (from, to) = (frame.from_s / whole_s, (frame.to_s / whole_s).min(1.0));
        let (values, times) = match (from <= 0.0, to >= 1.0) {
            (true, _) => ("visible;hidden".to_owned(), format!("0;{to:.4}")),
            (false, true) => ("hidden;visible".to_owned(), format!("0;{from:.4}")),
            (false, false) => ("hidden;visible;hidden".to_owned(), format!("0;{from:.4};{to:.4}")),
        };
        // Where nothing moves, the first one is seen.
        let first = if from <= 0.0 { "visible" } else { "hidden" };
        let _ = writeln!(
            svg,
            "<g visibility=\"{first}\"><animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"{whole_s:.1}s\" \
             repeatCount=\"indefinite\" values=\"{values}\" keyTimes=\"{times}\"/>"
        );
        lines(&mut svg, &frame.screen);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// How a run of cells looks.
#[derive(PartialEq, Clone)]
struct Look {
    colour: &'static str,
    back: Option<&'static str>,
    is_bold: bool,
    is_dim: bool,
}

fn lines(svg: &mut String, screen: &Screen) {
    let (rows, columns) = screen.size();
    for row in 0..rows {
        let mut at = 0;
        while at < columns {
            let Some(look) = look_at(screen, row, at) else {
                at += 1;
                continue;
            };
            let (from, mut text) = (at, String::new());
            while at < columns && look_at(screen, row, at).as_ref() == Some(&look) {
                let cell = screen.cell(row, at);
                let letters = cell.map(|cell| cell.contents()).filter(|text| !text.is_empty());
                text.push_str(letters.unwrap_or(" "));
                at += 1;
            }
            run(svg, (row, from), &text, (at - from, &look));
        }
    }
}

/// The look of a cell; `None` where there is nothing to be seen.
fn look_at(screen: &Screen, row: u16, column: u16) -> Option<Look> {
    let cell = screen.cell(row, column)?;
    let is_blank = cell.contents().trim().is_empty();
    if is_blank && !cell.inverse() && cell.bgcolor() == Color::Default {
        return None;
    }
    let (mut front, mut back) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    if cell.inverse() {
        (front, back) = (Some(back.unwrap_or(BACKGROUND)), Some(front.unwrap_or(FOREGROUND)));
    }
    let colour = front.unwrap_or(FOREGROUND);
    Some(Look { colour, back, is_bold: cell.bold(), is_dim: cell.dim() })
}

fn colour(colour: Color) -> Option<&'static str> {
    match colour {
        Color::Idx(index) => COLOURS.get(usize::from(index)).copied(),
        Color::Default | Color::Rgb(..) => None,
    }
}

fn run(svg: &mut String, (row, from): (u16, u16), text: &str, (columns, look): (u16, &Look)) {
    let x = MARGIN_PX + f64::from(from) * COLUMN_PX;
    let top = MARGIN_PX + f64::from(row) * LINE_PX;
    let width = f64::from(columns) * COLUMN_PX;
    if let Some(back) = look.back {
        let _ = write!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{LINE_PX}\" fill=\"{back}\"/>"
        );
    }
    let bold = if look.is_bold { " font-weight=\"bold\"" } else { "" };
    let dim = if look.is_dim { " opacity=\".6\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text xml:space=\"preserve\" x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" fill=\"{}\"{bold}{dim}>{}</text>",
        top + LINE_PX * 0.75,
        look.colour,
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
