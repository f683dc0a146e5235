//! The text at the beginning of a bundle, before its pack. Format: gitformat-bundle(5).

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use super::TravelError;
use crate::ids::Commit;

/// Most bytes of the text: a line for each commit that the receiver must have, and one for the carrier.
const HEADER_BYTES_MAX: u64 = 1024 * 1024;

/// The parts of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// Commits that the receiver must have.
    pub(super) needed: Vec<Commit>,
    /// The one commit that the bundle is for.
    pub(super) head: Commit,
    /// The name of the ref that the sender had it by.
    pub(super) reference: String,
    /// The position of the pack, in bytes.
    pack_at: u64,
}

impl Header {
    /// Reads the text, and leaves the file at the beginning of the pack.
    pub(super) fn read(file: &mut File) -> Result<Self, TravelError> {
        let failed = |error: std::io::Error| TravelError::refused(error.to_string());
        let mut bytes = Vec::new();
        file.take(HEADER_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
        let header = Self::parse(&bytes)?;
        file.seek(SeekFrom::Start(header.pack_at)).map_err(failed)?;
        Ok(header)
    }

    fn parse(bytes: &[u8]) -> Result<Self, TravelError> {
        let end = bytes
            .windows(2)
            .position(|two| two == b"\n\n")
            .ok_or_else(|| TravelError::refused("it does not begin as a bundle does"))?;
        let mut lines = bytes[..end].split(|byte| *byte == b'\n');
        let version = lines.next().unwrap_or_default();
        let has_capabilities = match version {
            b"# v2 git bundle" => false,
            b"# v3 git bundle" => true,
            _ => return Err(TravelError::refused("it is of no version that is known")),
        };
        let (mut needed, mut heads) = (Vec::new(), Vec::new());
        for line in lines {
            match line {
                b"@object-format=sha1" | b"@object-format=sha256" if has_capabilities => {}
                // Such as one that leaves objects out.
                [b'@', ..] => return Err(TravelError::refused("it has parts that are not known")),
                [b'-', line @ ..] => needed.push(object(line)?.0),
                line => heads.push(object(line)?),
            }
        }
        let Ok([(head, reference)]) = <[_; 1]>::try_from(heads) else {
            return Err(TravelError::refused("it is for more refs than one, or for none"));
        };
        let pack_at = u64::try_from(end.saturating_add(2)).unwrap_or(u64::MAX);
        Ok(Self { needed, head, reference, pack_at })
    }
}

/// The name of an object, and what stands behind it.
fn object(line: &[u8]) -> Result<(Commit, String), TravelError> {
    let line = String::from_utf8_lossy(line);
    let (name, rest) = line.split_once(' ').unwrap_or((&line, ""));
    let wrong = |_| TravelError::refused("a line at its beginning names no object");
    Ok((Commit::parse(name).map_err(wrong)?, rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bundles_of_one_ref_without_anything_unknown_are_read() {
        let [one, two] = ["1", "2"].map(|digit| digit.repeat(40));
        let read = |text: &str| Header::parse(text.as_bytes()).map_err(|error| error.to_string());
        let text = format!("# v2 git bundle\n-{one} first\n{two} refs/x\n\nPACK");
        let header = read(&text).unwrap();
        assert_eq!(header.needed, [Commit::parse(&one).unwrap()]);
        assert_eq!((header.head.as_str(), header.reference.as_str()), (two.as_str(), "refs/x"));
        assert_eq!(&text[usize::try_from(header.pack_at).unwrap()..], "PACK");
        let third = format!("# v3 git bundle\n@object-format=sha1\n{two} refs/x\n\n");
        assert!(read(&third).is_ok());
        let refused = [
            String::new(),
            "PACK".to_owned(),
            format!("# v4 git bundle\n{two} refs/x\n\n"),
            format!("# v3 git bundle\n@filter=blob:none\n{two} refs/x\n\n"),
            format!("# v2 git bundle\n@object-format=sha1\n{two} refs/x\n\n"),
            format!("# v2 git bundle\n-{one}\n\n"),
            format!("# v2 git bundle\n{one} refs/x\n{two} refs/y\n\n"),
            "# v2 git bundle\nnothing refs/x\n\n".to_owned(),
        ];
        let said: Vec<String> = refused.iter().map(|text| read(text).unwrap_err()).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        the bundle is refused: it does not begin as a bundle does
        the bundle is refused: it does not begin as a bundle does
        the bundle is refused: it is of no version that is known
        the bundle is refused: it has parts that are not known
        the bundle is refused: it has parts that are not known
        the bundle is refused: it is for more refs than one, or for none
        the bundle is refused: it is for more refs than one, or for none
        the bundle is refused: a line at its beginning names no object
        ");
    }
}
