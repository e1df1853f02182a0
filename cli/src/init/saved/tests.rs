use super::*;

/// Reads a file of the stack `lockstep`.
fn read(text: &str) -> Result<Saved, Unread> {
    Saved::read(text.as_bytes(), "lockstep")
}

fn new() -> String {
    let parameters = [
        ("TaskDefinitionArns", "a:*,b:*".to_owned()),
        ("AlarmEmail", String::new()),
    ];
    samconfig("the stack", "lockstep", "eu-west-1", false, &parameters)
}

#[test]
fn what_is_written_is_read_again() {
    let saved = read(&new()).unwrap();

    assert_eq!(saved.setting("stack_name"), Some("lockstep"));
    assert_eq!(saved.setting("region"), Some("eu-west-1"));
    assert_eq!(saved.get("TaskDefinitionArns").as_deref(), Some("a:*,b:*"));
    assert_eq!(saved.get("AlarmEmail").as_deref(), Some(""));
    assert_eq!(saved.get("ClusterArns"), None);
}

#[test]
fn an_answer_is_added_and_all_else_stays() {
    let edited = new()
        .replace("resolve_s3 = true", "s3_bucket = \"mine\" # ours")
        .replace("[\n", "[\n    # Graviton\n    \"Architecture=arm64\",\n");
    let saved = read(&edited).unwrap();
    let same = [("AlarmEmail", String::new())];
    let changed = [
        ("TaskDefinitionArns", "a:*,b:*,c:*".to_owned()),
        ("ClusterArns", "batch".to_owned()),
    ];

    let text = saved.with(&changed);

    assert_eq!(saved.with(&same), edited);
    let expected = edited
        .replace("b:*", "b:*,c:*")
        .replace(",\n]", ",\n    'ClusterArns=\"batch\"',\n]");
    assert_eq!(text, expected);
    let again = read(&text).unwrap();
    assert_eq!(again.get("Architecture").as_deref(), Some("arm64"));
    assert_eq!(again.get("ClusterArns").as_deref(), Some("batch"));
}

#[test]
fn the_one_text_of_a_guided_deploy_is_read_and_added_to() {
    let guided = "version = 0.1\n[default.deploy.parameters]\nstack_name = \"lockstep\"\n\
                  parameter_overrides = \"TaskRoleArns=\\\"\\\" ClusterArns=\\\"a,b\\\" LogLevel=info\"\n";
    let saved = read(guided).unwrap();

    let text = saved.with(&[("LogLevel", "debug".to_owned())]);

    let again = read(&text).unwrap();
    for (name, value) in [
        ("TaskRoleArns", ""),
        ("ClusterArns", "a,b"),
        ("LogLevel", "debug"),
    ] {
        assert_eq!(again.get(name).as_deref(), Some(value), "{text}");
    }
}

#[test]
fn a_file_of_another_stack_is_told_from_one_that_is_unclear() {
    let named = "[default.deploy.parameters]\nstack_name = \"lockstep\"\n";
    for (text, is_other) in [
        ("no TOML".to_owned(), false),
        ("version = 0.1\n".to_owned(), true),
        (named.replace("lockstep", "another"), true),
        (named.replace("stack_name", "stack"), true),
        (
            named.replace("lockstep", "another") + "parameter_overrides = 1\n",
            true,
        ),
        (format!("{named}parameter_overrides = 1\n"), false),
        (
            format!("{named}parameter_overrides = [\"LogLevel\"]\n"),
            false,
        ),
        (
            format!("{named}[default.global.parameters]\nparameter_overrides = \"A=b\"\n"),
            false,
        ),
    ] {
        let found = read(&text).unwrap_err();
        assert_eq!(matches!(found, Unread::Other(_)), is_other, "{text}");
    }
}

/// Returns a file whose `parameter_overrides` are this TOML.
fn overridden(toml: &str) -> Result<Saved, Unread> {
    read(&format!(
        "[default.deploy.parameters]\nstack_name = \"lockstep\"\nparameter_overrides = {toml}\n"
    ))
}

#[test]
fn assignments_that_sam_reads_in_another_way_are_refused() {
    for toml in [
        r#""ParameterKey=TaskDefinitionArns,ParameterValue=a:* ParameterKey=LogLevel,ParameterValue=info""#,
        r#"["ParameterKey=TaskDefinitionArns,ParameterValue=a:*"]"#,
        r#"["LogLevel=info TaskDefinitionArns=a:*"]"#,
        r#"["TaskDefinitionArns='a:*'"]"#,
        r#""TaskDefinitionArns='a:*'""#,
        r#""LogLevel=info and more""#,
        "\"\"\"\nLogLevel=info\nTaskDefinitionArns=a:*\n\"\"\"",
        r#""LogLevel= TaskDefinitionArns=a:*""#,
        r#"["LogLevel="]"#,
        r#"'RunbookUrl="https://a?ParameterKey=A,ParameterValue=b" LogLevel=info'"#,
        r#"'LogLevel=a\ b'"#,
        r#""file://answers.yaml""#,
        r#"{ "$include" = "answers.yaml" }"#,
        r#"{ LogLevel = { a = "b" } }"#,
        r#"{ TaskRoleArns = ["a", ["b"]] }"#,
    ] {
        let refused = overridden(toml).unwrap_err();
        let rule =
            "its parameter_overrides are neither texts NAME=VALUE nor a map of names to texts";
        assert_eq!(refused, Unread::Unclear(rule.into()), "{toml}");
    }
}

#[test]
fn of_several_assignments_of_a_name_the_last_one_holds() {
    let saved = overridden(r#"["TaskRoleArns=a", "TaskRoleArns=b"]"#).unwrap();

    let text = saved.with(&[("TaskRoleArns", "b,c".to_owned())]);

    assert_eq!(saved.get("TaskRoleArns").as_deref(), Some("b"));
    let again = read(&text).unwrap();
    assert_eq!(again.get("TaskRoleArns").as_deref(), Some("b,c"), "{text}");
}

#[test]
fn comments_and_ends_of_lines_stay() {
    let list = "[\n    \"LogLevel=info\", # until Friday\n    # \"Alarms=false\",\n]";
    let saved = overridden(list).unwrap();
    for (name, value) in [("LogLevel", "debug"), ("ClusterArns", "a")] {
        let text = saved.with(&[(name, value.to_owned())]);
        for comment in ["# until Friday", "# \"Alarms=false\","] {
            assert!(text.contains(comment), "{text}");
        }
        let again = read(&text).unwrap();
        assert_eq!(again.get(name).as_deref(), Some(value), "{text}");
        assert_eq!(again.get("Alarms"), None, "{text}");
    }

    let lines = new().replace('\n', "\r\n");
    let saved = read(&lines).unwrap();
    assert_eq!(saved.with(&[]), lines);
    let text = saved.with(&[("ClusterArns", "a".to_owned())]);
    assert!(
        text.split('\n')
            .rev()
            .skip(1)
            .all(|line| line.ends_with('\r')),
        "{text:?}"
    );
}

#[test]
fn a_quote_in_a_value_stays_one() {
    let saved = overridden(r#"'RunbookUrl="https://a/\"b\"" LogLevel=info'"#).unwrap();

    let text = saved.with(&[("LogLevel", "debug".to_owned())]);

    let again = read(&text).unwrap();
    assert_eq!(
        again.get("RunbookUrl").as_deref(),
        Some(r#"https://a/"b""#),
        "{text}"
    );
}

#[test]
fn a_setting_of_every_command_is_one_of_the_deploy() {
    let saved = Saved::read(
        b"[default.global.parameters]\nregion = \"us-east-1\"\nstack_name = \"a\"\n\
          [default.deploy.parameters]\nstack_name = \"b\"\n",
        "b",
    )
    .unwrap();

    assert_eq!(saved.setting("region"), Some("us-east-1"));
    assert_eq!(saved.setting("stack_name"), Some("b"));
}

#[test]
fn a_map_is_read_and_added_to_in_each_of_its_forms() {
    let section = "[default.deploy.parameters]\nstack_name = \"lockstep\"\n";
    let role = "TaskRoleArns = [\"a\", \" b \", \"\"] # ours";
    for map in [
        format!("{section}parameter_overrides = {{ LogLevel = \"info\", Days = 7 }}\n"),
        format!("{section}parameter_overrides.LogLevel = \"info\"\n{section_end}", section_end = "parameter_overrides.Days = 7\n"),
        format!("{section}[default.deploy.parameters.parameter_overrides]\nLogLevel = 'info'\nDays = 7\n{role}\n"),
        "default.deploy.parameters = { stack_name = \"lockstep\", parameter_overrides = { LogLevel = \"info\", Days = 7 } }\n".to_owned(),
    ] {
        let saved = read(&map).unwrap();
        assert_eq!(saved.get("LogLevel").as_deref(), Some("info"), "{map}");
        assert_eq!(saved.get("Days").as_deref(), Some("7"), "{map}");
        let has_roles = map.contains(role);
        assert_eq!(saved.get("TaskRoleArns").is_some(), has_roles);

        let text = saved.with(&[
            ("LogLevel", "debug".to_owned()),
            ("ClusterArns", "x,y".to_owned()),
            ("TaskRoleArns", "a,b".to_owned()),
        ]);

        let again = read(&text).unwrap();
        for (name, value) in [
            ("LogLevel", "debug"),
            ("ClusterArns", "x,y"),
            ("TaskRoleArns", "a,b"),
            ("Days", "7"),
        ] {
            assert_eq!(again.get(name).as_deref(), Some(value), "{text}");
        }
        assert_eq!(text.contains(role), has_roles, "{text}");
    }
}

#[test]
fn a_comment_behind_a_text_stays_when_it_becomes_a_list() {
    let saved = overridden("\"LogLevel=info\" # until Friday").unwrap();

    let text = saved.with(&[("LogLevel", "debug".to_owned())]);

    assert!(text.contains("] # until Friday\n"), "{text}");
    let again = read(&text).unwrap();
    assert_eq!(again.get("LogLevel").as_deref(), Some("debug"), "{text}");
}

#[test]
fn a_value_is_unquoted_as_sam_does_it() {
    let saved = overridden(r#"'A="a\ b" B="it\'\''s" C=plain'"#);
    assert!(saved.is_err(), "TOML ends the text at its quote");
    let saved = overridden(r#"["A=\"a\\ b\"", "B=\"it\\'s\"", "C=plain"]"#).unwrap();
    for (name, value) in [("A", "a b"), ("B", "it's"), ("C", "plain")] {
        assert_eq!(saved.get(name).as_deref(), Some(value));
    }
}
