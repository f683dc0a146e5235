//! Chance that is the same each time.

/// The `number`th draw of a sequence: from 0 to below 1.
pub(crate) fn draw(sequence: u64, number: u64) -> f64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&sequence.to_le_bytes()).update(&number.to_le_bytes());
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
}
