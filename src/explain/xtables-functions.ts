import type { Family } from '../lib/ip.ts'
import { shown } from './host/run-command.ts'
import {
  ACCEPT,
  type Branch,
  branchOf,
  CONTINUE,
  extend,
  mergeBranches,
  type Step,
} from './packet/branch.ts'
import type { HookFunction } from './packet/hook-function.ts'
import type { Hook, PacketState } from './packet/packet-state.ts'
import { secondsLeft } from './xtables/matches/ip-sets.ts'
import { testRule } from './xtables/matches/test-rule.ts'
import type { Answer } from './xtables/model/answer.ts'
import type { Chain, ListedRule, Ruleset, Table, XtablesWorld } from './xtables/model/ruleset.ts'
import { applyTarget, isWithoutEffect } from './xtables/targets/apply-target.ts'

/** The kernel allows as many nested calls as there are chains; real rulesets do not come near this limit. */
const MAX_DEPTH = 100

/** One listing: the tables of a family in one variant. */
export interface XtablesListing {
  readonly family: Family
  /** The name in steps: `iptables`, `ip6tables`, `iptables-legacy`. */
  readonly program: string
  readonly ruleset: Ruleset
}

const HOOKS: ReadonlyMap<string, Hook> = new Map([
  ['PREROUTING', 'prerouting'],
  ['INPUT', 'input'],
  ['FORWARD', 'forward'],
  ['OUTPUT', 'output'],
  ['POSTROUTING', 'postrouting'],
])

/** Priorities of the tables (linux/netfilter_ipv4.h); for `nat` that of destination translation. */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['raw', -300],
  ['mangle', -150],
  ['nat', -100],
  ['filter', 0],
  ['security', 50],
])
const SOURCE_NAT = 100

/** The hook functions of a listing: one for each built-in chain. */
export function xtablesFunctions(
  listing: XtablesListing,
  world: XtablesWorld,
): readonly HookFunction[] {
  const { family, program, ruleset } = listing
  return [...ruleset].flatMap(([tableName, table]) =>
    [...HOOKS].flatMap(([chainName, hook]) => {
      const chain = table.get(chainName)
      if (chain === undefined) return []
      const source = `${program} ${tableName}`
      const context: ChainContext = { source, hook, table, world }
      const found: HookFunction = {
        hook,
        families: [family],
        priority: priorityOf(tableName, hook),
        isNat: tableName === 'nat',
        reroutesMarks: tableName === 'mangle' && hook === 'output',
        source: `${source} ${chainName}`,
        apply: (packet) => runBase(context, chain, packet),
      }
      return [found]
    }),
  )
}

function priorityOf(table: string, hook: Hook): number {
  if (table === 'nat' && (hook === 'input' || hook === 'postrouting')) return SOURCE_NAT
  return PRIORITIES.get(table) ?? 0
}

function runBase(context: ChainContext, chain: Chain, packet: PacketState): readonly Branch[] {
  return runChain(context, chain, packet).flatMap((branch) =>
    branch.verdict.kind === 'continue'
      ? extend(branch, (now) => byPolicy(context, chain, now))
      : [branch],
  )
}

function byPolicy({ source }: ChainContext, { name, policy }: Chain, packet: PacketState) {
  if (policy !== 'DROP') return [branchOf(packet, ACCEPT)]
  const where = `${source} ${name}`
  const step: Step = { where, object: `-P ${name} DROP`, text: 'the policy of the chain: DROP' }
  return [branchOf(packet, { kind: 'drop' }, [step])]
}

/** The context in which a chain runs. */
interface ChainContext {
  /** `iptables nat`. */
  readonly source: string
  readonly hook: Hook
  readonly table: Table
  readonly world: XtablesWorld
}

/** A branch after a rule; `isDone` if it leaves the chain. */
interface AfterRule {
  readonly branch: Branch
  readonly isDone: boolean
}

/** Runs a packet through a chain; `continue` stands for its end or RETURN. */
function runChain(
  context: ChainContext,
  chain: Chain,
  packet: PacketState,
  depth = 0,
): readonly Branch[] {
  let running: readonly Branch[] = [branchOf(packet)]
  const done: Branch[] = []
  for (const listed of chain.rules) {
    if (running.length === 0) break
    const next: Branch[] = []
    for (const branch of running) {
      for (const after of runRule(context, { chain, listed, branch, depth })) {
        if (after.isDone || after.branch.verdict.kind !== 'continue') done.push(after.branch)
        else next.push(after.branch)
      }
    }
    running = mergeBranches(next)
  }
  return [...done, ...running]
}

interface RuleCall {
  readonly chain: Chain
  readonly listed: ListedRule
  readonly branch: Branch
  readonly depth: number
}

function runRule(context: ChainContext, call: RuleCall): readonly AfterRule[] {
  const { listed, branch } = call
  const { target } = listed.rule
  if (target !== undefined && isWithoutEffect(target.name)) return [{ branch, isDone: false }]
  const answer = testRule(listed.rule, branch.packet, context.world)
  if (answer === false || target === undefined) return [{ branch, isDone: false }]
  const step = stepOf(context, call)
  if (typeof answer === 'object' && 'unknown' in answer) {
    const verdict = { kind: 'uncertain', reason: `${step.object}: ${answer.unknown}` } as const
    return [{ branch: { ...branch, verdict, steps: [...branch.steps, step] }, isDone: true }]
  }
  return split(branch, answer).flatMap(({ part, applies }) =>
    applies ? applied(context, call, withStep(part, step)) : [{ branch: part, isDone: false }],
  )
}

/** A rule with a probability applies to one part of the branch. */
function split(branch: Branch, answer: Exclude<Answer, { readonly unknown: string }>) {
  if (typeof answer === 'boolean') return [{ part: branch, applies: answer }]
  const { probability } = branch
  return [
    { part: { ...branch, probability: probability * answer.probability }, applies: true },
    { part: { ...branch, probability: probability * (1 - answer.probability) }, applies: false },
  ]
}

function applied(context: ChainContext, call: RuleCall, branch: Branch): readonly AfterRule[] {
  const { target, isGoto } = call.listed.rule
  if (target === undefined) return [{ branch, isDone: false }]
  if (target.name === 'RETURN') return [{ branch, isDone: true }]
  const called = context.table.get(target.name)
  if (called !== undefined) {
    if (call.depth >= MAX_DEPTH) return [{ branch: tooDeep(branch, called), isDone: true }]
    const after = extend(branch, (packet) => runChain(context, called, packet, call.depth + 1))
    return after.map((one) => ({ branch: one, isDone: isGoto }))
  }
  const { hook, world } = context
  return extend(branch, (packet) => applyTarget({ packet, hook, world, group: target })).map(
    (one) => ({
      branch: one,
      isDone: false,
    }),
  )
}

function withStep(branch: Branch, step: Step): Branch {
  return { ...branch, steps: [...branch.steps, step], verdict: CONTINUE }
}

function stepOf({ source, world }: ChainContext, { chain, listed, branch }: RuleCall): Step {
  const { target, isGoto } = listed.rule
  const text = `${isGoto ? 'goes on in' : ''} ${target?.name ?? ''} ${optionsText(listed)}`.trim()
  const left = secondsLeft(listed.rule, branch.packet, world)
  return {
    where: `${source} ${chain.name}`,
    object: `-A ${chain.name} ${listed.text}`,
    text,
    ...(listed.counter === undefined ? {} : { counter: listed.counter }),
    ...(left === undefined ? {} : { secondsLeft: left }),
  }
}

function optionsText({ rule }: ListedRule): string {
  const options = rule.target?.options ?? []
  const words = options.flatMap(({ name, values }) => [name, ...values]).join(' ')
  return shown(words)
}

function tooDeep(branch: Branch, chain: Chain): Branch {
  const reason = `chain ${chain.name} is called by more than ${MAX_DEPTH} chains`
  return { ...branch, verdict: { kind: 'uncertain', reason } }
}
