/** The public API as the jsii compiler sees it. That it compiles is half of the proof. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Json, ROOT } from './cloudformation';

const { types }: { types: { [name: string]: Json } } = JSON.parse(fs.readFileSync(path.join(ROOT, 'infra', 'cdk', '.jsii'), 'utf8'));
const PROPS = Object.values(types).filter((type) => type.datatype).flatMap((type) => type.properties.map((one: Json) => ({ ...one, of: type.name })));

test('the library has props', () => {
  assert.ok(PROPS.length > 40, `${PROPS.length}`);
});

test('every public type and member has a doc comment', () => {
  const members = Object.values(types).flatMap((type) => [type, ...['properties', 'methods', 'members'].flatMap((kind) =>
    (type[kind] ?? []).map((member: Json) => ({ ...member, name: `${type.name}.${member.name}` })))]);
  assert.deepEqual(members.filter((member) => !member.docs?.summary).map((member) => member.name), []);
});

test('props are readonly and flat, and optional ones name their default', () => {
  const structs = Object.entries(types).filter(([, type]) => type.datatype).map(([name]) => name);
  const wrong = PROPS.filter((prop) => !prop.immutable || structs.includes(prop.type.fqn) || (prop.optional && !prop.docs.default));
  assert.deepEqual(wrong.map((prop) => `${prop.of}.${prop.name}`), []);
});

test('no type is a union, which most languages of jsii lack', () => {
  assert.doesNotMatch(JSON.stringify(types), /"union"/);
});
