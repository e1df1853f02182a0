//! Seals task tokens for the lock table, with a key that only the functions can read.
//!
//! A container reads and writes the records of its locks, which contain the task tokens of waiting workflows.
//! A sealed token is of no use to a container, because SendTaskSuccess accepts only the token itself.

use aws_smithy_types::base64;
use lockstep_core::domain::{LockKey, TaskToken};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// The length of the key, in bytes.
pub const KEY_LEN: usize = 32;

/// Seals task tokens and opens them, each for one lock.
///
/// The same token of the same lock is always sealed to the same text, so that sealed tokens can be compared.
/// The nonce is a keyed hash of the lock and the token, because AES-GCM requires a nonce that no other
/// message has (<https://nvlpubs.nist.gov/nistpubs/Legacy/SP/nistspecialpublication800-38d.pdf>, section
/// 8.2).
pub struct Seal {
    cipher: LessSafeKey,
    nonces: hmac::Key,
}

impl Seal {
    /// Derives the keys of the cipher and of the nonces from `key`.
    #[must_use]
    pub fn new(key: &[u8; KEY_LEN]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        let cipher = hmac::sign(&key, b"lockstep task tokens: cipher");
        let nonces = hmac::sign(&key, b"lockstep task tokens: nonces");
        let cipher = UnboundKey::new(&AES_256_GCM, cipher.as_ref());
        Self {
            cipher: LessSafeKey::new(cipher.expect("SHA-256 gives as many bytes as the key has")),
            nonces: hmac::Key::new(hmac::HMAC_SHA256, nonces.as_ref()),
        }
    }

    /// Seals `token` for a record of `lock`.
    #[must_use]
    pub fn seal(&self, lock: &LockKey, token: &TaskToken) -> TaskToken {
        let mut hash = hmac::Context::with_key(&self.nonces);
        // The zero byte separates the two, because the name of a lock cannot contain it.
        for part in [lock.as_str(), "\0", token.reveal()] {
            hash.update(part.as_bytes());
        }
        let mut sealed = hash.sign().as_ref()[..NONCE_LEN].to_vec();
        let nonce = Nonce::try_assume_unique_for_key(&sealed).expect("a nonce of that length");
        let mut text = token.reveal().as_bytes().to_vec();
        let sealing = self
            .cipher
            .seal_in_place_append_tag(nonce, aad(lock), &mut text);
        sealing.expect("a task token is far shorter than a message may be");
        sealed.append(&mut text);
        TaskToken::sealed(&base64::encode(sealed))
    }

    /// Opens a token that was sealed for `lock`. A token that was never sealed is returned unchanged.
    ///
    /// Returns `None` if the token was sealed for another lock or with another key, or was changed after it
    /// was sealed.
    #[must_use]
    pub fn open(&self, lock: &LockKey, token: &TaskToken) -> Option<TaskToken> {
        let Some(sealed) = token.as_sealed() else {
            return Some(token.clone());
        };
        let mut sealed = base64::decode(sealed).ok()?;
        let (nonce, text) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.cipher.open_in_place(nonce, aad(lock), text).ok()?;
        TaskToken::new(str::from_utf8(text).ok()?).ok()
    }
}

/// Binds a sealed token to `lock`, so that it cannot be opened in the record of another lock.
fn aad(lock: &LockKey) -> Aad<&[u8]> {
    Aad::from(lock.as_str().as_bytes())
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(name: &str) -> LockKey {
        LockKey::new(name).unwrap()
    }

    fn seal() -> Seal {
        Seal::new(&[7; KEY_LEN])
    }

    fn token() -> TaskToken {
        TaskToken::new("AQCEAAAAKgAAAAMAAAAA+/=").unwrap()
    }

    #[test]
    fn a_sealed_token_opens_only_for_its_lock_and_with_its_key() {
        let seal = seal();

        let [sealed, again, elsewhere] =
            ["orders", "orders", "reports"].map(|name| seal.seal(&lock(name), &token()));

        assert!(sealed == again && sealed != elsewhere);
        assert!(!sealed.reveal().contains("AQCE"), "it is legible");
        assert_eq!(seal.open(&lock("orders"), &sealed), Some(token()));
        assert_eq!(seal.open(&lock("order"), &sealed), None);
        let other = Seal::new(&[8; KEY_LEN]);
        assert_eq!(other.open(&lock("orders"), &sealed), None);
    }

    /// Records keep sealed tokens over an upgrade and a rollback: another text here is a waiter that nobody can call back.
    #[test]
    fn a_token_is_sealed_to_the_text_of_every_version() {
        let known = "E0UzoqGhFnhUmFovmHePOT2Rqfw4xY98W4ddzEgQANpZavrwxA40tGapcfbgg86DnoFh";

        let sealed = seal().seal(&lock("orders"), &token());

        assert_eq!(sealed.as_sealed(), Some(known));
        let opened = seal().open(&lock("orders"), &TaskToken::sealed(known));
        assert_eq!(opened, Some(token()));
    }

    #[test]
    fn a_sealed_token_that_was_changed_is_not_opened() {
        let seal = seal();
        let sealed = seal.seal(&lock("orders"), &token());
        let text = sealed.as_sealed().unwrap();
        let other = if text.ends_with("A=") { "B=" } else { "A=" };

        let last = format!("{}{other}", &text[..text.len() - 2]);

        for changed in ["", "AAAA", &text[4..], &last] {
            let opened = seal.open(&lock("orders"), &TaskToken::sealed(changed));
            assert_eq!(opened, None, "{changed}");
        }
    }

    #[test]
    fn a_token_that_was_never_sealed_is_returned_unchanged() {
        let seal = seal();

        assert_eq!(seal.open(&lock("orders"), &token()), Some(token()));
    }

    #[test]
    fn the_longest_token_can_be_sealed_and_kept() {
        let seal = seal();
        let token = TaskToken::new("x".repeat(2048)).unwrap();

        let sealed = seal.seal(&lock(&"l".repeat(128)), &token);

        let kept = TaskToken::of_record(sealed.reveal());
        assert_eq!(kept, Ok(sealed));
    }
}
