//! Numbers for people: tokens, money, time.

/// Tokens in at most five characters: `950`, `12.3k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    let scaled = |unit: u64, sign: char| {
        let tenths = (u128::from(count) * 10 + u128::from(unit) / 2) / u128::from(unit);
        match tenths {
            0..1000 => format!("{}.{}{sign}", tenths / 10, tenths % 10),
            _ => format!("{}{sign}", (u128::from(count) + u128::from(unit) / 2) / u128::from(unit)),
        }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => scaled(1_000, 'k'),
        _ => scaled(1_000_000, 'M'),
    }
}

/// A whole number with its thousands apart: `12,345`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Dollars: `$1.23`, and four places below a dollar.
pub fn money(dollars: f64) -> String {
    const SMALLEST: f64 = 0.000_05;
    if dollars <= 0.0 {
        "$0".to_owned()
    } else if dollars < SMALLEST {
        "<$0.0001".to_owned()
    } else if dollars < 0.999_95 {
        format!("${dollars:.4}")
    } else {
        format!("${dollars:.2}")
    }
}

/// A span of time: `0.4 s`, `12 s`, `2 min 5 s`.
pub fn span(milliseconds: u64) -> String {
    match milliseconds {
        0..9_950 => format!("{}.{} s", (milliseconds + 50) / 1_000, (milliseconds + 50) / 100 % 10),
        9_950..59_500 => format!("{} s", (milliseconds + 500) / 1_000),
        _ => {
            let seconds = (milliseconds + 500) / 1_000;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

/// An amount of bytes, such as `12 B`, `3.4 kB` or `500 MB`.
pub fn bytes(count: u64) -> String {
    let mut amount = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if amount < 999.5 {
            let places = if amount < 10.0 && unit != "B" { 1 } else { 0 };
            return format!("{amount:.places$} {unit}");
        }
        amount /= 1000.0;
    }
    format!("{amount:.1} TB")
}

/// A number and its noun: `1 turn`, `3 turns`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stay_short() {
        let texts: Vec<String> =
            [0, 999, 1_000, 12_345, 99_949, 99_950, 999_499, 999_500, 1_250_000, u64::MAX]
                .map(tokens)
                .to_vec();
        insta::assert_snapshot!(texts.join(" "), @"0 999 1.0k 12.3k 99.9k 100k 999k 1.0M 1.3M 18446744073710M");
    }

    #[test]
    fn thousands_are_apart() {
        insta::assert_snapshot!(
            [0, 12, 123, 1_234, 123_456, 1_234_567].map(grouped).join(" "),
            @"0 12 123 1,234 123,456 1,234,567"
        );
    }

    #[test]
    fn money_has_as_many_places_as_it_needs() {
        insta::assert_snapshot!(
            [0.0, 0.000_01, 0.000_1, 0.012_34, 0.999_96, 12.345].map(money).join(" "),
            @"$0 <$0.0001 $0.0001 $0.0123 $1.00 $12.35"
        );
    }

    #[test]
    fn time_is_rounded() {
        insta::assert_snapshot!(
            [0, 449, 9_949, 9_950, 59_499, 59_500, 125_000].map(span).join(", "),
            @"0.0 s, 0.4 s, 9.9 s, 10 s, 59 s, 1 min 0 s, 2 min 5 s"
        );
    }
}
