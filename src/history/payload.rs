//! The bytes of a record: base64 of gzip of JSON, as Helm's storage drivers write and read them.
//!
//! Source: Helm `pkg/storage/driver/util.go`. Knows nothing of what the JSON says.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::{Compression, GzBuilder, read::MultiGzDecoder};

/// Largest payload the API server takes in one Secret or ConfigMap, in bytes of stored text.
pub const RECORD_LIMIT: usize = 1_048_576;

/// Largest JSON that is unpacked. A payload of the largest size can inflate a thousandfold; no chart that
/// fits a record comes near this.
const UNPACKED_LIMIT: u64 = 128 << 20;

/// Go's `base64.StdEncoding`: padding required, stray bits after the last byte ignored.
const GO_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Why a payload cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// Not base64 text.
    #[error("the payload is not base64")]
    Base64(#[source] base64::DecodeError),
    /// A gzip header, but the data after it is damaged or cut off.
    #[error("the payload's gzip data is damaged")]
    Gzip(#[source] std::io::Error),
    /// Unpacks to more than any real release.
    #[error("the payload unpacks to more than {} MiB", UNPACKED_LIMIT >> 20)]
    TooLarge,
}

/// Decodes base64 as Go does: line ends are skipped.
pub(super) fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    if text.contains(['\r', '\n']) {
        let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        return GO_BASE64.decode(joined);
    }
    GO_BASE64.decode(text)
}

pub(super) fn encode_base64(bytes: &[u8]) -> String {
    GO_BASE64.encode(bytes)
}

/// Unpacks the text that Helm's driver wrote. Without a gzip header the bytes are the JSON itself, as records
/// of Helm's early versions are.
pub(super) fn unpack(text: &str) -> Result<Vec<u8>, PayloadError> {
    let bytes = decode_base64(text).map_err(PayloadError::Base64)?;
    if !bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        return Ok(bytes);
    }
    let mut json = Vec::new();
    MultiGzDecoder::new(bytes.as_slice())
        .take(UNPACKED_LIMIT + 1)
        .read_to_end(&mut json)
        .map_err(PayloadError::Gzip)?;
    if json.len() as u64 > UNPACKED_LIMIT { Err(PayloadError::TooLarge) } else { Ok(json) }
}

/// Packs JSON as Helm's driver does: gzip at the best level with an empty header, then base64 on one line.
pub(super) fn pack(json: &[u8]) -> String {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = encoder.write_all(json);
    debug_assert!(written.is_ok(), "memory writes do not fail");
    encode_base64(&encoder.finish().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_unpacks_and_carries_helms_gzip_header() {
        let packed = pack(b"{\"a\":1}");
        assert_eq!(&decode_base64(&packed).unwrap()[..10], b"\x1f\x8b\x08\0\0\0\0\0\x02\xff");
        assert_eq!(unpack(&packed).unwrap(), b"{\"a\":1}");
    }

    #[test]
    fn what_helm_reads_is_read() {
        let two_members =
            [decode_base64(&pack(b"{\"a\"")).unwrap(), decode_base64(&pack(b":1}")).unwrap()].concat();
        let folded: String = pack(b"{\"a\":1}").chars().flat_map(|c| [c, '\n']).collect();
        for text in [encode_base64(b"{\"a\":1}"), encode_base64(&two_members), folded] {
            assert_eq!(unpack(&text).unwrap(), b"{\"a\":1}");
        }
    }

    #[test]
    fn damage_is_an_error() {
        let packed = pack(&[b'x'; 4000]);
        for (text, expected) in [
            ("{\"a\":1}".to_owned(), "the payload is not base64"),
            (packed[..packed.len() / 8 * 4].to_owned(), "the payload's gzip data is damaged"),
            (packed[..packed.len() - 5].to_owned(), "the payload is not base64"),
        ] {
            assert_eq!(unpack(&text).unwrap_err().to_string(), expected);
        }
    }
}
