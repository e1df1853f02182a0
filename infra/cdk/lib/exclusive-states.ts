import * as fs from 'fs';
import * as path from 'path';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { badProp } from './checks';
import { invokeLockFunctions, substitutions } from './exclusive-run-machine';
import { isExpression, lockFields, LockOptions, OverlapPolicy, SkipOutcome, waitsPaused } from './lock-options';
import { Lockstep } from './lockstep';
import { LockMetrics } from './metrics';

/** The guard around one state, in the form that `lockstep weave` writes. `npm run guard` writes the file. */
const GUARD = fs.readFileSync(path.join(__dirname, 'guard.asl.json'), 'utf8');

/** Longest `stateName`: the longest name of a state in Step Functions, without `: Release After Failure`. */
const STATE_NAME_MAX = 57;

/** Props of `ExclusiveStates`. */
export interface ExclusiveStatesProps extends LockOptions {
  /** Lockstep, of this stack or of another one in the same account and region. */
  readonly lockstep: Lockstep;

  /** The states that hold the lock. */
  readonly states: sfn.IChainable;

  /**
   * Run key: at most one run with this key succeeds within the retention. A text, or a JSONata expression over `$states.input`.
   *
   * @default - every execution is a run of its own
   */
  readonly runKey?: string;

  /**
   * Name of the state. The names of the guard's states begin with it.
   *
   * @default - the construct id
   */
  readonly stateName?: string;
}

/** Values of a request that follow from the props, by the variables of the guard that contain them. */
interface Request {
  readonly ask: { [field: string]: any };
  readonly turn: { [field: string]: any };
  readonly onSkip?: SkipOutcome;
  readonly waitSeconds?: number;
  readonly mayWait: boolean;
  readonly waitsPaused: boolean;
}

/**
 * One state of a Standard workflow, a Parallel, that holds a lock while the states in it run. The states in it get its input,
 * and their output is its output.
 *
 * The name of the lock may be a JSONata expression over `$states.input`. An execution can hold a lock only once, so states that
 * may run at the same time in one execution need different locks.
 *
 * `onSkip` chooses what happens if the run is skipped. With SUCCEED, the workflow continues after this state, whose output is the
 * answer of acquire-lock. With FAIL, the state fails. The default is FAIL if a state follows, and otherwise SUCCEED.
 */
export class ExclusiveStates extends sfn.Parallel {
  /**
   * The metrics of the lock if Lockstep has the prop `metricsPerLock` and the name is no expression, and otherwise those of all locks
   * of the stack.
   */
  public readonly metrics: LockMetrics;

  private readonly lockstep: Lockstep;
  private readonly request: Request;

  constructor(scope: Construct, id: string, props: ExclusiveStatesProps) {
    super(scope, id, {
      queryLanguage: sfn.QueryLanguage.JSONATA,
      outputs: '{% $states.result[0] %}',
      stateName: props.stateName,
    });
    if (props.noProgress) {
      throw badProp(this, 'noProgress', props.noProgress, 'be left out: states report no progress');
    }
    this.lockstep = props.lockstep;
    if (this.stateId.length > STATE_NAME_MAX) {
      throw badProp(this, 'stateName', this.stateId, `have at most ${STATE_NAME_MAX} characters: the names of the guard's states begin with it`);
    }
    // The name is an expression: acquire-lock checks the name that it evaluates to.
    const computed = isExpression(props.lockName);
    this.metrics = props.lockstep.metricsPerLock && !computed ? new LockMetrics(props.lockName) : props.lockstep.metrics;
    const { lock, maxQueue, waitSeconds, onSkip, ...policies } = lockFields(this, computed ? { ...props, lockName: 'computed' } : props);
    const ask = { lock: computed ? props.lockName : lock, ...policies };
    this.request = {
      ask: { ...ask, ...(props.runKey !== undefined && { runKey: props.runKey }) },
      turn: {
        ...(maxQueue !== undefined && { maxQueue }),
        ...(waitSeconds !== undefined && { waitUntil: `{% $fromMillis($millis() + 1000 * ${waitSeconds}) %}` }),
      },
      onSkip,
      waitSeconds,
      mayWait: props.overlap === OverlapPolicy.QUEUE || props.overlap === OverlapPolicy.REPLACE,
      waitsPaused: waitsPaused(props),
    };
    this.branch(props.states);
  }

  /** Renders the guard with the states in it. */
  public toStateJson(topLevelQueryLanguage?: sfn.QueryLanguage): object {
    const work = this.branches[0].toGraphJson(topLevelQueryLanguage);
    return { ...super.toStateJson(topLevelQueryLanguage), Branches: [this.guard(work)] };
  }

  /** Adds the permission for the calls of the guard to the role of the state machine. */
  protected whenBoundToGraph(graph: sfn.StateGraph): void {
    super.whenBoundToGraph(graph);
    graph.registerPolicyStatement(invokeLockFunctions(this.lockstep._functions));
  }

  private guard(work: object): object {
    const variable = variableWord(JSON.stringify(work));
    const name = (state: string) => `${this.stateId}: ${state}`;
    const guard = renamed(JSON.parse(GUARD.replace(/\blockstep(?=[A-Z])/g, variable)), name, substitutions(this.lockstep._functions));
    const { Comment: _command, ...entry } = guard.States[name('Request Lock')];
    guard.States[name('Request Lock')] = { ...entry, Assign: this.filled(entry.Assign, variable) };
    const held = guard.States[name('Run Exclusively')].Branches[0].States[name('Run Work')];
    held.Branches = [work];
    return guard;
  }

  /** Returns the variables that the guard's first state assigns, with this request. */
  private filled(assigned: { [name: string]: any }, variable: string): { [name: string]: any } {
    const { ask, turn, onSkip, waitSeconds, mayWait, waitsPaused } = this.request;
    const ends = this._next === undefined;
    return {
      ...assigned,
      [`${variable}Ask`]: { ...assigned[`${variable}Ask`], ...ask },
      [`${variable}Request`]: { onSkip: onSkip ?? (ends ? SkipOutcome.SUCCEED : SkipOutcome.FAIL) },
      [`${variable}Turn`]: turn,
      [`${variable}MayWait`]: mayWait,
      [`${variable}WaitsPaused`]: waitsPaused,
      ...(waitSeconds !== undefined && { [`${variable}WaitSeconds`]: waitSeconds }),
    };
  }
}

/**
 * Returns a start of the names of the guard's variables with which no variable of the work begins, because an inner scope may not
 * assign a variable of an outer one.
 */
function variableWord(work: string): string {
  const words = ['lockstep', ...Array.from({ length: 98 }, (_, at) => `lockstep${at + 2}`)];
  return words.find((word) => !new RegExp(`\\b${word}[A-Z]`).test(work)) ?? words[0];
}

/** Returns a part of the guard with other names of states, and with values in place of its placeholders. */
function renamed(node: any, name: (state: string) => string, values: { [name: string]: string }): any {
  if (Array.isArray(node)) {
    return node.map((item) => renamed(item, name, values));
  }
  if (typeof node === 'string') {
    return node.replace(/\$\{(\w+)\}/g, (_, placeholder) => values[placeholder]);
  }
  if (node === null || typeof node !== 'object') {
    return node;
  }
  return Object.fromEntries(Object.entries<any>(node).map(([key, value]) => {
    if (['Next', 'Default', 'StartAt'].includes(key)) {
      return [key, name(value)];
    }
    const inner = renamed(value, name, values);
    return [key, key === 'States' ? Object.fromEntries(Object.entries(inner).map(([state, one]) => [name(state), one])) : inner];
  }));
}
