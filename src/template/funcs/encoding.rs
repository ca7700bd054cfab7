//! Base64, base32 and digests. Source: sprig `strings.go` and `crypto.go`. Errors come as texts.

use crate::go::crypto::{adler32, sha1_hex, sha256_hex, sha512_hex};
use crate::go::encoding::{CorruptInput, base32_decode, base32_encode, base64_decode, base64_encode};
use crate::template::call::{Func, FuncResult, text};
use crate::template::types::Type;
use crate::template::value::Val;

const TEXT: Type = Type::STRING;

pub(super) static TABLE: &[Func] = &[
    Func::fixed("b64enc", &[TEXT], |_, args| Ok(Val::from(base64_encode(text(args, 0)?)))),
    Func::fixed("b64dec", &[TEXT], |_, args| decoded(base64_decode(text(args, 0)?))),
    Func::fixed("b32enc", &[TEXT], |_, args| Ok(Val::from(base32_encode(text(args, 0)?)))),
    Func::fixed("b32dec", &[TEXT], |_, args| decoded(base32_decode(text(args, 0)?))),
    Func::fixed("sha1sum", &[TEXT], |_, args| Ok(Val::from(sha1_hex(text(args, 0)?)))),
    Func::fixed("sha256sum", &[TEXT], |_, args| Ok(Val::from(sha256_hex(text(args, 0)?)))),
    Func::fixed("sha512sum", &[TEXT], |_, args| Ok(Val::from(sha512_hex(text(args, 0)?)))),
    Func::fixed("adler32sum", &[TEXT], |_, args| Ok(Val::from(adler32(text(args, 0)?).to_string()))),
];

fn decoded(result: Result<Vec<u8>, CorruptInput>) -> FuncResult {
    Ok(result.map_or_else(|error| Val::from(error.to_string()), Val::str))
}
