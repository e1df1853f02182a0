import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Json, ROOT } from './cloudformation';

const FOLDER = path.join(ROOT, 'infra', 'cdk');

test('the package has what the constructs read, and no source', () => {
  const [{ files }]: Json = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: FOLDER, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  const packed: string[] = files.map((file: Json) => file.path);
  for (const file of ['.jsii', 'README.md', 'assets/exclusive-run.asl.json', 'assets/mail.asl.json', 'lib/guard.asl.json', 'lib/lock-options.json', 'lib/index.js', 'lib/index.d.ts']) {
    assert.ok(packed.includes(file), `${file} is missing among ${packed}`);
  }
  assert.deepEqual(packed.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts')), []);
});

test('every version is exact, and the lock file names no registry', () => {
  const { devDependencies } = JSON.parse(fs.readFileSync(path.join(FOLDER, 'package.json'), 'utf8'));
  assert.deepEqual(Object.values<string>(devDependencies).filter((version) => !/^(npm:[a-z-]+@)?\d+\.\d+\.\d+$/.test(version)), []);
  assert.doesNotMatch(fs.readFileSync(path.join(FOLDER, 'package-lock.json'), 'utf8'), /"resolved"|:\/\/(?!(opencollective|github|www|tidelift|feross)\b)[^"]*registry/);
});
