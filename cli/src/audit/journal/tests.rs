use super::*;
use std::fs;

fn question() -> Question {
    Question {
        region: "eu-west-1".into(),
        account: "111122223333".into(),
        since_seconds: 86_400,
        names: Vec::new(),
        prefix: None,
    }
}

/// Returns the path of a file that is new for each test.
fn file(test: &str) -> PathBuf {
    let name = format!("lockstep-journal-{}-{test}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::remove_file(&path).ok();
    path
}

fn page(items: &[u32], next: Option<&str>) -> Page<u32> {
    Page {
        items: items.to_vec(),
        next: next.map(str::to_owned),
    }
}

fn reopened(path: &Path) -> (List<u32>, u64) {
    let (mut journal, begun) = Journal::open(path, &question(), 99).unwrap();
    (journal.take("runs/a"), begun)
}

#[test]
fn pages_that_were_kept_are_known_after_a_restart() {
    let path = file("kept");
    let (mut journal, begun) = Journal::open(&path, &question(), 7).unwrap();
    journal
        .keep("runs/a", &page(&[1, 2], Some("x")), false, false)
        .unwrap();
    journal
        .keep("runs/b", &page(&[9], None), true, false)
        .unwrap();
    journal
        .keep("runs/a", &page(&[3], Some("y")), false, false)
        .unwrap();
    drop(journal);

    let (list, again) = reopened(&path);

    assert_eq!((begun, again), (7, 7));
    assert_eq!(
        (list.items, list.next.as_deref(), list.done),
        (vec![1, 2, 3], Some("y"), false)
    );
    fs::remove_file(path).unwrap();
}

#[test]
fn pages_before_an_expired_token_do_not_count() {
    let path = file("restarts");
    let (mut journal, _) = Journal::open(&path, &question(), 7).unwrap();
    journal
        .keep("runs/a", &page(&[1, 2], Some("x")), false, false)
        .unwrap();
    journal
        .keep("runs/a", &page(&[5], None), true, true)
        .unwrap();
    drop(journal);

    let (list, _) = reopened(&path);

    assert_eq!((list.items, list.done), (vec![5], true));
    fs::remove_file(path).unwrap();
}

#[test]
fn a_line_that_was_cut_off_counts_as_not_written() {
    let path = file("cut");
    let (mut journal, _) = Journal::open(&path, &question(), 7).unwrap();
    journal
        .keep("runs/a", &page(&[1], Some("x")), false, false)
        .unwrap();
    journal
        .keep("runs/a", &page(&[2], Some("y")), false, false)
        .unwrap();
    drop(journal);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();

    let (list, _) = reopened(&path);
    let (again, _) = reopened(&path);

    assert_eq!((list.items, list.next.as_deref()), (vec![1], Some("x")));
    assert_eq!(again.items, [1], "the rest of the line is gone");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_file_of_something_else_is_refused_and_left_as_it_is() {
    for (test, text) in [
        ("text", "notes"),
        ("line", "notes\n"),
        ("bytes", "\u{1}\n{}\n"),
    ] {
        let path = file(test);
        fs::write(&path, text).unwrap();

        let (exit, why) = Journal::open(&path, &question(), 7).unwrap_err();

        assert_eq!(exit, Exit::CONFIGURATION, "{why}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_file_of_another_audit_is_refused_by_what_differs() {
    let path = file("other");
    drop(Journal::open(&path, &question(), 7).unwrap());
    let asked = |change: fn(&mut Question)| {
        let mut asked = question();
        change(&mut asked);
        Journal::open(&path, &asked, 7).unwrap_err().1
    };

    for (why, expected) in [
        (
            asked(|of| of.region = "us-east-1".into()),
            "the Region of its audit is eu-west-1, not us-east-1",
        ),
        (
            asked(|of| of.account = "1".into()),
            "the account of its audit is 111122223333",
        ),
        (asked(|of| of.since_seconds = 60), "--since 86400s"),
        (
            asked(|of| of.prefix = Some("a".into())),
            "other state machines",
        ),
    ] {
        assert!(why.contains(expected), "{why}");
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn two_audits_do_not_share_a_file() {
    let path = file("shared");
    let first = Journal::open(&path, &question(), 7).unwrap();

    let (_, why) = Journal::open(&path, &question(), 7).unwrap_err();

    assert!(why.contains("another audit uses it"), "{why}");
    drop(first);
    fs::remove_file(path).unwrap();
}
