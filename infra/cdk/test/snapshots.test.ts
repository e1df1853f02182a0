/** The templates of a minimal stack and of one with everything. `UPDATE_SNAPSHOTS=1 npm test` writes them. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Json, ROOT } from './cloudformation';
import { everythingStack, minimalStack } from './everything';
import { synthesized } from './stacks';

/** Whether test/current.ts has put the current version of the CDK in the place of the lowest. */
const ofCurrent = require.resolve('aws-cdk-lib').includes('aws-cdk-lib-current');

const FOLDER = path.join(ROOT, 'infra', 'cdk', 'test', 'snapshots');

/** Without the hashes of assets, which change with what they hold, and the guard, which weave.test.ts compares. */
function withoutContents(template: Json): Json {
  const withoutGuard = (key: string, value: Json) => (key === 'DefinitionString' && JSON.stringify(value).includes('Keep Lease') ? '<guard>' : value);
  return JSON.parse(JSON.stringify(template, withoutGuard).replace(/[0-9a-f]{64}/g, '<hash>'));
}

/** One line for each resource and output, so that a difference shows which of them changed. */
function lines(template: Json): string {
  const entries = ['Resources', 'Outputs'].flatMap((part) => Object.entries(template[part]).map(([id, one]) => `${JSON.stringify(id)}: ${JSON.stringify(one)}`));
  return `{\n${entries.join(',\n')}\n}\n`;
}

for (const [name, stack] of [['minimal', minimalStack], ['everything', everythingStack]] as const) {
  test(`${name} is as it was`, { skip: ofCurrent && 'the snapshots are those of the lowest version' }, () => {
    const file = path.join(FOLDER, `${name}.json`);
    const made = lines(withoutContents(synthesized(stack())));
    if (process.env.UPDATE_SNAPSHOTS) {
      fs.mkdirSync(FOLDER, { recursive: true });
      fs.writeFileSync(file, made);
    }
    assert.deepEqual(JSON.parse(made), JSON.parse(fs.readFileSync(file, 'utf8')));
  });
}
