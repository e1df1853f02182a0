import { Duration, Token } from 'aws-cdk-lib';
import { IConstruct } from 'constructs';

/** The characters of a lock's name: core/src/domain/key.rs. */
const LOCK_NAME = /^[A-Za-z0-9._\/:-]{1,128}$/;

/** Returns a value as an error shows it. An object, such as a construct, has no short form and is shown as `given`. */
function shown(value: unknown): string {
  if (value instanceof Duration) {
    return value.toHumanString();
  }
  return value === undefined ? 'missing' : typeof value === 'object' ? 'given' : JSON.stringify(value);
}

/** Returns the error for a prop that breaks a rule: it names the construct, the prop, the value and the rule. */
export function badProp(scope: IConstruct, prop: string, value: unknown, rule: string): Error {
  return new Error(`${scope.node.path}: prop ${prop} is ${shown(value)}, but must ${rule}`);
}

/** Refuses a name that cannot be the name of a lock. */
export function checkLockName(scope: IConstruct, prop: string, value: string): void {
  if (!Token.isUnresolved(value) && !LOCK_NAME.test(value)) {
    throw badProp(scope, prop, value, 'be 1 to 128 of A-Z a-z 0-9 . _ - / :');
  }
}

/** Refuses a number that is not whole or lies outside of a range. */
export function checkWhole(scope: IConstruct, prop: string, value: number | undefined, least: number, most: number): void {
  if (value === undefined || Token.isUnresolved(value)) {
    return;
  }
  if (!Number.isInteger(value) || value < least || value > most) {
    throw badProp(scope, prop, value, `be a whole number from ${least} to ${most}`);
  }
}

/** Returns a duration in seconds, or undefined without one. Refuses a duration that is not whole seconds or lies outside of a range. */
export function seconds(scope: IConstruct, prop: string, value: Duration | undefined, least: number, most: number): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  const exact = value.toSeconds({ integral: false });
  if (!Number.isInteger(exact) || exact < least || exact > most) {
    throw badProp(scope, prop, value, `be whole seconds from ${least} to ${most}`);
  }
  return exact;
}

/** Refuses a list that has an entry of another form, or that is too long for the policies that contain it. */
export function checkArns(scope: IConstruct, prop: string, list: string[], form: RegExp, longest: number, rule: string): void {
  const bad = list.find((arn) => !Token.isUnresolved(arn) && !form.test(arn));
  if (bad !== undefined) {
    throw badProp(scope, prop, bad, rule);
  }
  const { length } = list.join(',');
  if (!list.some((arn) => Token.isUnresolved(arn)) && length > longest) {
    const rule = `be at most ${longest}: a * stands for any characters`;
    throw new Error(`${scope.node.path}: prop ${prop} is ${length} characters long, joined by commas, but must ${rule}`);
  }
}
