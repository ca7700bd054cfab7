//! Known values, round trips, and the errors of unreadable keys and certificates.

use super::*;

/// A source that is the same in each test.
fn source() -> impl FnMut(&mut [u8]) {
    let mut state = 1_u64;
    move |buffer: &mut [u8]| {
        for byte in buffer {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = state.to_be_bytes()[0];
        }
    }
}

#[test]
fn digests_have_their_known_values() {
    assert_eq!(sha1_hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert!(sha512_hex(b"abc").starts_with("ddaf35a193617abacc417349ae204131"));
    assert_eq!(adler32(b""), 1);
    assert_eq!(adler32(b"Wikipedia"), 300_286_872);
    assert_eq!(adler32(&[0xFF; 100_000]), 345_649_196);
}

#[test]
fn passwords_are_hashed_with_the_given_salt() {
    let hash = bcrypt(b"secret", [7; 16]);
    assert!(hash.starts_with("$2a$10$") && hash.len() == 60, "{hash}");
    assert!(::bcrypt::verify("secret", &hash).unwrap());
    let long = "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes";
    assert_eq!(bcrypt(&[b'a'; 73], [7; 16]), long);
    assert_eq!(htpasswd(b"a:b", b"x", [7; 16]), b"invalid username: a:b");
    assert!(htpasswd(b"me", b"x", [7; 16]).starts_with(b"me:$2a$10$"));
}

#[test]
fn derived_passwords_are_those_of_sprig() {
    for (counter, kind, expected) in [
        (1, "long", "ZedaFaxcZaso9*"),
        (1, "other", "cannot find password template other"),
        (5, "basic", "stm95cUj"),
    ] {
        let password = derive_password(counter, kind.as_bytes(), b"password", b"user", b"example.com");
        assert_eq!(password, expected, "{kind}");
    }
}

#[test]
fn encrypted_texts_are_read_back() {
    let encrypted = encrypt_aes(b"key", b"plain text", [3; 16]);
    assert_eq!(decrypt_aes(b"key", encrypted.as_bytes()), Ok(b"plain text".to_vec()));
    // Written by sprig 3.3.0.
    let known = "30tEfhuJSVRhpG97XCuWgz2okj7L8vQ1s6V9zVUPeDQ=";
    assert_eq!(decrypt_aes(b"secretkey", known.as_bytes()), Ok(b"plaintext".to_vec()));
    assert_eq!(encrypt_aes(b"key", b"", [3; 16]), "");
    for (text, expected) in [
        ("", Ok(Vec::new())),
        ("x", Err("illegal base64 data at input byte 0")),
        ("AAAA", Err("runtime error: slice bounds out of range [:16] with capacity 3")),
        ("AAAAAAAAAAAAAAAAAAAAAA==", Err("runtime error: index out of range [-1]")),
        ("AAAAAAAAAAAAAAAAAAAAAAAA", Err("crypto/cipher: input not full blocks")),
    ] {
        assert_eq!(decrypt_aes(b"p", text.as_bytes()), expected.map_err(str::to_owned), "{text}");
    }
}

#[test]
fn random_texts_use_the_whole_alphabet() {
    let text = random_text(b"abc", 1000, &mut source());
    assert_eq!(text.len(), 1000);
    for letter in b"abc" {
        assert!(text.iter().filter(|byte| *byte == letter).count() > 250);
    }
    assert_eq!(random_below(1, &mut source()), 0);
    assert_eq!(uuid_v4([0xFF; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(uuid_v4([0; 16]), "00000000-0000-4000-8000-000000000000");
}

fn request<'a>(common_name: &'a str, key: Option<&'a [u8]>) -> Request<'a> {
    Request { common_name, addresses: &[], names: &[], now: 1_700_000_000, days: 365, key }
}

#[test]
fn a_certificate_authority_signs_certificates() {
    let random = &mut source();
    let authority = generate_ca(&request("my ca", None), random).unwrap();
    assert!(authority.certificate.starts_with("-----BEGIN CERTIFICATE-----\n"));
    assert!(authority.key.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
    let names = ["a.example".to_owned()];
    let addresses = ["10.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    let leaf =
        Request { addresses: &addresses, names: &names, ..request("é", Some(authority.key.as_bytes())) };
    let signed = generate_signed(&leaf, &authority, random).unwrap();
    assert_eq!(signed.key, authority.key);
    let der = pem::decode(signed.certificate.as_bytes()).unwrap().bytes;
    let holds = |part: &[u8]| crate::go::strings::index(&der, part).is_some();
    assert!(
        holds(b"my ca") && holds("é".as_bytes()) && holds(b"a.example") && holds(&[0x87, 4, 10, 0, 0, 1])
    );
    assert!(holds(b"231114221320Z") && holds(b"241113221320Z"));
    // Critical constraints that say "no authority", the identifier of the authority's key, none of its own.
    assert!(holds(&[0x55, 0x1D, 0x13, 1, 1, 0xFF, 4, 2, 0x30, 0]));
    assert!(holds(&[0x55, 0x1D, 0x23]) && !holds(&[0x55, 0x1D, 0x0E]));
    let base64 = |text: &str| encoding::base64_encode(text.as_bytes());
    let (certificate, key) = (base64(&signed.certificate), base64(&signed.key));
    let custom = custom_certificate(certificate.as_bytes(), key.as_bytes()).unwrap();
    assert_eq!(custom, (signed.certificate.clone().into_bytes(), signed.key.clone().into_bytes()));

    for (certificate, key, expected) in [
        ("?", key.as_str(), "unable to decode base64 certificate"),
        (&certificate, "?", "unable to decode base64 private key"),
        ("eA==", &key, "unable to decode certificate"),
        (&key, &key, "error parsing certificate: decodedCert.Bytes: x509: malformed certificate"),
        (&certificate, "eA==", "error parsing private key: no PEM data in input"),
    ] {
        let error = custom_certificate(certificate.as_bytes(), key.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let no_authority = Certificate { certificate: "x".to_owned(), key: "x".to_owned() };
    let error = generate_signed(&leaf, &no_authority, random).unwrap_err();
    assert_eq!(error, CertificateError::NoCertificate);
}

#[test]
fn an_empty_name_leaves_the_subject_empty() {
    let random = &mut source();
    let authority = generate_ca(&request("", None), random).unwrap();
    let der = pem::decode(authority.certificate.as_bytes()).unwrap().bytes;
    let holds = |part: &[u8]| crate::go::strings::index(&der, part).is_some();
    assert!(!holds(&[0x55, 4, 3]));
    assert!(holds(&[0x55, 0x1D, 0x13, 1, 1, 0xFF, 4, 5, 0x30, 3, 1, 1, 0xFF]) && holds(&[0x55, 0x1D, 0x0E]));
    let leaf = Request { key: Some(authority.key.as_bytes()), ..request("leaf", None) };
    assert!(generate_signed(&leaf, &authority, random).is_ok());
}

#[test]
fn keys_of_every_kind_can_be_given() {
    let random = &mut source();
    for (kind, head) in
        [("ecdsa", "-----BEGIN EC PRIVATE KEY-----"), ("ed25519", "-----BEGIN PRIVATE KEY-----")]
    {
        let key = generate_private_key(kind.as_bytes(), random);
        assert!(key.starts_with(head), "{key}");
        let made = generate_ca(&request("ca", Some(key.as_bytes())), random).unwrap();
        assert_eq!(made.key, key);
        let self_signed = generate_self_signed(&request("x", Some(key.as_bytes())), random).unwrap();
        assert_ne!(self_signed.certificate, made.certificate);
    }
    assert_eq!(generate_private_key(b"x", random), "Unknown type x");
}

#[test]
fn an_ec_key_in_pkcs8_is_shown_in_its_older_form() {
    let key = generate_private_key(b"ecdsa", &mut source());
    let pkcs8 = Key::parse(key.as_bytes()).unwrap().pkcs8.unwrap();
    let wrapped = pem::encode("PRIVATE KEY", &pkcs8);
    assert_eq!(Key::parse(wrapped.as_bytes()).unwrap().pem, key);
}

#[test]
fn unreadable_keys_and_requests_are_refused() {
    let random = &mut source();
    let block = |kind: &str| pem::encode(kind, b"nonsense");
    for (key, expected) in [
        ("x".to_owned(), "no PEM data in input"),
        (block("CERTIFICATE"), "no private key data in PEM block of type CERTIFICATE"),
        (block("X PRIVATE KEY"), "invalid private key type X"),
        (block("EC PRIVATE KEY"), "parsing EC private key from PEM: x509: failed to parse EC private key"),
        (block("PRIVATE KEY"), "decoding PEM as PKCS#8: asn1: structure error"),
    ] {
        assert_eq!(Key::parse(key.as_bytes()).unwrap_err().to_string(), expected);
    }
    let key = generate_private_key(b"ed25519", random);
    let names = ["é".to_owned()];
    let bad_name = Request { names: &names, ..request("x", Some(key.as_bytes())) };
    let error = generate_self_signed(&bad_name, random).unwrap_err().to_string();
    assert_eq!(error, "error creating certificate: x509: \"é\" cannot be encoded as an IA5String");
    for days in [i64::MAX, 10_000_000, -1_000_000] {
        let far = Request { days, ..request("x", Some(key.as_bytes())) };
        assert!(generate_ca(&far, random).is_err(), "{days}");
    }
    let dsa = pem::encode("DSA PRIVATE KEY", &dsa::DsaKey::generate(256, 64, random).to_der());
    let error = generate_ca(&request("x", Some(dsa.as_bytes())), random).unwrap_err().to_string();
    assert_eq!(error, "error creating certificate: x509: only RSA, ECDSA and Ed25519 keys supported");
}

#[test]
fn pem_blocks_are_found_among_other_text() {
    let block = pem::encode("A", &[1; 50]);
    assert_eq!(block.lines().nth(1).unwrap().len(), 64);
    for text in [
        format!("text\n{block}more"),
        block.replace('\n', "\r\n"),
        block.replacen("A-----\n", "A-----\nProc-Type: 4\n\n", 1),
        format!("-----BEGIN B-----\n{block}"),
    ] {
        let found = pem::decode(text.as_bytes()).unwrap();
        assert_eq!((found.kind.as_str(), found.bytes.as_slice()), ("A", &[1; 50][..]), "{text}");
    }
    for text in [
        "",
        "-----BEGIN A-----",
        "-----BEGIN A-----\nAQ==\n-----END B-----\n",
        "-----BEGIN A-----\n?\n-----END A-----",
    ] {
        assert!(pem::decode(text.as_bytes()).is_none(), "{text}");
    }
}
