//! Passwords, encryption, keys, certificates and random values. Source: sprig `crypto.go`.

use std::net::IpAddr;

use crate::go::crypto::{
    self, Certificate, Request, bcrypt, custom_certificate, decrypt_aes, derive_password, encrypt_aes,
    generate_ca, generate_private_key, generate_self_signed, generate_signed, htpasswd, uuid_v4,
};
use crate::go::encoding::base64_encode;
use crate::go::time::Time;
use crate::template::call::{Context, Func, FuncError, FuncResult, any, int, list, text};
use crate::template::fmt::to_text;
use crate::template::text::Str;
use crate::template::types::{Kind, Type};
use crate::template::value::{Object, Val, receiver};

const INT: Type = Type::INT;
const TEXT: Type = Type::STRING;
const LIST: Type = Type::ANY_LIST;
const CERTIFICATE_NAME: &str = "sprig.certificate";
const CERTIFICATE: Type = Type::Named(CERTIFICATE_NAME, Kind::Struct);

pub(super) static TABLE: &[Func] = &[
    Func::fixed("bcrypt", &[TEXT], |context, args| Ok(Val::from(bcrypt(text(args, 0)?, random(context))))),
    Func::fixed("htpasswd", &[TEXT, TEXT], |context, args| {
        Ok(Val::str(htpasswd(text(args, 0)?, text(args, 1)?, random(context))))
    }),
    Func::fixed("derivePassword", &[Type::Basic(Kind::Uint32), TEXT, TEXT, TEXT, TEXT], |_, args| {
        let Val::Uint(_, counter) = any(args, 0) else {
            return Err(FuncError::new("derivePassword needs a counter"));
        };
        let counter = u32::try_from(*counter & u64::from(u32::MAX)).unwrap_or(0);
        let password =
            derive_password(counter, text(args, 1)?, text(args, 2)?, text(args, 3)?, text(args, 4)?);
        Ok(Val::from(password))
    }),
    Func::fixed("encryptAES", &[TEXT, TEXT], |context, args| {
        Ok(Val::from(encrypt_aes(text(args, 0)?, text(args, 1)?, random(context))))
    }),
    Func::fixed("decryptAES", &[TEXT, TEXT], |_, args| {
        decrypt_aes(text(args, 0)?, text(args, 1)?).map(Val::str).map_err(FuncError::new)
    }),
    Func::fixed("randBytes", &[INT], |context, args| {
        let count = int(args, 0)?;
        let count = usize::try_from(count)
            .map_err(|_| FuncError::new("runtime error: makeslice: len out of range"))?;
        context.charge(count.saturating_mul(2))?;
        let mut bytes = vec![0; count];
        context.host.fill_random(&mut bytes);
        Ok(Val::from(base64_encode(&bytes)))
    }),
    Func::fixed("uuidv4", &[], |context, _| Ok(Val::from(uuid_v4(random(context))))),
    Func::fixed("genPrivateKey", &[TEXT], |context, args| {
        let mut source = |buffer: &mut [u8]| context.host.fill_random(buffer);
        Ok(Val::from(generate_private_key(text(args, 0)?, &mut source)))
    }),
    Func::fixed("genCA", &[TEXT, INT], |context, args| {
        let named = Subject { name: 0, days: 1, alternatives: None, key: None };
        make(context, args, &named, None)
    }),
    Func::fixed("genCAWithKey", &[TEXT, INT, TEXT], |context, args| {
        let named = Subject { name: 0, days: 1, alternatives: None, key: Some(2) };
        make(context, args, &named, None)
    }),
    Func::fixed("genSelfSignedCert", &[TEXT, LIST, LIST, INT], |context, args| {
        let named = Subject { name: 0, days: 3, alternatives: Some((1, 2)), key: None };
        make(context, args, &named, None)
    }),
    Func::fixed("genSelfSignedCertWithKey", &[TEXT, LIST, LIST, INT, TEXT], |context, args| {
        let named = Subject { name: 0, days: 3, alternatives: Some((1, 2)), key: Some(4) };
        make(context, args, &named, None)
    }),
    Func::fixed("genSignedCert", &[TEXT, LIST, LIST, INT, CERTIFICATE], |context, args| {
        let named = Subject { name: 0, days: 3, alternatives: Some((1, 2)), key: None };
        make(context, args, &named, Some(authority(args)?))
    }),
    Func::fixed("genSignedCertWithKey", &[TEXT, LIST, LIST, INT, CERTIFICATE, TEXT], |context, args| {
        let named = Subject { name: 0, days: 3, alternatives: Some((1, 2)), key: Some(5) };
        make(context, args, &named, Some(authority(args)?))
    }),
    Func::fixed("buildCustomCert", &[TEXT, TEXT], |_, args| {
        let (certificate, key) = custom_certificate(text(args, 0)?, text(args, 1)?).map_err(failure)?;
        Ok(Val::object(CertificateObject { certificate: certificate.into(), key: key.into() }))
    }),
];

fn random<const N: usize>(context: &mut Context<'_>) -> [u8; N] {
    let mut bytes = [0; N];
    context.host.fill_random(&mut bytes);
    bytes
}

fn failure(error: impl ToString) -> FuncError {
    FuncError::new(error.to_string())
}

/// A certificate with its key.
#[derive(Debug)]
struct CertificateObject {
    certificate: Str,
    key: Str,
}

impl Object for CertificateObject {
    fn type_name(&self) -> &'static str {
        CERTIFICATE_NAME
    }

    fn field(&self, name: &str) -> Option<Val> {
        match name {
            "Cert" => Some(Val::Str(self.certificate.clone())),
            "Key" => Some(Val::Str(self.key.clone())),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Val)> {
        vec![("Cert", Val::Str(self.certificate.clone())), ("Key", Val::Str(self.key.clone()))]
    }

    fn equals(&self, other: &(dyn Object + 'static)) -> bool {
        receiver::<CertificateObject>(other)
            .is_ok_and(|other| (&self.certificate, &self.key) == (&other.certificate, &other.key))
    }
}

/// Which arguments say what about the subject of a certificate.
struct Subject {
    name: usize,
    days: usize,
    /// Lists of addresses and of host names. A certificate authority has none.
    alternatives: Option<(usize, usize)>,
    key: Option<usize>,
}

fn authority(args: &[Val]) -> Result<Certificate, FuncError> {
    let Val::Object(object) = any(args, 4) else {
        return Err(crate::template::call::wrong_type(CERTIFICATE, any(args, 4)));
    };
    let object = receiver::<CertificateObject>(object.as_ref())?;
    let part = |text: &Str| text.to_text().into_owned();
    Ok(Certificate { certificate: part(&object.certificate), key: part(&object.key) })
}

fn make(
    context: &mut Context<'_>,
    args: &[Val],
    subject: &Subject,
    authority: Option<Certificate>,
) -> FuncResult {
    let (addresses, names) = match subject.alternatives {
        None => (Vec::new(), Vec::new()),
        Some((addresses, names)) => (self::addresses(args, addresses)?, self::names(args, names)?),
    };
    let common_name = text(args, subject.name)?.to_text();
    let key = subject.key.map(|index| text(args, index)).transpose()?;
    let request = Request {
        common_name: &common_name,
        addresses: &addresses,
        names: &names,
        now: Time::from_zoned(&context.host.now()).unix_seconds(),
        days: int(args, subject.days)?,
        key: key.map(Str::as_bytes),
    };
    let source: &mut crypto::Random<'_> = &mut |buffer: &mut [u8]| context.host.fill_random(buffer);
    let made = match (&authority, subject.alternatives) {
        (Some(authority), _) => generate_signed(&request, authority, source),
        (None, Some(_)) => generate_self_signed(&request, source),
        (None, None) => generate_ca(&request, source),
    };
    let made = made.map_err(failure)?;
    Ok(Val::object(CertificateObject { certificate: made.certificate.into(), key: made.key.into() }))
}

fn addresses(args: &[Val], index: usize) -> Result<Vec<IpAddr>, FuncError> {
    let address = |value: &Val| match value {
        Val::Str(text) => {
            let address = text.as_str().and_then(|text| text.parse::<IpAddr>().ok());
            let address = address.map(|address| address.to_canonical());
            address.ok_or_else(|| FuncError::new(format!("error parsing ip: {text}")))
        }
        other => Err(FuncError::new(format!("error parsing ip: {} is not a string", to_text(other)))),
    };
    list(args, index)?.iter().map(address).collect()
}

fn names(args: &[Val], index: usize) -> Result<Vec<String>, FuncError> {
    let name = |value: &Val| match value {
        Val::Str(text) => Ok(text.to_text().into_owned()),
        other => {
            let message = format!("error processing alternate dns name: {} is not a string", to_text(other));
            Err(FuncError::new(message))
        }
    };
    list(args, index)?.iter().map(name).collect()
}
