import { type Branch, branchOf, extend, mergeBranches, type Step } from '../packet/branch.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import { applyStatement, applyText } from './apply-statement.ts'
import { evaluate } from './evaluate-expression.ts'
import { type Chance, type Evaluation, isIn, isUnknown, lookUp, setOf } from './look-up.ts'
import { isList, isObject, type Json, type JsonObject, onlyMember, textOf } from './model/json.ts'
import type { NftChain, NftRule, NftTable } from './model/ruleset.ts'
import type { Part } from './model/value.ts'
import { fits, fitsAny, fitsElement, flagsOf } from './model/value.ts'

/** nf_tables refuses deeper nesting (NFT_JUMP_STACK_SIZE is 16). */
const MAX_DEPTH = 32

/** The context in which a chain runs. */
export interface NftContext {
  /** `nft ip node-proxy`. */
  readonly source: string
  readonly hook: Hook
  readonly table: NftTable
  readonly facts: HostFacts
  readonly limits: LimitsOfRun
}

/** What is assumed of the packets before this one, and which rules with a `limit` this one met. */
interface LimitsOfRun {
  /** Undefined: it is not known whether they exceed the limits. */
  readonly areExceeded: boolean | undefined
  readonly limiting: Set<NftRule>
}

/**
 * A branch within a rule continues with `rule`: its next statement; `next`: the next rule; `left`: outside the chain.
 */
interface Progress {
  readonly branch: Branch
  readonly to: 'rule' | 'next' | 'left'
}

/** Runs a packet through a chain; `continue` stands for its end or `return`. */
export function runNftChain(
  context: NftContext,
  chain: NftChain,
  packet: PacketState,
  depth = 0,
): readonly Branch[] {
  let running: readonly Branch[] = [branchOf(packet)]
  const done: Branch[] = []
  for (const rule of chain.rules) {
    if (running.length === 0) break
    const after = running.flatMap((branch) => runRule(context, { chain, rule, depth }, branch))
    done.push(...after.filter(({ to }) => to === 'left').map(({ branch }) => branch))
    running = mergeBranches(after.filter(({ to }) => to !== 'left').map(({ branch }) => branch))
  }
  return [...done, ...running]
}

interface RuleCall {
  readonly chain: NftChain
  readonly rule: NftRule
  readonly depth: number
}

function runRule(context: NftContext, call: RuleCall, start: Branch): readonly Progress[] {
  let running: readonly Progress[] = [{ branch: start, to: 'rule' }]
  for (const statement of call.rule.statements) {
    running = running.flatMap((one) =>
      one.to === 'rule' ? runStatement(context, call, { ...one, statement }) : [one],
    )
  }
  return running.map((one) => (one.to === 'rule' ? { ...one, to: 'next' } : one))
}

type Current = Progress & { readonly statement: Json }

function runStatement(context: NftContext, call: RuleCall, { branch, statement }: Current) {
  const { table, hook, facts } = context
  const evaluation: Evaluation = { packet: branch.packet, hook, table, facts }
  if (typeof statement === 'string')
    return applied(context, call, branch, applyText(statement, evaluation))
  const [name = '', inner = null] = onlyMember(statement) ?? []
  if (name === 'match' && isObject(inner))
    return matched(context, call, branch, matchLikelihood(inner, evaluation))
  if (name === 'vmap' && isObject(inner)) return byMap(context, call, branch, inner)
  if (JUMPS.has(name)) return jump(context, call, branch, [name, inner])
  if (name === 'limit' && isObject(inner)) return limited(context, call, branch, inner)
  return applied(context, call, branch, applyStatement(name, inner, evaluation))
}

const JUMPS = new Set(['jump', 'goto', 'return', 'continue'])

function matched(
  context: NftContext,
  call: RuleCall,
  branch: Branch,
  likelihood: ReturnType<typeof matchLikelihood>,
): readonly Progress[] {
  if (typeof likelihood === 'object') return [unclear(context, call, branch, likelihood.unknown)]
  const part = (share: number, to: Progress['to']): readonly Progress[] =>
    share <= 0 ? [] : [{ branch: { ...branch, probability: branch.probability * share }, to }]
  return [...part(likelihood, 'rule'), ...part(1 - likelihood, 'next')]
}

/** `limit`: the rule goes on within the limit, or (`inv`) beyond it. */
function limited(
  context: NftContext,
  call: RuleCall,
  branch: Branch,
  { inv }: JsonObject,
): readonly Progress[] {
  const { areExceeded, limiting } = context.limits
  limiting.add(call.rule)
  if (areExceeded === undefined) return [unclear(context, call, branch, 'the statement limit')]
  return [{ branch, to: areExceeded === (inv === true) ? 'rule' : 'next' }]
}

/** `vmap`: the verdict of the element; if there is no element, the rule ends. */
function byMap(
  context: NftContext,
  call: RuleCall,
  branch: Branch,
  { key, data }: JsonObject,
): readonly Progress[] {
  const { table, hook, facts } = context
  const evaluation: Evaluation = { packet: branch.packet, hook, table, facts }
  const keys = evaluate(key ?? null, evaluation)
  if (isUnknown(keys)) return [unclear(context, call, branch, keys.unknown)]
  const set = setOf(data ?? null, evaluation)
  if ('unknown' in set) return [unclear(context, call, branch, set.unknown)]
  const missed = 1 - keys.reduce((sum, { probability }) => sum + probability, 0)
  const found = keys.flatMap(({ probability, parts }) => {
    const part = { ...branch, probability: branch.probability * probability }
    const verdict = lookUp(set, parts)
    if (verdict === undefined) return [{ branch: part, to: 'next' as const }]
    const member = onlyMember(verdict)
    if (member === undefined || member[0] === 'unknown')
      return [unclear(context, call, part, 'the elements of a map')]
    return verdictOf(context, call, part, member)
  })
  if (missed <= 1e-9) return found
  return [...found, { branch: { ...branch, probability: branch.probability * missed }, to: 'next' }]
}

function verdictOf(
  context: NftContext,
  call: RuleCall,
  branch: Branch,
  member: readonly [string, Json],
) {
  if (JUMPS.has(member[0])) return jump(context, call, branch, member)
  const { table, hook, facts } = context
  const evaluation = { packet: branch.packet, hook, table, facts }
  return applied(context, call, branch, applyStatement(member[0], member[1], evaluation))
}

function jump(
  context: NftContext,
  call: RuleCall,
  branch: Branch,
  [name, inner]: readonly [string, Json],
): readonly Progress[] {
  const stepped = withStep(context, call, branch, name)
  if (name === 'return') return [{ branch: stepped, to: 'left' }]
  if (name === 'continue') return [{ branch: stepped, to: 'next' }]
  const target = isObject(inner) ? textOf(inner['target']) : ''
  const called = context.table.chains.get(target)
  if (called === undefined || call.depth >= MAX_DEPTH) {
    return [unclear(context, call, branch, `the chain ${target}`)]
  }
  const after = extend(stepped, (packet) => runNftChain(context, called, packet, call.depth + 1))
  return after.map((one) => {
    if (one.verdict.kind !== 'continue') return { branch: one, to: 'left' }
    return { branch: one, to: name === 'goto' ? 'left' : 'rule' }
  })
}

function applied(
  context: NftContext,
  call: RuleCall,
  branch: Branch,
  effect: ReturnType<typeof applyStatement>,
): readonly Progress[] {
  if (effect === 'absent') return [{ branch, to: 'next' }]
  if ('unknown' in effect) return [unclear(context, call, branch, effect.unknown)]
  const stepped = withStep(context, call, branch)
  return effect.map((one) => {
    const isSilent = one.verdict.kind === 'continue' && one.packet === branch.packet
    const base = isSilent ? branch : stepped
    const next = { ...one, probability: base.probability * one.probability, steps: base.steps }
    return { branch: next, to: one.verdict.kind === 'continue' ? 'rule' : 'left' }
  })
}

function unclear(context: NftContext, call: RuleCall, branch: Branch, what: string): Progress {
  const step = stepOf(context, call)
  const reason = `${step.where}: ${step.object}: ${what}`
  const verdict = { kind: 'uncertain', reason } as const
  return { branch: { ...branch, verdict, steps: [...branch.steps, step] }, to: 'left' }
}

function withStep(context: NftContext, call: RuleCall, branch: Branch, text?: string): Branch {
  const { table, hook, facts } = context
  const left = secondsLeft(call.rule.statements, { packet: branch.packet, hook, table, facts })
  const step = stepOf(context, call, text)
  const found = left === undefined ? step : { ...step, secondsLeft: left }
  return { ...branch, steps: [...branch.steps, found] }
}

function stepOf({ source }: NftContext, { chain, rule }: RuleCall, text = rule.text): Step {
  return { where: `${source} ${chain.name}`, object: rule.text, text }
}

/**
 * Seconds until the kernel removes an element that decided in a statement about the packet; undefined if the statement
 * looks up no set or map with timeouts.
 */
function secondsLeft(statement: Json, evaluation: Evaluation): number | undefined {
  if (isList(statement)) return firstOf(statement, evaluation)
  if (!isObject(statement)) return undefined
  const [name, inner] = onlyMember(statement) ?? []
  if (name === 'map' && isObject(inner)) {
    return ofElement(inner['key'] ?? null, inner['data'] ?? null, evaluation)
  }
  if (name === 'match' && isObject(inner) && inner['op'] === '==') {
    return ofElement(inner['left'] ?? null, inner['right'] ?? null, evaluation)
  }
  return firstOf(
    Object.values(statement).map((part) => part ?? null),
    evaluation,
  )
}

function firstOf(parts: readonly Json[], evaluation: Evaluation): number | undefined {
  for (const part of parts) {
    const found = secondsLeft(part, evaluation)
    if (found !== undefined) return found
  }
  return undefined
}

function ofElement(key: Json, name: Json, evaluation: Evaluation): number | undefined {
  if (typeof name !== 'string' || !name.startsWith('@')) return undefined
  const set = evaluation.table.sets.get(name.slice(1))
  const keys = set?.isTemporary === true ? evaluate(key, evaluation) : []
  if (set === undefined || isUnknown(keys) || keys.length !== 1) return undefined
  const { parts } = keys[0]!
  const keyOf = (element: Json): Json => (isList(element) ? (element[0] ?? null) : element)
  const elements = set.elements.withKey(parts) ?? []
  const element = elements.map(keyOf).find((one) => fitsElement(parts, one) === true)
  const [kind, inner] = onlyMember(element ?? null) ?? []
  const expires = kind === 'elem' && isObject(inner) ? inner['expires'] : undefined
  return typeof expires === 'number' ? expires : undefined
}

/** The probability that a match applies, or why it is unknown. */
type Likelihood = number | { readonly unknown: string }

/** `match`: an expression compared with a literal, a set, or another expression. */
function matchLikelihood({ op, left, right }: JsonObject, evaluation: Evaluation): Likelihood {
  const values = evaluate(left ?? null, evaluation)
  if (isUnknown(values)) return values
  let total = 0
  for (const { probability, parts } of values) {
    const answer = compare(textOf(op), parts, right ?? null, evaluation)
    if (answer === undefined) return { unknown: `what is compared by ${textOf(op)}` }
    if (typeof answer === 'object') return answer
    if (answer) total += probability
  }
  return total
}

type Comparison = boolean | undefined | { readonly unknown: string }

function compare(
  op: string,
  parts: readonly Part[],
  right: Json,
  evaluation: Evaluation,
): Comparison {
  const [part] = parts
  if (part?.kind === 'flags' && (op === 'in' || op === '!')) {
    const flags = flagsOf(right)
    if (flags === undefined || typeof part.value !== 'bigint') return undefined
    return ((part.value & flags) !== 0n) === (op === 'in')
  }
  if (op === '!=' || op === '!') {
    const answer = isEqual(parts, right, evaluation)
    return typeof answer === 'boolean' ? !answer : answer
  }
  if (op === '==' || op === 'in') return isEqual(parts, right, evaluation)
  return ordered(op, part, right, evaluation)
}

function isEqual(parts: readonly Part[], right: Json, evaluation: Evaluation): Comparison {
  if (typeof right === 'string' && right.startsWith('@')) {
    const set = setOf(right, evaluation)
    return 'unknown' in set ? set : isIn(set, parts)
  }
  const [name, inner] = onlyMember(right) ?? []
  if (name === 'set' && isList(inner)) return fitsAny(parts, inner)
  if (name === undefined || name === 'prefix' || name === 'range' || isList(right)) {
    return parts.length === 1 ? fits(parts[0]!, right) : undefined
  }
  if (name === 'concat') return fitsAny(parts, [right])
  if (parts[0]?.kind === 'flags' || parts[0]?.kind === 'words') return fits(parts[0], right)
  const other = certainOf(right, evaluation)
  if (other === undefined) return undefined
  return parts.every(({ value }, index) => value === other.parts[index]?.value)
}

function ordered(
  op: string,
  part: Part | undefined,
  right: Json,
  evaluation: Evaluation,
): Comparison {
  const a = part?.value
  const b = certainOf(right, evaluation)?.parts[0]?.value
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return undefined
  if (op === '<') return a < b
  if (op === '<=') return a <= b
  if (op === '>') return a > b
  return op === '>=' ? a >= b : undefined
}

function certainOf(expression: Json, evaluation: Evaluation): Chance | undefined {
  const values = evaluate(expression, evaluation)
  return isUnknown(values) || values.length !== 1 ? undefined : values[0]
}
