//! Time as whole numbers: milliseconds since 1970 for points in time, seconds for lengths of time.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Largest difference between any two clocks that the protocol allows for.
pub const CLOCK_SKEW: Seconds = Seconds::of(1);

/// Time after the end of a lease from which others may judge it dead: [`CLOCK_SKEW`] for the clock that
/// set the end, and once more for the clock that is read now.
///
/// A renewal by a slow clock can move the end back. If the response to that renewal is lost, the holder
/// relies on the end that it had before.
pub const DEAD_AFTER: Seconds = Seconds::of(2 * CLOCK_SKEW.get());

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Latest point that the contract can write: 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Creates the point `millis` milliseconds after 1970-01-01T00:00:00Z, at most [`Self::MAX`].
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Returns the point `length` after this one, at most [`Self::MAX`].
    #[must_use]
    pub const fn plus(self, length: Seconds) -> Self {
        Self::from_millis(self.0.saturating_add(length.millis()))
    }

    /// Returns the milliseconds from `earlier` to this point; 0 if `earlier` is later.
    #[must_use]
    pub const fn millis_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A length of time in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(u32);

impl Seconds {
    /// Creates a length of `seconds` seconds.
    #[must_use]
    pub const fn of(seconds: u32) -> Self {
        Self(seconds)
    }

    /// Returns the number of seconds.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the sum of this length and `other`, at most `u32::MAX` seconds.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the length in milliseconds.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0 as u64 * 1000
    }
}

/// Returns a point in time as text in RFC 3339, in UTC and with up to three decimals of a second.
#[must_use]
pub fn rfc3339(time: Timestamp) -> String {
    let nanos = i128::from(time.millis()) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .expect("a timestamp is at most Timestamp::MAX, which RFC 3339 can write")
}

/// Returns a length of `millis` milliseconds as text in its two largest units, such as `2 h 5 min`;
/// below a minute in seconds with one decimal place.
#[must_use]
pub fn length_text(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{seconds}.{} s", millis % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}
