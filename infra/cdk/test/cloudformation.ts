import * as fs from 'node:fs';
import * as path from 'node:path';
import { parse, ScalarTag, CollectionTag } from 'yaml';

/** The root of the repository; tests run in `build/test`. */
export const ROOT = path.resolve(__dirname, '..', '..', '..', '..');

/** Any JSON value. */
export type Json = any;

const FUNCTIONS = ['Ref', 'Sub', 'GetAtt', 'If', 'Not', 'And', 'Equals', 'Join', 'Split', 'Select', 'ImportValue'];

function longForm(name: string, value: Json): Json {
  if (name === 'Ref') {
    return { Ref: value };
  }
  return { [`Fn::${name}`]: name === 'GetAtt' && typeof value === 'string' ? value.split('.') : value };
}

/** Reads a template in YAML, with the short forms of intrinsic functions in their long form. */
export function readTemplate(file: string): Json {
  const customTags = FUNCTIONS.flatMap((name): (ScalarTag | CollectionTag)[] => [
    { tag: `!${name}`, resolve: (value: string) => longForm(name, value) },
    { tag: `!${name}`, collection: 'seq', resolve: (seq: any) => longForm(name, seq.toJSON()) } as CollectionTag,
  ]);
  return JSON.parse(JSON.stringify(parse(fs.readFileSync(path.join(ROOT, file), 'utf8'), { customTags })));
}

/** Evaluates the intrinsic functions of a template. What is known at deploy time only stays as a name in angle brackets. */
export class Evaluator {
  constructor(
    private readonly template: Json,
    private readonly parameters: { [name: string]: Json },
    private readonly nameOf: (logicalId: string) => string = (id) => id,
  ) {}

  /** The value of a parameter, a pseudo parameter or a resource. */
  private ref(name: string): Json {
    if (name in this.parameters) {
      return this.parameters[name];
    }
    const declared = this.template.Parameters?.[name];
    if (declared?.Default !== undefined) {
      return String(declared.Default);
    }
    return name.startsWith('AWS::') ? `<${name}>` : `<${this.nameOf(name)}>`;
  }

  private attribute([id, attribute]: string[]): string {
    return `<${this.nameOf(id)}.${attribute}>`;
  }

  private sub(argument: Json): string {
    const [text, variables] = Array.isArray(argument) ? argument : [argument, {}];
    return text.replace(/\$\{([^!}][^}]*)\}/g, (_: string, name: string) => {
      if (name in variables) {
        return this.value(variables[name]);
      }
      return name.includes('.') ? this.attribute(name.split('.')) : this.ref(name);
    });
  }

  private condition(name: string): boolean {
    return this.value(this.template.Conditions[name]);
  }

  /** A value without intrinsic functions, and without what is `AWS::NoValue`. */
  value(node: Json): Json {
    if (Array.isArray(node)) {
      return node.map((item) => this.value(item)).filter((item) => item !== '<AWS::NoValue>');
    }
    if (node === null || typeof node !== 'object') {
      return node;
    }
    const [[key, argument]] = [...Object.entries<Json>(node), ['', undefined]];
    switch (key) {
      case 'Ref': return this.ref(argument);
      case 'Fn::GetAtt': return this.attribute(argument);
      case 'Fn::Sub': return this.sub(argument);
      case 'Fn::If': return this.value(argument[this.condition(argument[0]) ? 1 : 2]);
      case 'Fn::ImportValue': return `<${this.value(argument)}>`;
      case 'Fn::And': return this.value(argument).every(Boolean);
      case 'Fn::Not': return !this.value(argument[0]);
      case 'Fn::Equals': return this.value(argument[0]) === this.value(argument[1]);
      case 'Fn::Join': return this.value(argument[1]).join(argument[0]);
      case 'Fn::Split': return this.value(argument[1]).split(argument[0]);
      // A part of what is known at deploy time only.
      case 'Fn::Select': return this.value(argument[1])[Number(argument[0])] ?? `<${JSON.stringify(argument)}>`;
      default:
        return Object.fromEntries(Object.entries(node).map(([name, item]) => [name, this.value(item)])
          .filter(([, item]) => item !== '<AWS::NoValue>'));
    }
  }

  /** The resources whose condition holds, by name, with their values. */
  resources(): { [name: string]: Json } {
    const found = Object.entries<Json>(this.template.Resources)
      .filter(([, resource]) => !resource.Condition || this.condition(resource.Condition));
    return Object.fromEntries(found.map(([id, resource]) => [this.nameOf(id), this.value(resource)]));
  }

  /** The values of the outputs whose condition holds and that are exported, by the name of the export. */
  exports(): { [name: string]: Json } {
    const outputs = Object.values<Json>(this.template.Outputs)
      .filter((output) => output.Export && (!output.Condition || this.condition(output.Condition)));
    return Object.fromEntries(outputs.map((output) => [this.value(output.Export.Name), this.value(output.Value)]));
  }
}
