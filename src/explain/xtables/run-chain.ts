import { type Branch, branchOf, CONTINUE, extend, type Step } from '../packet/branch.ts'
import { mergeBranches } from '../packet/merge-branches.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import { secondsLeft } from './matches/ip-sets.ts'
import { testRule } from './matches/test-rule.ts'
import type { Answer } from './model/answer.ts'
import type { Chain, ListedRule, Table } from './model/ruleset.ts'
import type { XtablesWorld } from './model/xtables-world.ts'
import { applyTarget, isWithoutEffect } from './targets/apply-target.ts'

/** The kernel allows as many nested calls as there are chains; no ruleset of a program comes near this. */
const MAX_DEPTH = 100

/** Where a chain runs. */
export interface ChainContext {
  /** `iptables nat`. */
  readonly source: string
  readonly hook: Hook
  readonly table: Table
  readonly world: XtablesWorld
}

/** A branch after a rule; `isDone`: it leaves the chain. */
interface AfterRule {
  readonly branch: Branch
  readonly isDone: boolean
}

/** Runs a packet through a chain; `continue` stands for its end or RETURN. */
export function runChain(
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

/** A rule by chance applies to one part of the branch. */
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
  return words.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

function tooDeep(branch: Branch, chain: Chain): Branch {
  const reason = `chain ${chain.name} is called by more than ${MAX_DEPTH} chains`
  return { ...branch, verdict: { kind: 'uncertain', reason } }
}
