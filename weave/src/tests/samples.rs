//! Definitions in the layouts in which people write them.

/// Whole definitions.
pub(super) const SAMPLES: &[(&str, &str)] = &[
    (
        "minified",
        r#"{"StartAt":"Work","States":{"Work":{"Type":"Pass","End":true}}}"#,
    ),
    (
        "two spaces",
        r#"{
  "Comment": "Nightly.",
  "StartAt": "Load",
  "States": {
    "Load": {
      "Type": "Task",
      "Resource": "arn:aws:states:::ecs:runTask.sync",

      "Parameters": { "Cluster": "${Cluster}", "Group.$": "$$.Execution.Id" },
      "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "Failed" }],
      "End": true
    },
    "Failed": { "Type": "Fail", "Error": "E" }
  },
  "TimeoutSeconds": 60,
  "Version": "1.0"
}
"#,
    ),
    (
        "tabs",
        "{\n\t\"States\": {\n\t\t\"A\": {\n\t\t\t\"Type\": \"Succeed\"\n\t\t}\n\t},\n\t\"StartAt\": \"A\"\n}\n",
    ),
    (
        "four spaces",
        "{\n    \"StartAt\" : \"A\",\n    \"States\" : {\n        \"A\" : { \"Type\" : \"Succeed\" }\n    }\n}\n",
    ),
    (
        "on the line of the brace",
        "{ \"StartAt\": \"A\",\n  \"States\": { \"A\": { \"Type\": \"Pass\",\n    \"Next\": \"B\" },\n  \"B\": { \"Type\": \"Succeed\" } } }\n",
    ),
    (
        "escapes",
        "{\n  \"StartAt\": \"Bew\\u00e4hrung \\ud83d\\ude00\",\n  \"States\": {\n    \"Bew\\u00e4hrung \\ud83d\\ude00\": { \"Type\": \"Succeed\", \"Comment\": \"a\\\\ \\\" {\" }\n  }\n}\n",
    ),
    (
        "names of the guard",
        r#"{
  "QueryLanguage": "JSONata",
  "StartAt": "Acquire Lock",
  "States": {
    "Acquire Lock": { "Type": "Pass", "Assign": { "lockstepAnswer": 1, "answer": 2 }, "Next": "Lockstep Run Work" },
    "Lockstep Run Work": { "Type": "Map", "ItemProcessor": { "StartAt": "Rethrow", "States": {
      "Rethrow": { "Type": "Pass", "Output": "{% $lockstep2Ask & $answer %}", "End": true } } }, "End": true }
  }
}
"#,
    ),
    (
        "yaml",
        r#"# The nightly report.
Comment: Nightly   # daily
StartAt: Prepare
States:
  # First of all.
  Prepare: &task
    Type: Task
    Resource: "arn:aws:states:::lambda:invoke"
    TimeoutSeconds: ${Seconds}
    Parameters:
      FunctionName: ${Function}
      Payload:
        text: |
          one
            two

          # no comment
        folded: >-
          a
          b
    Retry:
    - ErrorEquals: [States.Timeout]   # only that
      MaxAttempts: 2
    Next: 'Load it'

  # Then that.
  'Load it':
    <<: *task
    Next: Report
  Report:
    Type: Pass
    Result: {rows: 7, of: [a, "b"]}
    ResultPath: $.report
    End: true   # done
  # after the last

TimeoutSeconds: 600
"#,
    ),
    (
        "flow yaml",
        "{StartAt: A, States: {A: {Type: Pass, # first\n  Next: B}, B: {Type: Succeed}}}\n",
    ),
    (
        "flow states in block yaml",
        "StartAt: \"A\"\nStates: {A: {Type: Pass, Next: B},\n  B: {Type: Succeed}}\n",
    ),
    (
        "yaml with four spaces and a start",
        "---\nStates:\n    A:\n        Type: Pass\n        Comment: multi\n          line\n        End: true\nStartAt: A\n...\n",
    ),
    (
        "yaml that ends with a block",
        "StartAt: A\nStates:\n  A:\n    Type: Pass\n    End: true\n    Comment: |-\n      one\n      two\n",
    ),
];

/// Sections, each with a name, its first state, its last state and the definition.
pub(super) const SECTIONS: &[(&str, &str, &str, &str)] = &[
    (
        "the middle",
        "B",
        "C",
        r#"{
  "StartAt": "A",
  "States": {
    "A": { "Type": "Choice", "Choices": [{ "Variable": "$.x", "IsPresent": true, "Next": "B" }], "Default": "D" },
    "B": { "Type": "Pass", "Next": "C" },
    "C": {
      "Type": "Wait",
      "Next" : "D",
      "Seconds": 1
    },
    "D": { "Type": "Pass", "Next": "E", "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "B" }] },
    "E": { "Type": "Succeed" }
  }
}
"#,
    ),
    (
        "the start",
        "A",
        "A",
        "StartAt: 'A'\nStates:\n  A:\n    Type: Pass\n    Next: B # on\n  # between\n  B: {Type: Succeed}\n",
    ),
    (
        "the end",
        "B",
        "C",
        "StartAt: A\nStates:\n  A:\n    Type: Pass\n    Next: \"B\"\n  B: {Type: Pass, Next: C}\n  C:\n    Type: Succeed\n",
    ),
    (
        "minified",
        "B",
        "B",
        r#"{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"C"},"C":{"Type":"Succeed"}}}"#,
    ),
];
