//! A transport below the SDK that loses requests and responses, and delivers requests late or twice.
//!
//! A request that the SDK has given up arrives all the same, because each travels in a task of its
//! own.

use super::planted::Planted;
use super::recorder::{Parcel, UnderWay};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use fastrand::Rng;
use lockstep::clock::{Clock, SystemClock};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Fate {
    #[default]
    Passes,
    /// The request never arrives.
    RequestLost,
    /// The request arrives, and its response does not.
    ResponseLost,
    /// The sender learns of a time-out, and the request arrives after that.
    Late,
    /// The request arrives, and once more after its response.
    Twice,
    /// The request arrives after a while, and its sender waits.
    Slow,
}

/// How the wire of one history fails. Each history draws its own shares and its own delay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Roughness {
    /// How many requests of a thousand meet each fate.
    shares: [(Fate, u32); 5],
    /// Longest delay, in milliseconds of real time.
    delay: u64,
}

impl Roughness {
    pub(super) fn drawn(dice: &mut Rng) -> Self {
        let fates = [
            Fate::RequestLost,
            Fate::ResponseLost,
            Fate::Late,
            Fate::Twice,
            Fate::Slow,
        ];
        Self {
            shares: fates.map(|fate| (fate, [15, 40, 120][dice.usize(..3)])),
            delay: [100, 400, 800][dice.usize(..3)],
        }
    }
}

/// How often each fate and each answer came up.
pub(super) type Tally = Mutex<BTreeMap<String, u32>>;

/// The line of one client to the table.
#[derive(Debug)]
pub(super) struct Line {
    planted: Option<Planted>,
    roughness: Roughness,
    tally: Arc<Tally>,
    dice: Mutex<Rng>,
    operation: Mutex<Arc<UnderWay>>,
}

impl Line {
    pub(super) fn new(
        dice: Rng,
        planted: Option<Planted>,
        roughness: Roughness,
        tally: Arc<Tally>,
        operation: Arc<UnderWay>,
    ) -> Self {
        Self {
            planted,
            roughness,
            tally,
            dice: Mutex::new(dice),
            operation: Mutex::new(operation),
        }
    }

    /// Makes the requests from now on part of `operation`.
    pub(super) fn begin(&self, operation: &Arc<UnderWay>) {
        *self.operation.lock().unwrap() = Arc::clone(operation);
    }

    /// Counts one more of `what`.
    pub(super) fn count(&self, what: String) {
        *self.tally.lock().unwrap().entry(what).or_default() += 1;
    }

    fn parcel(&self) -> Parcel {
        self.operation.lock().unwrap().send()
    }

    /// Applies the planted fault to a request. Returns the response of a fault that answers in
    /// place of the table.
    fn meets(&self, request: &mut HttpRequest) -> Option<HttpResponse> {
        let mut dice = self.dice.lock().unwrap();
        self.planted?.meets(request, &mut dice)
    }

    fn fate(&self) -> (Fate, Duration) {
        let mut dice = self.dice.lock().unwrap();
        let mut left = dice.u32(..1000);
        let met = self.roughness.shares.into_iter().find(|(_, share)| {
            let meets = left < *share;
            left = left.saturating_sub(*share);
            meets
        });
        let fate = met.map_or(Fate::Passes, |(fate, _)| fate);
        self.count(format!("{fate:?}"));
        // Most delays are short; one of many leases is rare.
        let delay = dice
            .u64(..=self.roughness.delay)
            .min(dice.u64(..=self.roughness.delay));
        (fate, Duration::from_millis(delay))
    }
}

/// The HTTP client of one client of the table.
#[derive(Debug)]
pub(super) struct Transport {
    pub(super) wire: SharedHttpClient,
    pub(super) line: Arc<Line>,
}

impl HttpClient for Transport {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Faulty {
            wire: self.wire.http_connector(settings, components),
            line: Arc::clone(&self.line),
        })
    }
}

#[derive(Debug)]
struct Faulty {
    wire: SharedHttpConnector,
    line: Arc<Line>,
}

impl HttpConnector for Faulty {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let parcel = self.line.parcel();
        let (fate, delay) = self.line.fate();
        let mut request = request;
        if let Some(response) = self.line.meets(&mut request) {
            return HttpConnectorFuture::ready(Ok(response));
        }
        HttpConnectorFuture::new(carry(self.wire.clone(), request, fate, delay, parcel))
    }
}

async fn carry(
    wire: SharedHttpConnector,
    request: HttpRequest,
    fate: Fate,
    delay: Duration,
    parcel: Parcel,
) -> Result<HttpResponse, ConnectorError> {
    let (now, awaited) = (Duration::ZERO, parcel.response());
    match fate {
        Fate::Passes | Fate::Slow => {
            let delay = if let Fate::Slow = fate { delay } else { now };
            let response = arrive(wire, request, delay, parcel).await;
            awaited.received();
            response
        }
        Fate::RequestLost => {
            awaited.received();
            Err(ConnectorError::io("the request is lost".into()))
        }
        Fate::ResponseLost => {
            let _lost = arrive(wire, request, now, parcel).await;
            Err(ConnectorError::io("the response is lost".into()))
        }
        Fate::Late => {
            drop(tokio::spawn(arrive(wire, request, delay, parcel)));
            Err(ConnectorError::timeout("no response in time".into()))
        }
        Fate::Twice => {
            let again = request.try_clone().expect("a body in memory");
            let first = arrive(wire.clone(), request, now, parcel.again()).await;
            drop(tokio::spawn(arrive(wire, again, delay, parcel)));
            first
        }
    }
}

/// Delivers a request after `delay`, whether or not its sender still waits.
async fn arrive(
    wire: SharedHttpConnector,
    request: HttpRequest,
    delay: Duration,
    parcel: Parcel,
) -> Result<HttpResponse, ConnectorError> {
    let sent = tokio::spawn(async move {
        if delay > Duration::ZERO {
            SystemClock.sleep(delay).await;
        }
        let response = wire.call(request).await;
        drop(parcel);
        response
    });
    sent.await
        .unwrap_or_else(|ended| Err(ConnectorError::other(ended.into(), None)))
}
