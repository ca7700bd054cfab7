//! Certificates as sprig's `genCA`, `genSelfSignedCert` and `genSignedCert` make them.

use std::net::IpAddr;
use std::time::Duration;

use rcgen::string::{Ia5String, PrintableString};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
    SignatureAlgorithm, SigningKey, date_time_ymd,
};

use super::key::{Key, KeyError};
use super::{Random, pem};
use crate::go::{encoding, strconv};

/// Bits of the keys that sprig makes for certificates.
const RSA_BITS: usize = 2048;

/// A certificate and its private key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// What a certificate is to say.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The common name of the subject.
    pub common_name: &'a str,
    /// Addresses it stands for.
    pub addresses: &'a [IpAddr],
    /// Host names it stands for.
    pub names: &'a [String],
    /// Seconds since 1970 from which on it holds.
    pub now: i64,
    /// How long it holds.
    pub days: i64,
    /// The private key in PEM; a new RSA key if there is none.
    pub key: Option<&'a [u8]>,
}

/// Why a certificate cannot be made. Display is sprig's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// A new key could not be made.
    #[error("error generating rsa key: {0}")]
    Generate(String),
    /// The given key could not be read.
    #[error("parsing private key: {0}")]
    GivenKey(KeyError),
    /// The issuer's or the custom key could not be read.
    #[error("error parsing private key: {0}")]
    Key(KeyError),
    /// A certificate is no PEM block.
    #[error("unable to decode certificate")]
    NoCertificate,
    /// A certificate is a PEM block but not readable.
    #[error("error parsing certificate: decodedCert.Bytes: {0}")]
    Custom(String),
    /// As above, of the issuer.
    #[error("error parsing certificate: decodedSignerCert.Bytes: {0}")]
    Issuer(String),
    /// Signing failed.
    #[error("error creating certificate: {0}")]
    Create(String),
    /// The custom certificate is not base64.
    #[error("unable to decode base64 certificate")]
    CertificateBase64,
    /// The custom key is not base64.
    #[error("unable to decode base64 private key")]
    KeyBase64,
}

/// Makes a certificate authority (sprig `genCA`, `genCAWithKey`).
///
/// # Errors
/// The key cannot be made, read or used.
pub fn generate_ca(request: &Request<'_>, random: &mut Random<'_>) -> Result<Certificate, CertificateError> {
    let key = request_key(request, random)?;
    let mut params = params(request, random)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.custom_extensions.clear();
    params.key_usages.push(KeyUsagePurpose::KeyCertSign);
    self_signed(&params, key)
}

/// Makes a certificate that signs itself (sprig `genSelfSignedCert`, `genSelfSignedCertWithKey`).
///
/// # Errors
/// The key cannot be made, read or used, or a name cannot stand in a certificate.
pub fn generate_self_signed(
    request: &Request<'_>,
    random: &mut Random<'_>,
) -> Result<Certificate, CertificateError> {
    let key = request_key(request, random)?;
    self_signed(&params(request, random)?, key)
}

/// Makes a certificate that an authority signs (sprig `genSignedCert`, `genSignedCertWithKey`).
///
/// # Errors
/// A key or the authority's certificate cannot be made, read or used, or a name cannot stand in a certificate.
pub fn generate_signed(
    request: &Request<'_>,
    authority: &Certificate,
    random: &mut Random<'_>,
) -> Result<Certificate, CertificateError> {
    let key = request_key(request, random)?;
    let block = pem::decode(authority.certificate.as_bytes()).ok_or(CertificateError::NoCertificate)?;
    check_certificate(&block.bytes).map_err(CertificateError::Issuer)?;
    let authority_key = Key::parse(authority.key.as_bytes()).map_err(CertificateError::Key)?;
    let mut params = params(request, random)?;
    params.use_authority_key_identifier_extension = true;
    let issuer = Issuer::from_ca_cert_der(&block.bytes.into(), signing_key(&authority_key)?)
        .map_err(|error| CertificateError::Issuer(error.to_string()))?;
    let signed = params.signed_by(&signing_key(&key)?, &issuer).map_err(create_error)?;
    Ok(Certificate { certificate: pem::encode("CERTIFICATE", signed.der()), key: key.pem })
}

/// Checks a certificate and a key that are given in base64 (sprig `buildCustomCert`).
///
/// # Errors
/// One of the two cannot be read.
pub fn custom_certificate(certificate: &[u8], key: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CertificateError> {
    let certificate =
        encoding::base64_decode(certificate).map_err(|_| CertificateError::CertificateBase64)?;
    let key = encoding::base64_decode(key).map_err(|_| CertificateError::KeyBase64)?;
    let block = pem::decode(&certificate).ok_or(CertificateError::NoCertificate)?;
    check_certificate(&block.bytes).map_err(CertificateError::Custom)?;
    Key::parse(&key).map_err(CertificateError::Key)?;
    Ok((certificate, key))
}

fn create_error(error: rcgen::Error) -> CertificateError {
    CertificateError::Create(error.to_string())
}

fn request_key(request: &Request<'_>, random: &mut Random<'_>) -> Result<Key, CertificateError> {
    match request.key {
        Some(text) => Key::parse(text).map_err(CertificateError::GivenKey),
        None => Key::rsa(RSA_BITS, random).map_err(CertificateError::Generate),
    }
}

fn self_signed(params: &CertificateParams, key: Key) -> Result<Certificate, CertificateError> {
    let signed = params.self_signed(&signing_key(&key)?).map_err(create_error)?;
    Ok(Certificate { certificate: pem::encode("CERTIFICATE", signed.der()), key: key.pem })
}

fn signing_key(key: &Key) -> Result<KeyPair, CertificateError> {
    let Some(pkcs8) = &key.pkcs8 else {
        let text = "x509: only RSA, ECDSA and Ed25519 keys supported";
        return Err(CertificateError::Create(text.to_owned()));
    };
    KeyPair::try_from(pkcs8.clone()).map_err(create_error)
}

fn params(request: &Request<'_>, random: &mut Random<'_>) -> Result<CertificateParams, CertificateError> {
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    // Go takes the narrower string type where the characters allow it.
    let name = match PrintableString::try_from(request.common_name) {
        Ok(name) => DnValue::PrintableString(name),
        Err(_) => DnValue::Utf8String(request.common_name.to_owned()),
    };
    if !request.common_name.is_empty() {
        subject.push(DnType::CommonName, name);
    }
    params.distinguished_name = subject;
    for name in request.names {
        let name = Ia5String::try_from(name.as_str()).map_err(|_| {
            let quoted = strconv::quote(name.as_bytes());
            CertificateError::Create(format!("x509: {quoted} cannot be encoded as an IA5String"))
        })?;
        params.subject_alt_names.push(SanType::DnsName(name));
    }
    params.subject_alt_names.extend(request.addresses.iter().copied().map(SanType::IpAddress));
    // Beyond the year 9999 a certificate cannot tell the time; there sprig fails as well.
    let end = request.days.checked_mul(86_400).and_then(|length| request.now.checked_add(length));
    let last = 253_402_300_799;
    let Some(end) = end.filter(|end| (0..=last).contains(end)) else {
        let text = "x509: cannot represent time as GeneralizedTime";
        return Err(CertificateError::Create(text.to_owned()));
    };
    let instant =
        |seconds: i64| date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    params.not_before = instant(request.now.clamp(0, last));
    params.not_after = instant(end);
    let mut serial = [0; 16];
    random(&mut serial);
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    // Go states that this is no authority, but identifies only the keys of authorities.
    params.is_ca = IsCa::NoCa;
    let mut no_authority = CustomExtension::from_oid_content(&[2, 5, 29, 19], vec![0x30, 0]);
    no_authority.set_criticality(true);
    params.custom_extensions = vec![no_authority];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

/// Stands in for a key where a certificate is only read.
struct NoKey;

impl PublicKeyData for NoKey {
    fn der_bytes(&self) -> &[u8] {
        &[]
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ED25519
    }
}

impl SigningKey for NoKey {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Err(rcgen::Error::RemoteKeyError)
    }
}

/// Tells whether the bytes are a certificate.
fn check_certificate(bytes: &[u8]) -> Result<(), String> {
    let malformed = |_| "x509: malformed certificate".to_owned();
    Issuer::from_ca_cert_der(&bytes.to_vec().into(), NoKey).map(drop).map_err(malformed)
}
