//! A table that is restored to an older copy of itself, as from a backup.

use crate::fixture::{Fixture, acquire, holder, release, renew};
use lockstep::domain::{Outcome, Refusal};
use lockstep::protocol::ProtocolError;
use lockstep_tests::units::Item;

/// Returns all items of the table.
async fn items(fixture: &Fixture) -> Vec<Item> {
    let scan = fixture.client.scan().table_name(&fixture.table.name);
    let page = scan.consistent_read(true).send().await.expect("a page");
    page.items.unwrap_or_default()
}

/// Replaces the items of the table by those of `copy`.
async fn restore(fixture: &Fixture, copy: Vec<Item>) {
    for item in items(fixture).await {
        let key = ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone()));
        let delete = fixture.client.delete_item().set_key(Some(key.into()));
        let deleted = delete.table_name(&fixture.table.name).send().await;
        deleted.expect("the item is gone");
    }
    for item in copy {
        let put = fixture.client.put_item().set_item(Some(item));
        let put = put.table_name(&fixture.table.name).send().await;
        put.expect("the item is there");
    }
}

#[tokio::test]
async fn a_restored_lock_frees_its_revived_holder_and_grants_above_every_token() {
    let (fixture, old) = Fixture::held("restored").await;
    let copy = items(&fixture).await;
    fixture.done(release("a", old)).await;
    let newest = fixture.granted(acquire("b")).await;

    restore(&fixture, copy).await;
    let revived = fixture.record().await;
    let unknown = fixture.execute(renew("b", newest)).await;
    let freed = fixture.outcome(fixture.recovery("a", old).await).await;
    let next = fixture.granted(acquire("c")).await;

    let holders: Vec<_> = revived.holders.keys().cloned().collect();
    assert_eq!((holders, revived.last_token), (vec![holder("a")], old));
    let lost =
        |error: &ProtocolError| matches!(error, ProtocolError::Refused(Refusal::LeaseLost { .. }));
    assert!(unknown.as_ref().is_err_and(lost), "{unknown:?}");
    assert!(matches!(freed, Outcome::Freed { .. }), "{freed:?}");
    assert!(next > newest, "{next} after {newest}");
}
