//! Programs that show the machine, in commands that run behind a wall whatever they are.

use crate::shell::OF_THE_MACHINE;

/// Characters behind which a command may begin.
const SEPARATORS: [char; 9] = ['\n', ';', '&', '|', '(', '`', '{', '!', '='];

/// Words that stand before a command.
const BEFORE: [&str; 8] = ["sudo", "command", "exec", "time", "then", "do", "else", "xargs"];

/// The programs in a command text that show the machine (processes, network, disks, users), of which a command behind a wall sees
/// only its own part: sorted, each once. A guess from the text, for a hint: what stands in quotes or scripts is not told apart.
pub fn shows_machine(command: &str) -> Vec<&'static str> {
    let pieces = command.split(SEPARATORS).filter_map(|piece| {
        piece.split_whitespace().find(|word| !BEFORE.contains(word) && !word.contains('='))
    });
    let words: Vec<&str> = pieces.map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    OF_THE_MACHINE.into_iter().filter(|name| words.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_a_command_begins() {
        let check = |command: &str| shows_machine(command).join(" ");
        insta::assert_snapshot!(check("ss -tlnp | grep 3000; /bin/ps aux"), @"ps ss");
        insta::assert_snapshot!(check("x=$(pgrep node) && sudo lsof -i :3000 || true"), @"lsof pgrep");
        insta::assert_snapshot!(check("if ! pgrep x; then df -h; fi"), @"df pgrep");
        insta::assert_snapshot!(check("echo ps; git log --last; cat ss.txt; vim w"), @"");
    }
}
