//! Bodies without the compression that they came in.

use std::io::{self, Read};

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// Reads a body that came in these parts, in the encoding that its headers name. `None` where it cannot be: the encoding is not known, the
/// data is damaged, or there are more than `bytes_max` bytes.
pub fn decoded(headers: &HeaderMap, parts: &[Bytes], bytes_max: usize) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let limit = bytes_max as u64 + 1;
    let encodings = headers.get_all(CONTENT_ENCODING).iter();
    let encodings: Vec<&str> = encodings.map(|value| value.to_str().ok()).collect::<Option<_>>()?;
    let parts = Parts { parts, read: 0 };
    let encoding = encodings.join(",").trim().to_ascii_lowercase();
    let read = match encoding.as_str() {
        "" | "identity" => read(parts, limit, &mut body),
        "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(parts), limit, &mut body),
        "deflate" => read(flate2::read::ZlibDecoder::new(parts), limit, &mut body),
        "br" => read(brotli_decompressor::Decompressor::new(parts, 4_096), limit, &mut body),
        "zstd" => read(ruzstd::decoding::StreamingDecoder::new(parts).ok()?, limit, &mut body),
        _ => return None,
    };
    (read.is_ok() && body.len() <= bytes_max).then_some(body)
}

fn read(from: impl Read, limit: u64, into: &mut Vec<u8>) -> io::Result<usize> {
    from.take(limit).read_to_end(into)
}

/// Parts of a body as one.
struct Parts<'a> {
    parts: &'a [Bytes],
    /// Bytes of the first part that were read.
    read: usize,
}

impl Read for Parts<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(first) = self.parts.first() {
            let rest = &first[self.read..];
            if rest.is_empty() {
                (self.parts, self.read) = (&self.parts[1..], 0);
                continue;
            }
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            self.read += count;
            return Ok(count);
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use http::HeaderValue;

    use super::*;

    /// `hello hello hello hello` and a line end.
    const BROTLI: &[u8] = &[
        0x1b, 0x17, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0xd6, 0x0a, 0x20, 0x6c,
        0x6f, 0x4a, 0x11, 0x79, 0xe2, 0x80, 0xae, 0x16,
    ];
    const ZSTD: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x6d, 0x00, 0x00, 0x38, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
        0x20, 0x0a, 0x01, 0x00, 0x99, 0x4b, 0x11, 0xa8, 0x7c, 0x2e, 0xa8,
    ];
    const TEXT: &[u8] = b"hello hello hello hello\n";

    fn told(encoding: &str, body: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_str(encoding).unwrap());
        // As it comes: in small parts.
        let parts: Vec<Bytes> = body.chunks(3).map(Bytes::copy_from_slice).collect();
        decoded(&headers, &parts, bytes_max)
    }

    #[test]
    fn each_encoding_that_hosts_ask_for_is_read() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(TEXT).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(TEXT).unwrap();
        for (encoding, body) in [
            ("identity", TEXT),
            ("GZIP", &gzip.finish().unwrap()),
            ("deflate", &zlib.finish().unwrap()),
            ("br", BROTLI),
            ("zstd", ZSTD),
        ] {
            assert_eq!(told(encoding, body, 100).as_deref(), Some(TEXT), "{encoding}");
            assert_eq!(told(encoding, body, TEXT.len() - 1), None, "{encoding}");
        }
        assert_eq!(told("gzip", b"not gzip", 100), None);
        assert_eq!(told("compress", TEXT, 100), None);
        assert_eq!(told("gzip, br", TEXT, 100), None);
    }
}
