"""An interpreter of the Amazon States Language, in place of the emulator's.

AWS: the modules name the pages that document how states handle input, variables, errors and the history. What the
  pages leave open follows the recordings of AWS in LocalStack's tests
  (https://github.com/localstack/localstack, tests/aws/services/stepfunctions/v2, Apache-2.0). The probes name these tests.
ministack 1.5.33: has no events of calls and of states in a Map or Parallel, no variables and no errors in JSONPath, and no
  Assign in a JSONPath state. Services are still called by the emulator's code, with the other corrections.
"""
