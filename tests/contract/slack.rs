//! The buttons under a message in Slack: their requests to view and operate, and what the role of the channel
//! may call.

use crate::functions::Functions;
use crate::scene::{assert_fails, assert_has, execution};
use lockstep::domain::ExecutionEnd;
use lockstep_tests::repository;
use serde_json::{Value, json};
use std::fs;

fn template() -> String {
    fs::read_to_string(repository().join("infra/slack.yaml")).unwrap()
}

/// Returns the text of a resource in the template.
fn resource(name: &str) -> String {
    let template = template();
    let (_, text) = template.split_once(&format!("\n  {name}:\n")).expect(name);
    text.split("\n\n").next().unwrap().to_owned()
}

/// Returns the request of a button under a message about `holder`, and the output with the ARN of the
/// function that it calls.
fn pressed(button: &str, holder: &str) -> (Value, String) {
    let text = resource(button);
    let begin = "- 'lambda invoke --function-name ${Function} --payload ";
    let (_, command) = text.split_once(begin).unwrap();
    let (payload, rest) = command.split_once(" --region ${AWS::Region}'\n").unwrap();
    let (_, function) = rest.split_once("!Sub \"${LockstepStackName}-").unwrap();
    let (function, _) = function.split_once('"').unwrap();
    let payload = payload
        .replace("$lock", "nightly")
        .replace("$holder", holder);
    let request = serde_json::from_str(&payload).expect(&payload);
    (request, function.to_owned())
}

#[tokio::test]
async fn view_and_operate_accept_the_requests_of_the_slack_buttons() {
    let (functions, _) = Functions::held_with(&["a", "b"], json!({ "maxRunSeconds": 60 })).await;
    let holder = execution("a");

    let (show, viewing) = pressed("Show", &holder);
    let (pause, pausing) = pressed("Pause", &holder);
    let (evict, evicting) = pressed("Evict", &holder);

    assert_eq!(viewing, "ViewFunctionArn");
    assert_eq!([pausing, evicting], ["OperateFunctionArn"; 2]);
    let shown = functions.view(show).await.unwrap();
    assert!(shown.to_string().contains(&holder), "{shown}");
    let paused = functions.operate(pause).await.unwrap();
    assert_has(&paused, json!({ "act": "pause", "done": 1 }));
    // The run is alive, and the request of the button has no `force`.
    let refused = functions.operate(evict.clone()).await;
    assert_fails(refused, "Lockstep.LockHeld", &[&holder]);
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1_000);
    functions.operate(evict).await.unwrap();
    assert!(functions.holders("nightly").await.is_empty());
}

#[test]
fn a_slack_button_appears_only_under_messages_of_its_own_stack() {
    for (button, facts) in [
        ("Show", &["lock"][..]),
        ("Pause", &["lock"]),
        ("Evict", &["lock", "holder"]),
    ] {
        let text = resource(button);
        let own = "{ Operator: EQUALS, VariableName: table, Value: { \"Fn::ImportValue\": !Sub \"${LockstepStackName}-LockTableName\" } }";
        assert!(text.contains(own), "{text}");
        for fact in facts.iter().chain(&["table"]) {
            let variable = format!("{fact}: event.metadata.additionalContext.{fact}");
            assert!(text.contains(&variable), "{variable}: {text}");
        }
        assert!(text.contains("NotificationType: Custom"), "{text}");
    }
}

#[test]
fn a_slack_channel_may_operate_only_if_the_stack_allows_it() {
    let role = resource("Role");
    let (_, allowed) = role
        .split_once("          - Effect: Allow\n                Action: ")
        .unwrap();
    let lines: Vec<_> = allowed.lines().map(str::trim).collect();
    let import = |output: &str| {
        format!("{{ \"Fn::ImportValue\": !Sub \"${{LockstepStackName}}-{output}\" }}")
    };
    let (view, operate) = (import("ViewFunctionArn"), import("OperateFunctionArn"));
    let expected = [
        "lambda:InvokeFunction".to_owned(),
        "Resource:".to_owned(),
        format!("- {view}"),
        format!("- !If [Operates, {operate}, !Ref \"AWS::NoValue\"]"),
    ];
    assert_eq!(lines, expected);

    let channel = resource("Channel");
    let guardrail = format!(
        "- Operates\n          - {}\n          - {}\n",
        import("OperatorPolicyArn"),
        import("ViewerPolicyArn")
    );
    for line in [
        &format!("GuardrailPolicies:\n        - !If\n          {guardrail}"),
        &format!("SnsTopicArns: [{}]", import("AlarmTopicArn")),
        "- !Ref Show\n",
        "- !If [Operates, !Ref Pause, !Ref \"AWS::NoValue\"]",
        "- !If [Operates, !Ref Evict, !Ref \"AWS::NoValue\"]",
    ] {
        assert!(channel.contains(line), "{line}: {channel}");
    }
    for button in ["Pause", "Evict"] {
        assert!(
            resource(button).contains("Condition: Operates\n"),
            "{button}"
        );
    }
    let off = "  SlackOperates:\n    Type: String\n    Default: \"false\"\n";
    assert!(template().contains(off));
}
