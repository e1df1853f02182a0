import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Json, ROOT } from './cloudformation';
import { FUNCTIONS_PATH, newStack, synthesized } from './stacks';

const FOLDER = path.join(ROOT, 'infra', 'cdk');

test('the package has what the constructs read, and no source', () => {
  const [{ files }]: Json = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: FOLDER, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  const packed: string[] = files.map((file: Json) => file.path);
  for (const file of ['.jsii', 'README.md', 'assets/exclusive-run.asl.json', 'assets/mail.asl.json', 'lib/guard.asl.json', 'lib/lock-options.json', 'lib/index.js', 'lib/index.d.ts']) {
    assert.ok(packed.includes(file), `${file} is missing among ${packed}`);
  }
  assert.deepEqual(packed.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts')), []);
});

test('a package with functions needs no path, and takes those of the architecture', () => {
  const released = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-cdk-released-'));
  for (const folder of ['lib', 'assets']) {
    fs.cpSync(path.join(FOLDER, folder), path.join(released, folder), { recursive: true });
  }
  fs.copyFileSync(path.join(FOLDER, 'package.json'), path.join(released, 'package.json'));
  fs.symlinkSync(path.join(FOLDER, 'node_modules'), path.join(released, 'node_modules'));
  fs.cpSync(FUNCTIONS_PATH, path.join(released, 'functions', 'x86_64'), { recursive: true });
  const { Lockstep } = require(path.join(released, 'lib', 'index.js'));

  const stack = newStack();
  new Lockstep(stack, 'Lockstep', { architecture: lambda.Architecture.X86_64 });

  const functions: Json[] = Object.values(synthesized(stack).Resources).filter((one: Json) => one.Type === 'AWS::Lambda::Function');
  assert.deepEqual([...new Set(functions.map((one) => one.Properties.Architectures[0]))], ['x86_64']);
  assert.throws(() => new Lockstep(newStack(), 'Lockstep', {}), /this package has no functions for arm64/);
  fs.rmSync(released, { recursive: true });
});

test('every version is exact, and the lock file names no registry', () => {
  const { devDependencies } = JSON.parse(fs.readFileSync(path.join(FOLDER, 'package.json'), 'utf8'));
  assert.deepEqual(Object.values<string>(devDependencies).filter((version) => !/^(npm:[a-z-]+@)?\d+\.\d+\.\d+$/.test(version)), []);
  assert.doesNotMatch(fs.readFileSync(path.join(FOLDER, 'package-lock.json'), 'utf8'), /"resolved"|:\/\/(?!(opencollective|github|www|tidelift|feross)\b)[^"]*registry/);
});
