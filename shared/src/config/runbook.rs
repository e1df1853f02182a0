//! The runbook that messages link to.

use lockstep_core::domain::LockKey;

/// The part of an address that stands for the name of the lock.
const LOCK: &str = "{lock}";

/// The address of a runbook, which may depend on the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunbookUrl(String);

impl RunbookUrl {
    /// Longest address, in characters. Ten events with such an address stay below the 256 KB of PutEvents.
    pub const LENGTH_MAX: usize = 512;
    /// The rule for addresses.
    pub const RULE: &'static str = "an address that begins with https://, of at most 512 printable ASCII characters \
                                    without spaces, and with braces in {lock} only";

    /// Creates an address, or returns `None` if `url` breaks [`Self::RULE`].
    #[must_use]
    pub fn new(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("https://")?.replace(LOCK, "-");
        let is_valid = url.len() <= Self::LENGTH_MAX
            && !rest.is_empty()
            && rest
                .chars()
                .all(|c| c.is_ascii_graphic() && !"{}".contains(c));
        is_valid.then(|| Self(url.to_owned()))
    }

    /// Returns the address of the page about `lock`. The name of the lock needs no escapes, because each of
    /// its characters may be in a path.
    #[must_use]
    pub fn of(&self, lock: &LockKey) -> String {
        self.0.replace(LOCK, lock.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runbook_has_a_page_for_each_lock_if_it_names_the_lock() {
        let lock = LockKey::new("orders/eu:nightly").unwrap();
        for (url, page) in [
            ("https://wiki/run", "https://wiki/run"),
            (
                "https://wiki/{lock}#{lock}",
                "https://wiki/orders/eu:nightly#orders/eu:nightly",
            ),
        ] {
            assert_eq!(RunbookUrl::new(url).unwrap().of(&lock), page);
        }
    }

    #[test]
    fn a_runbook_is_an_https_address_with_no_braces_but_those_of_the_lock() {
        let long = format!("https://{}", "x".repeat(505));
        for url in [
            "",
            "https://",
            "http://wiki",
            "wiki",
            "https://a b",
            "https://ä",
            "https://wiki/{Lock}",
            "https://wiki/{{lock}}",
            &long,
        ] {
            assert_eq!(RunbookUrl::new(url), None, "{url}");
        }
        assert!(RunbookUrl::new(&long[..512]).is_some());
    }
}
