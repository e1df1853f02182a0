"""An interpreter of the Amazon States Language, in place of the emulator's.

AWS: what a state does with its input, its variables and its errors, and what it writes into the history. The modules
  name the pages; what the pages leave open is as AWS answered in the recordings of LocalStack's tests
  (https://github.com/localstack/localstack, tests/aws/services/stepfunctions/v2, Apache-2.0), which the probes name.
ministack 1.5.33: no events of states in a Map or Parallel and none of a call, JSONPath without variables and
  without errors, no Assign of a JSONPath state. What calls a service is the emulator's, with the other corrections.
"""
