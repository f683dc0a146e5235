//! What the person's terminal can show: colours, and signs that are not ASCII. Applied to a frame once it is made, so that nobody who
//! draws has to think of it.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// How many colours are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Colours {
    /// None: bold, dim, reversed and signs say it.
    None,
    /// Those that every terminal with colours has.
    Sixteen,
    /// Those of the usual palette.
    Palette,
    /// Any.
    #[default]
    All,
}

/// What a terminal can show. Everything, where nothing is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    colours: Colours,
    is_ascii: bool,
}

/// The sixteen colours, as most terminals show them.
const SIXTEEN: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];

/// The steps of a side of the palette's cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Signs, and what stands for them where there is only ASCII.
const SIGNS: &[(&str, char)] = &[
    ("●•▪◆■", '*'),
    ("○◦◌□", 'o'),
    ("✗✘×", 'x'),
    ("✓✔", '+'),
    ("❯▸▶›»→", '>'),
    ("‹«←◂", '<'),
    ("↑▲", '^'),
    ("↓▼", 'v'),
    ("─━═—–·…⎯", '-'),
    ("│┃║▌▏▎▍▐┆┊", '|'),
    ("├┤┬┴┼╞╪╡╭╮╰╯┌┐└┘╔╗╚╝", '+'),
    ("∴⎿", '~'),
    ("█▓▒░", '#'),
    ("‘’", '\''),
    ("“”", '"'),
    ("\u{a0}", ' '),
];

/// What stands for any other sign.
const UNKNOWN: char = '?';

impl Look {
    /// Reads `NO_COLOR`, `COLORTERM`, `TERM` and the locale. Without a locale nothing is known against signs.
    pub fn of_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = read("TERM").unwrap_or_default();
        let colours = if read("NO_COLOR").is_some() || term.starts_with("vt") || term == "dumb" {
            Colours::None
        } else if read("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit") {
            Colours::All
        } else if term.contains("256") {
            Colours::Palette
        } else {
            Colours::Sixteen
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(read);
        let is_utf8 = |locale: &str| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        };
        Self { colours, is_ascii: locale.is_some_and(|locale| !is_utf8(&locale)) }
    }

    /// Makes a frame one that the terminal can show.
    pub(crate) fn apply(self, frame: &mut Buffer) {
        if self == Self::default() {
            return;
        }
        for cell in &mut frame.content {
            self.colour(cell);
            if self.is_ascii && !cell.symbol().is_ascii() {
                let sign = ascii(cell.symbol());
                cell.set_char(sign);
            }
        }
    }

    /// The same of a text.
    pub(crate) fn text(self, text: String) -> String {
        if self.is_ascii && !text.is_ascii() { text.chars().map(ascii_of).collect() } else { text }
    }

    fn colour(self, cell: &mut Cell) {
        match self.colours {
            Colours::All => {}
            Colours::Palette => [&mut cell.fg, &mut cell.bg].into_iter().for_each(to_palette),
            Colours::Sixteen => [&mut cell.fg, &mut cell.bg].into_iter().for_each(to_sixteen),
            Colours::None => {
                // What colour alone said is said by other means.
                if is_red(cell.fg) && cell.symbol() == "●" {
                    cell.set_char('✗');
                }
                if is_red(cell.fg) || matches!(cell.fg, Color::Yellow | Color::LightYellow) {
                    cell.modifier.insert(Modifier::BOLD);
                }
                if cell.bg != Color::Reset {
                    cell.modifier.toggle(Modifier::REVERSED);
                }
                (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
            }
        }
    }
}

fn is_red(colour: Color) -> bool {
    matches!(colour, Color::Red | Color::LightRed)
}

fn ascii(symbol: &str) -> char {
    symbol.chars().next().map_or(' ', ascii_of)
}

fn ascii_of(sign: char) -> char {
    if sign.is_ascii() {
        return sign;
    }
    SIGNS.iter().find(|(signs, _)| signs.contains(sign)).map_or(UNKNOWN, |(_, ascii)| *ascii)
}

/// What a colour looks like, where it is none of the sixteen.
fn seen(colour: Color) -> Option<[u8; 3]> {
    match colour {
        Color::Rgb(red, green, blue) => Some([red, green, blue]),
        Color::Indexed(index @ 16..=231) => {
            let index = usize::from(index - 16);
            Some([STEPS[index / 36], STEPS[index / 6 % 6], STEPS[index % 6]])
        }
        Color::Indexed(index @ 232..) => Some([(index - 232) * 10 + 8; 3]),
        _ => None,
    }
}

fn to_sixteen(colour: &mut Color) {
    if let Some(seen) = seen(*colour)
        && let Some((nearest, _)) = SIXTEEN.iter().min_by_key(|(_, other)| distance(seen, *other))
    {
        *colour = *nearest;
    }
}

fn to_palette(colour: &mut Color) {
    let Color::Rgb(red, green, blue) = *colour else { return };
    let near = |palette: &u8| {
        let other = seen(Color::Indexed(*palette)).unwrap_or_default();
        distance([red, green, blue], other)
    };
    if let Some(nearest) = (16..=u8::MAX).min_by_key(near) {
        *colour = Color::Indexed(nearest);
    }
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn look(variables: &[(&str, &str)]) -> Look {
        Look::of_variables(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_say_what_a_terminal_can_show() {
        let colours = |variables: &[(&str, &str)]| look(variables).colours;
        assert_eq!(colours(&[("TERM", "xterm-256color")]), Colours::Palette);
        assert_eq!(colours(&[("TERM", "xterm-256color"), ("COLORTERM", "24bit")]), Colours::All);
        assert_eq!(colours(&[("TERM", "linux")]), Colours::Sixteen);
        assert_eq!(colours(&[("TERM", "vt220")]), Colours::None);
        assert_eq!(colours(&[("TERM", "xterm"), ("NO_COLOR", "1")]), Colours::None);
        assert_eq!(colours(&[("TERM", "xterm"), ("NO_COLOR", "")]), Colours::Sixteen);
        let is_ascii = |variables: &[(&str, &str)]| look(variables).is_ascii;
        assert!(!is_ascii(&[]));
        assert!(!is_ascii(&[("LANG", "de_DE.UTF-8")]));
        assert!(!is_ascii(&[("LANG", "C"), ("LC_CTYPE", "C.utf8")]));
        assert!(is_ascii(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]));
        assert!(is_ascii(&[("LC_ALL", ""), ("LANG", "de_DE.ISO-8859-1")]));
    }

    #[test]
    fn without_colours_signs_and_weight_say_the_same() {
        let mut frame = Buffer::empty(Rect::new(0, 0, 4, 1));
        frame.set_string(0, 0, "●", Style::new().fg(Color::Green));
        frame.set_string(1, 0, "●", Style::new().fg(Color::Red));
        frame.set_string(2, 0, "y", Style::new().fg(Color::Yellow));
        frame.set_string(3, 0, "b", Style::new().bg(Color::Blue).fg(Color::White));
        look(&[("NO_COLOR", "1")]).apply(&mut frame);
        let cells: Vec<_> =
            frame.content.iter().map(|cell| (cell.symbol(), cell.modifier)).collect();
        let (none, bold) = (Modifier::empty(), Modifier::BOLD);
        assert_eq!(cells, [("●", none), ("✗", bold), ("y", bold), ("b", Modifier::REVERSED)]);
        assert!(
            frame.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }

    #[test]
    fn few_colours_are_the_nearest_ones() {
        let near = |variables: &[(&str, &str)], colour| {
            let mut frame = Buffer::empty(Rect::new(0, 0, 1, 1));
            frame.set_string(0, 0, "x", Style::new().fg(colour));
            look(variables).apply(&mut frame);
            frame.content[0].fg
        };
        let few = [("TERM", "linux")];
        assert_eq!(near(&few, Color::Rgb(250, 10, 10)), Color::LightRed);
        assert_eq!(near(&few, Color::Indexed(244)), Color::DarkGray);
        assert_eq!(near(&few, Color::Cyan), Color::Cyan);
        let palette = [("TERM", "screen-256color")];
        assert_eq!(near(&palette, Color::Rgb(0, 95, 215)), Color::Indexed(26));
        assert_eq!(near(&palette, Color::Indexed(26)), Color::Indexed(26));
    }

    #[test]
    fn signs_fall_back_to_ascii_in_their_columns() {
        let mut frame = Buffer::empty(Rect::new(0, 0, 12, 1));
        frame.set_string(0, 0, "● ├─ 日本 é❯", Style::new());
        let look = look(&[("LC_ALL", "C")]);
        look.apply(&mut frame);
        let text: String = frame.content.iter().map(Cell::symbol).collect();
        assert_eq!(text, "* +- ? ?  ?>");
        assert_eq!(look.text("a · b … é".into()), "a - b - ?");
    }
}
