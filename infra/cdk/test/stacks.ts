import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Lockstep, LockstepProps } from 'lockstep-cdk';

const FUNCTIONS = ['acquire-lock', 'heartbeat', 'release-lock', 'check-running-executions', 'reaper', 'operate'];

/** A folder as cargo lambda build leaves it. Synthesis hashes the files and does not run them. */
export const FUNCTIONS_PATH = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-cdk-'));
for (const name of FUNCTIONS) {
  fs.mkdirSync(path.join(FUNCTIONS_PATH, name));
  fs.writeFileSync(path.join(FUNCTIONS_PATH, name, 'bootstrap.zip'), name);
}
process.on('exit', () => fs.rmSync(FUNCTIONS_PATH, { recursive: true, force: true }));

/** A new stack named `Test`. */
export function newStack(): Stack {
  return new Stack(new App(), 'Test');
}

/** A Lockstep in a stack. */
export function lockstepIn(stack: Stack, props: Partial<LockstepProps> = {}): Lockstep {
  return new Lockstep(stack, 'Lockstep', { functionsPath: FUNCTIONS_PATH, ...props });
}

/** The template of a stack. */
export function synthesized(stack: Stack): any {
  return Template.fromStack(stack).toJSON();
}
