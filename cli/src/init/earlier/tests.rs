use super::super::answers::tests::answers;
use super::super::deployed::tests::deployed;
use super::*;

const OTHER: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/other:*";
const OWN: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report:*";
const CLUSTER: &str = "arn:aws:ecs:eu-west-1:111122223333:cluster/batch";

fn saved(parameters: &[(&str, &str)]) -> Option<Saved> {
    let parameters: Vec<_> = parameters
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    Some(read_as(&samconfig(
        "a",
        "lockstep",
        "eu-west-1",
        false,
        &parameters,
    )))
}

fn none() -> Deployed {
    Deployed::default()
}

fn read_as(text: &str) -> Saved {
    Saved::read(text.as_bytes(), "lockstep").unwrap()
}

#[test]
fn what_the_stack_lets_run_already_stays() {
    let any = "arn:aws:ecs:eu-west-1:111122223333:task-definition/*";
    let tasks = "TaskDefinitionArns";
    for (file, stack, expected) in [
        (None, none(), OWN.to_owned()),
        (saved(&[(tasks, OTHER)]), none(), format!("{OTHER},{OWN}")),
        (None, deployed(&[(tasks, OTHER)]), format!("{OTHER},{OWN}")),
        (
            saved(&[(tasks, OTHER)]),
            deployed(&[(tasks, &format!("{OWN},{OTHER}"))]),
            format!("{OTHER},{OWN}"),
        ),
        (None, deployed(&[(tasks, any)]), any.to_owned()),
    ] {
        let earlier = Earlier {
            saved: file,
            deployed: stack,
        };

        let found = earlier.parameters(&answers());

        assert_eq!(found[0], (tasks, expected));
    }
}

#[test]
fn a_stack_that_allows_every_cluster_still_does() {
    for (file, stack, expected) in [
        (None, none(), CLUSTER),
        (saved(&[]), none(), ""),
        (saved(&[("ClusterArns", "")]), none(), ""),
        (None, deployed(&[("ClusterArns", "")]), ""),
        (saved(&[]), deployed(&[("ClusterArns", CLUSTER)]), CLUSTER),
    ] {
        let earlier = Earlier {
            saved: file,
            deployed: stack,
        };

        assert_eq!(
            earlier.parameters(&answers())[2],
            ("ClusterArns", expected.to_owned())
        );
    }
}

#[test]
fn a_file_of_another_region_or_account_gives_nothing_to_this_stack() {
    let here = "TaskDefinitionArns";
    for (region, entry, passes) in [
        ("eu-west-1", OTHER.to_owned(), true),
        ("us-east-1", OTHER.replace("eu-west-1", "us-east-1"), true),
        (
            "eu-west-1",
            OTHER.replace("111122223333", "999900001111"),
            false,
        ),
        ("eu-west-1", OTHER.replace("arn:aws:", "arn:aws-cn:"), false),
    ] {
        let text = samconfig("a", "lockstep", region, false, &[(here, entry.clone())]);
        let earlier = Earlier {
            saved: Some(read_as(&text)),
            deployed: none(),
        };
        let is_kept = passes && region == "eu-west-1";

        let expected = match is_kept {
            true => format!("{OTHER},{OWN}"),
            false => OWN.to_owned(),
        };
        assert_eq!(earlier.parameters(&answers())[0], (here, expected));
        let text = earlier.kept_text(&answers());
        assert_eq!(text.is_some(), is_kept, "{entry}");
        assert_eq!(earlier.check_account(CLUSTER, false).is_ok(), passes);
        assert!(earlier.check_account(CLUSTER, true).is_ok());
    }
}

#[test]
fn an_address_for_mails_is_replaced_by_force_only() {
    let mine = "oncall@example.com";
    for (earlier, given, force, passes) in [
        (None, mine, false, true),
        (Some(""), mine, false, true),
        (Some(mine), mine, false, true),
        (Some(mine), "", false, false),
        (Some(mine), "other@example.com", false, false),
        (Some(mine), "", true, true),
    ] {
        let file = earlier.and_then(|email| saved(&[("AlarmEmail", email)]));
        let stack = Earlier {
            saved: file,
            deployed: none(),
        };
        let known = stack.email(CLUSTER).unwrap_or_default();
        assert_eq!(known, earlier.unwrap_or_default());
        let checked = Earlier::check_email(&known, given, force);
        assert_eq!(checked.is_ok(), passes, "{given}");
    }
}

#[test]
fn a_file_of_another_account_gives_this_stack_no_address() {
    let theirs = OTHER.replace("111122223333", "999900001111");
    let file = saved(&[
        ("TaskDefinitionArns", &theirs),
        ("AlarmEmail", "a@their.org"),
    ]);
    let mine = deployed(&[("AlarmEmail", "oncall@example.com")]);
    for (stack, expected) in [(none(), None), (mine, Some("oncall@example.com"))] {
        let earlier = Earlier {
            saved: file.as_ref().map(|file| read_as(file.text())),
            deployed: stack,
        };
        assert_eq!(earlier.email(CLUSTER).as_deref(), expected);
    }
}

#[test]
fn a_file_of_two_accounts_is_not_replaced() {
    let theirs = "arn:aws:iam::999900001111:role/b";
    for (roles, force, rule) in [
        (theirs, false, ": --force replaces the file"),
        (theirs, true, ""),
        ("arn:aws:iam::111122223333:role/a", false, ""),
        (
            &*format!("{theirs},arn:aws:iam::111122223333:role/a"),
            false,
            ": remove what",
        ),
        (
            &*format!("arn:aws:iam::111122223333:role/a,{theirs}"),
            true,
            ": remove what",
        ),
        ("role/b,x", true, ""),
    ] {
        let earlier = Earlier {
            saved: saved(&[("TaskRoleArns", roles)]),
            deployed: none(),
        };
        let is_kept = earlier.kept_text(&answers()).is_some();
        assert_eq!(is_kept, !roles.contains(theirs), "{roles}");
        match earlier.check_account(CLUSTER, force) {
            Ok(()) => assert_eq!(rule, "", "{roles}"),
            Err(why) => assert!(!rule.is_empty() && why.text.contains(rule), "{}", why.text),
        }
    }
}

#[test]
fn a_file_that_names_no_region_has_that_of_its_entries() {
    let elsewhere = OTHER.replace("eu-west-1", "us-east-1");
    for (entry, passes) in [(OTHER, true), (&elsewhere, false)] {
        let parameters = [("TaskDefinitionArns", entry.to_owned())];
        let text = samconfig("a", "lockstep", "eu-west-1", false, &parameters);
        let earlier = Earlier {
            saved: Some(read_as(&text.replace("region = \"eu-west-1\"\n", ""))),
            deployed: none(),
        };
        assert_eq!(earlier.check_region("eu-west-1", false).is_ok(), passes);
        assert_eq!(earlier.kept_text(&answers()).is_some(), passes, "{entry}");
    }
}

#[test]
fn what_a_file_leaves_to_the_stack_stays_so() {
    let nobody = Answers {
        email: String::new(),
        ..answers()
    };
    for (stack, says_cluster, says_email) in [
        (none(), false, false),
        (
            deployed(&[("ClusterArns", ""), ("AlarmEmail", "")]),
            false,
            false,
        ),
        (
            deployed(&[("ClusterArns", CLUSTER), ("AlarmEmail", "a@b")]),
            true,
            true,
        ),
    ] {
        let earlier = Earlier {
            saved: saved(&[("TaskDefinitionArns", OTHER)]),
            deployed: stack,
        };

        let text = earlier.config(&nobody);

        assert_eq!(text.contains("ClusterArns"), says_cluster, "{text}");
        assert_eq!(text.contains("AlarmEmail=\"\""), says_email, "{text}");
        assert!(text.contains(&format!("{OTHER},{OWN}")), "{text}");
    }
}

#[test]
fn a_file_whose_answers_are_unclear_is_not_replaced_by_force() {
    let folder = std::env::temp_dir().join(format!("init-earlier-{}", std::process::id()));
    let path = folder.join(LOCKSTEP_CONFIG);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let named = "[default.deploy.parameters]\nstack_name = \"lockstep\"\n";
    let without = "it names no stack, but must be for --stack lockstep";
    let lists = format!("{named}parameter_overrides = \"file://answers.yaml\"\n");
    for (text, may_be_forced, rule) in [
        (
            &b"stack_name = \"lockstep\nparameter_overrides"[..],
            false,
            "it is no TOML: ",
        ),
        (
            &b"\xff\xfe[\0"[..],
            false,
            "it is not UTF-8, so what it lets run cannot be kept",
        ),
        (
            lists.as_bytes(),
            false,
            "its parameter_overrides are neither",
        ),
        (&b"[default.deploy.parameters]\n"[..], true, without),
        (
            &b""[..],
            true,
            "it has no section default.deploy.parameters",
        ),
    ] {
        fs::write(&path, text).unwrap();

        let refused = read(&folder, "lockstep", false).unwrap_err();
        let forced = read(&folder, "lockstep", true);

        assert!(refused.text.contains(rule), "{}", refused.text);
        assert!(
            refused.text.contains("nothing was written"),
            "{}",
            refused.text
        );
        assert_eq!(refused.exit, Exit::CANNOT_WRITE);
        assert_eq!(forced.is_ok(), may_be_forced, "{forced:?}");
        assert_eq!(fs::read(&path).unwrap(), text);
    }
    fs::remove_dir_all(folder).ok();
}
