//! A reply that comes in, told in pieces that can be listened to: whole lines and sentences.

/// What of the reply under way was told.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    text: String,
    /// The texts of the log that were told last: the reply that they were may still be there as one under way.
    done: String,
}

/// Where a listener may stop.
const ENDS: [&str; 5] = ["\n", ". ", "! ", "? ", ": "];

impl Streamed {
    /// Whether something was told that is not written yet.
    pub(super) fn is_begun(&self) -> bool {
        !self.text.is_empty()
    }

    /// What is new of the reply, as far as a sentence or a line of it has ended.
    pub(super) fn grown(&mut self, reply: &str) -> String {
        if self.is_done(reply) {
            return String::new();
        }
        self.done.clear();
        let Some(rest) = reply.strip_prefix(self.text.as_str()) else {
            if self.text.starts_with(reply) {
                // The same again from its beginning, after a retry.
                return String::new();
            }
            // Another reply: what was told of the last one stays told.
            let begun = !self.text.is_empty();
            self.text.clear();
            let new = self.grown(reply);
            return if begun && !new.is_empty() { format!("\n{new}") } else { new };
        };
        let end = ENDS.iter().filter_map(|end| rest.rfind(end).map(|at| at + end.len())).max();
        let new = rest[..end.unwrap_or(0)].to_owned();
        self.text.push_str(&new);
        new
    }

    /// Words of the person are told: what the model says from now on is another reply.
    pub(super) fn next(&mut self) {
        self.done.clear();
    }

    /// Returns true for a reply that the log has told already, or the beginning of it.
    fn is_done(&self, reply: &str) -> bool {
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        !reply.is_empty() && letters(&self.done).starts_with(&letters(reply))
    }

    /// What is still to be told of a text of the log.
    pub(super) fn written(&mut self, text: &str) -> String {
        self.done.push_str(text);
        if let Some(rest) = text.strip_prefix(self.text.as_str()) {
            let rest = rest.to_owned();
            self.text.clear();
            return rest;
        }
        // A reply may become several texts.
        if let Some(later) = self.text.strip_prefix(text) {
            self.text = later.to_owned();
            return String::new();
        }
        self.text.clear();
        format!("\n{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_once_they_end_and_the_rest_when_it_is_written() {
        let mut streamed = Streamed::default();
        assert_eq!(streamed.grown("It is. I th"), "It is. ");
        assert_eq!(streamed.grown("It is. I think so.\nYe"), "I think so.\n");
        assert_eq!(streamed.grown(""), "");
        assert_eq!(streamed.written("It is. I think so.\nYes"), "Yes");
        assert_eq!(streamed.written("More"), "More");
    }

    #[test]
    fn a_reply_that_begins_again_is_not_told_twice() {
        let mut streamed = Streamed::default();
        assert_eq!(streamed.grown("One. Two. Th"), "One. Two. ");
        assert_eq!(streamed.grown("One"), "");
        assert_eq!(streamed.grown("One. Two. Three. "), "Three. ");
        assert_eq!(streamed.grown("Other. "), "\nOther. ");
        assert_eq!(streamed.written("Other. "), "");
    }

    #[test]
    fn a_reply_of_the_log_is_not_told_again_while_it_is_still_under_way() {
        let mut streamed = Streamed::default();
        assert_eq!(streamed.written("One. "), "One. ");
        assert_eq!(streamed.written("Two. "), "Two. ");
        assert_eq!(streamed.grown("One. Tw"), "");
        assert_eq!(streamed.grown("One.\n\nTwo. "), "");
        // The next one may begin as the last one did.
        assert_eq!(streamed.grown(""), "");
        assert_eq!(streamed.grown("One. "), "One. ");
        assert_eq!(streamed.written("One. More"), "More");
        assert_eq!(streamed.grown("One. Other. "), "One. Other. ");
    }

    #[test]
    fn one_reply_may_be_two_texts_of_the_log() {
        let mut streamed = Streamed::default();
        assert_eq!(streamed.grown("A. B. "), "A. B. ");
        assert_eq!(streamed.written("A. "), "");
        assert_eq!(streamed.written("B. C"), "C");
    }
}
