//! Faults on purpose: what a broken client, function or table would do. The checker has to find
//! each of them.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use fastrand::Rng;
use lockstep::domain::{Timestamp, rfc3339};
use lockstep_tests::units::Item;
use serde_json::{Value, from_slice, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Planted {
    /// The write of a grant without a read has lost its condition.
    GrantUnconditional,
    /// The transaction of a release has lost its conditions.
    ReleaseUnconditional,
    /// The table confirms a write that it does not keep.
    WriteForgotten,
    /// Every client asks for one permit more than the lock has.
    OnePermitMore,
    /// A caller at a full lock is told that it has a permit.
    GrantDoubled,
    /// A grant is reported with the token of the grant before it.
    TokenReused,
    /// A renewal after the loss of the lease is reported as a success.
    LostLeaseRenewed,
    /// A skipped caller is told the answer of the skipped call before it.
    AnswerStale,
    /// The second waiter has the ticket of the first.
    WaiterOvertakes,
    /// The first waiter loses its place.
    PlaceLost,
    /// The lease of a holder ends early.
    LeaseDropped,
    /// A holder is told a later end of its lease than the table contains.
    LeaseOverstated,
    /// The clock of the sweep is further ahead than clocks may be.
    ClockAhead,
}

impl Planted {
    pub(super) const ALL: [Self; 13] = [
        Self::GrantUnconditional,
        Self::ReleaseUnconditional,
        Self::WriteForgotten,
        Self::OnePermitMore,
        Self::GrantDoubled,
        Self::TokenReused,
        Self::LostLeaseRenewed,
        Self::AnswerStale,
        Self::WaiterOvertakes,
        Self::PlaceLost,
        Self::LeaseDropped,
        Self::LeaseOverstated,
        Self::ClockAhead,
    ];

    /// Returns how many permits a client asks for at a lock of `permits`.
    pub(super) fn permits(self, permits: i64) -> i64 {
        permits + i64::from(self == Self::OnePermitMore)
    }

    /// Returns the skew of the sweep's clock in milliseconds, where `skew` was drawn for it.
    pub(super) fn skew_of_sweep(self, skew: i64) -> i64 {
        skew + if self == Self::ClockAhead { 5000 } else { 0 }
    }

    /// Changes a request on its way, or responds in place of the table.
    pub(super) fn meets(self, request: &mut HttpRequest, dice: &mut Rng) -> Option<HttpResponse> {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let mut body: Value = from_slice(request.body().bytes()?).ok()?;
        match (self, operation.as_str()) {
            (Self::GrantUnconditional, "UpdateItem") if is_grant(&body) => {
                drop_condition(&mut body)
            }
            (Self::ReleaseUnconditional, "TransactWriteItems") => {
                for write in body["TransactItems"].as_array_mut()? {
                    write.as_object_mut()?.values_mut().for_each(drop_condition);
                }
            }
            (Self::WriteForgotten, "UpdateItem" | "TransactWriteItems")
                if body["ReturnValues"] != "ALL_NEW" && dice.u8(..5) == 0 =>
            {
                let status = 200.try_into().expect("a status");
                return Some(HttpResponse::new(status, SdkBody::from("{}")));
            }
            _ => return None,
        }
        let body = body.to_string();
        request
            .headers_mut()
            .insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
        None
    }
}

/// Returns whether an UpdateItem grants a permit.
fn is_grant(body: &Value) -> bool {
    let names = body["ExpressionAttributeNames"].as_object();
    names.is_some_and(|names| names.values().any(|name| name == "lastToken"))
}

/// Makes the condition of a write true for every item that exists. The condition itself stays in
/// the request, because DynamoDB refuses names and values that no expression uses.
fn drop_condition(write: &mut Value) {
    if let Some(condition) = write["ConditionExpression"].as_str() {
        let always = format!("({condition}) OR attribute_exists(pk)");
        write["ConditionExpression"] = json!(always);
    }
}

/// What a fault needs to know of earlier answers.
#[derive(Debug, Default)]
pub(super) struct Mischief {
    pub(super) planted: Option<Planted>,
    /// The last answer that the fault replaces, by lock.
    earlier: Mutex<BTreeMap<String, Value>>,
}

impl Mischief {
    pub(super) fn of(planted: Option<Planted>) -> Self {
        Self {
            planted,
            ..Self::default()
        }
    }

    /// Returns what the client is told in place of `answer` about `lock`, at `now`.
    pub(super) fn distort(&self, lock: &str, mut answer: Value, now: Timestamp) -> Value {
        let status = answer["status"].as_str().unwrap_or_default().to_owned();
        let is_lost = answer["error"] == "Lockstep.LeaseLost";
        let end = rfc3339(Timestamp::from_millis(now.millis() + 3000));
        match self.planted {
            Some(Planted::GrantDoubled) if status == "skipped" => {
                json!({ "status": "granted", "grant": { "token": now.millis() }, "expiresAt": end })
            }
            Some(Planted::LostLeaseRenewed) if is_lost => {
                json!({ "status": "renewed", "expiresAt": end })
            }
            Some(Planted::LeaseOverstated) if !answer["grant"].is_null() => {
                answer["expiresAt"] = json!(rfc3339(Timestamp::from_millis(now.millis() + 9000)));
                answer
            }
            Some(Planted::TokenReused) if status == "granted" => {
                let token = answer["grant"]["token"].clone();
                if let Some(earlier) = self.replace(lock, token) {
                    answer["grant"]["token"] = earlier;
                }
                answer
            }
            Some(Planted::AnswerStale) if status == "skipped" => {
                self.replace(lock, answer.clone()).unwrap_or(answer)
            }
            _ => answer,
        }
    }

    fn replace(&self, lock: &str, value: Value) -> Option<Value> {
        self.earlier.lock().unwrap().insert(lock.to_owned(), value)
    }

    /// Changes the record of `lock` past the protocol, if the fault is one of the table.
    pub(super) async fn disturb(&self, client: &Client, table: &str, lock: &str) {
        let key = [("pk", lock), ("sk", "lock")];
        let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.into())));
        let get = client.get_item().table_name(table).consistent_read(true);
        let got = get.set_key(Some(key.clone().into())).send().await;
        let Some(record) = got.ok().and_then(|got| got.item) else {
            return;
        };
        let Some((map, entry, value)) = self.damage(&record) else {
            return;
        };
        let update = client.update_item().table_name(table);
        let update = update
            .set_key(Some(key.into()))
            .expression_attribute_names("#map", map)
            .expression_attribute_names("#entry", &entry)
            .condition_expression("attribute_exists(#map.#entry)");
        let sent = match value {
            None => update.update_expression("REMOVE #map.#entry").send().await,
            Some((other, [first, second])) => {
                let swap = "SET #map.#entry = :second, #map.#other = :first";
                let update = update.update_expression(swap);
                let update = update.expression_attribute_names("#other", other);
                let update = update.expression_attribute_values(":first", first);
                let update = update.expression_attribute_values(":second", second);
                update.send().await
            }
        };
        drop(sent);
    }

    /// Returns the entry of a map of the record that is removed, or the two whose values are
    /// swapped.
    #[expect(clippy::type_complexity, reason = "read at one place")]
    fn damage(
        &self,
        record: &Item,
    ) -> Option<(&'static str, String, Option<(String, [AttributeValue; 2])>)> {
        let map = |name: &str| record.get(name).and_then(|map| map.as_m().ok());
        let number = |value: &AttributeValue| {
            let number = value.as_n().ok();
            number.and_then(|number| number.parse::<i64>().ok())
        };
        let mut queue: Vec<_> = map("queue")?.iter().collect();
        queue.sort_by_key(|(_, ticket)| number(ticket));
        match (self.planted?, &queue[..]) {
            (Planted::LeaseDropped, _) => {
                let held = map("holders")?.keys().next()?;
                Some(("holders", held.clone(), None))
            }
            (Planted::PlaceLost, [(first, _), ..]) => Some(("queue", (*first).clone(), None)),
            (Planted::WaiterOvertakes, [(first, front), (second, behind), ..]) => {
                let tickets = [(*front).clone(), (*behind).clone()];
                let swap = Some(((*second).clone(), tickets));
                Some(("queue", (*first).clone(), swap))
            }
            _ => None,
        }
    }
}
