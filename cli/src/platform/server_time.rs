//! The clock of an AWS service, as its responses show it.
//!
//! Each response has the time at which it was made, in whole seconds (`Date`,
//! <https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1>). The service has written this time after the
//! request was sent and before the response came. The time since then is read from the monotonic clock of
//! this machine.

use super::clock::Instant;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use aws_smithy_types::date_time::Format;
use lockstep::domain::Timestamp;
use std::sync::{Arc, Mutex, PoisonError};

/// Time for which `Date` has the same value, in milliseconds.
const SECOND: u64 = 1_000;

/// The clock of the service that a client calls. Clones share it, and one of them is an interceptor of the
/// client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerTime(Arc<Mutex<Option<Seen>>>);

/// The date of a response, when its request was sent, and when the response came.
#[derive(Clone, Copy, Debug)]
struct Seen {
    date: Timestamp,
    sent: Instant,
    received: Instant,
}

impl ServerTime {
    /// Returns the time nearest to `time` that the clock of the service can show now; `None` before the first
    /// response with a date.
    pub(crate) fn nearest(&self, time: Timestamp) -> Option<Timestamp> {
        let seen = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(seen?.nearest(time, Instant::now()))
    }

    fn put(&self, seen: Seen) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }
}

impl Seen {
    fn nearest(&self, time: Timestamp, now: Instant) -> Timestamp {
        let since = |at: Instant| now.millis().saturating_sub(at.millis());
        let after = |millis| Timestamp::from_millis(self.date.millis() + millis);
        time.clamp(
            after(since(self.received)),
            after(since(self.sent) + SECOND),
        )
    }
}

/// When an attempt was sent.
#[derive(Debug)]
struct Sent(Instant);

impl Storable for Sent {
    type Storer = StoreReplace<Self>;
}

impl Intercept for ServerTime {
    fn name(&self) -> &'static str {
        "ServerTime"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        settings: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        settings.interceptor_state().store_put(Sent(Instant::now()));
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        settings: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let headers = context.response().headers();
        // A response without a request id comes from something in between, such as a proxy.
        let date = headers.get("x-amzn-requestid").and(headers.get("date"));
        let date = date.and_then(|date| DateTime::from_str(date, Format::HttpDate).ok());
        let millis = date.and_then(|date| u64::try_from(date.to_millis().ok()?).ok());
        if let (Some(millis), Some(Sent(sent))) = (millis, settings.load::<Sent>()) {
            self.put(Seen {
                date: Timestamp::from_millis(millis),
                sent: *sent,
                received: Instant::now(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
impl ServerTime {
    /// Returns the clock of a service whose response with this date has just come.
    pub(crate) fn showing(date: Timestamp) -> Self {
        let now = Instant::now();
        let seen = Seen {
            date,
            sent: now,
            received: now,
        };
        Self(Arc::new(Mutex::new(Some(seen))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_moved_as_far_as_the_dates_of_responses_require() {
        let seen = Seen {
            date: Timestamp::from_millis(50_000),
            sent: Instant::from_millis(7_000),
            received: Instant::from_millis(7_400),
        };
        for (time, now, expected) in [
            (50_000, 7_400, 50_000),
            (50_900, 7_400, 50_900),
            (51_400, 7_400, 51_400),
            (51_500, 7_400, 51_400),
            (49_000, 7_400, 50_000),
            (20_000, 9_400, 52_000),
            (90_000, 9_400, 53_400),
        ] {
            let nearest = seen.nearest(Timestamp::from_millis(time), Instant::from_millis(now));

            assert_eq!(nearest.millis(), expected, "{time} at {now}");
        }
    }

    #[test]
    fn a_time_stays_as_it_is_before_the_first_response() {
        let time = ServerTime::default();

        assert_eq!(time.nearest(Timestamp::from_millis(5)), None);
    }
}
