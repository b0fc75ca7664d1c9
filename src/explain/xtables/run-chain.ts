import { type Branch, branchOf, CONTINUE, extend, type Step } from '../packet/branch.ts'
import { mergeBranches } from '../packet/merge-branches.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import { bpf } from './matches/bpf.ts'
import {
  addressType,
  bridgePort,
  inPorts,
  ipvs,
  multiport,
  packetType,
  reversePath,
  socket,
  tcp,
  udp,
} from './matches/host.ts'
import { addressRange, containsAddress, fitsProtocol, ipHeader } from './matches/ip-header.ts'
import { ipSets, secondsLeft } from './matches/ip-sets.ts'
import {
  allOf,
  type MatchInput,
  type MatchTest,
  MODIFIER,
  type OptionTest,
} from './matches/match-test.ts'
import { type Answer, both } from './model/answer.ts'
import { hasOption, optionValue, type Rule } from './model/rule.ts'
import type { Chain, ListedRule, Table } from './model/ruleset.ts'
import type { XtablesWorld } from './model/xtables-world.ts'
import { applyTarget, isWithoutEffect } from './targets/apply-target.ts'

const state: OptionTest = ([list], { packet }) => {
  const states = statesOf(packet)
  return (list ?? '').split(',').some((name) => states.has(name))
}

/** `-m state`. */
const connectionState: MatchTest = allOf({ '--state': state })

/** `-m conntrack`: the packet is the first, or one of the original direction. */
const conntrack: MatchTest = allOf({
  '--ctstate': state,
  '--ctproto': ([name], { packet }) => fitsProtocol(name, packet.protocol),
  '--ctorigsrc': ([range], { packet }) => containsAddress(range, packet.connection.original.src.ip),
  '--ctorigdst': ([range], { packet }) => containsAddress(range, packet.connection.original.dst.ip),
  '--ctorigsrcport': ([list], { packet }) => inPorts(list, packet.connection.original.src.port),
  '--ctorigdstport': ([list], { packet }) => inPorts(list, packet.connection.original.dst.port),
  '--ctreplsrc': ([range], { packet }) => containsAddress(range, replySource(packet).ip),
  '--ctreplsrcport': ([list], { packet }) => inPorts(list, replySource(packet).port),
  '--ctrepldst': ([range], { packet }) => containsAddress(range, replyDestination(packet).ip),
  '--ctrepldstport': ([list], { packet }) => inPorts(list, replyDestination(packet).port),
  '--ctdir': ([direction]) => direction === 'ORIGINAL',
  '--ctstatus': ([list], { packet }) => status(list ?? '', packet),
})

/** `-m statistic`: of `nth` the position of the counter is not listed, so each packet has the same chance. */
const statistic: MatchTest = allOf({
  '--mode': ([mode]) =>
    mode === 'random' || mode === 'nth' || { unknown: `statistic mode ${mode}` },
  '--probability': ([text]) => chance(Number(text)),
  '--every': ([text]) => chance(1 / Number(text)),
  '--packet': MODIFIER,
})

/** `-m recent`. */
const recent: MatchTest = allOf({
  '--set': () => true,
  '--rcheck': (_, input) => wasSeen(input),
  '--update': (_, input) => wasSeen(input),
  '--remove': (_, input) => wasSeen(input),
  '--seconds': MODIFIER,
  '--hitcount': MODIFIER,
  '--reap': MODIFIER,
  '--rttl': MODIFIER,
  '--name': MODIFIER,
  '--rsource': MODIFIER,
  '--rdest': MODIFIER,
  '--mask': ([mask]) =>
    /^(255\.255\.255\.255|ffff(:ffff){7})$/.test(mask ?? '') || {
      unknown: `recent with mask ${mask}`,
    },
})

/** `-m mark`: `0x4000/0x4000`. */
const mark: MatchTest = allOf({
  '--mark': ([text], { packet }) => fitsMark(text, packet.mark),
})

/** `-m connmark`; an untracked packet has no connection. */
const connectionMark: MatchTest = allOf({
  '--mark': ([text], { packet }) =>
    packet.connection.status !== 'untracked' && fitsMark(text, packet.connection.mark),
})

const MATCHES: ReadonlyMap<string, MatchTest> = new Map([
  ['ip', ipHeader],
  ['tcp', tcp],
  ['udp', udp],
  ['sctp', udp],
  ['multiport', multiport],
  ['iprange', addressRange],
  ['mark', mark],
  ['connmark', connectionMark],
  ['state', connectionState],
  ['conntrack', conntrack],
  ['statistic', statistic],
  ['recent', recent],
  ['set', ipSets],
  ['addrtype', addressType],
  ['ipvs', ipvs],
  ['physdev', bridgePort],
  ['socket', socket],
  ['rpfilter', reversePath],
  ['pkttype', packetType],
  ['bpf', bpf],
  ['comment', () => true],
  ['nfacct', () => true],
])

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

/** Whether a rule applies to a packet: all of its matches; an unknown match is `unknown`, never ignored. */
function testRule(rule: Rule, packet: PacketState, world: XtablesWorld): Answer {
  let answer: Answer = true
  for (const group of rule.matches) {
    const test = MATCHES.get(group.name)
    const one = test?.({ packet, world, group }) ?? { unknown: `match ${group.name}` }
    answer = both(answer, one)
    if (answer === false) return false
  }
  return answer
}

function fitsMark(text = '0', value: number): boolean {
  const [wanted = '0', mask = '0xffffffff'] = text.split('/')
  return (value & Number(mask)) >>> 0 === Number(wanted)
}

function chance(probability: number): Answer {
  if (!(probability >= 0 && probability <= 1)) return { unknown: 'a probability beyond 0 to 1' }
  return probability === 1 ? true : probability === 0 ? false : { probability }
}

function wasSeen({ group, packet, world }: MatchInput): Answer {
  const list = optionValue(group, '--name') ?? 'DEFAULT'
  if (world.lastSeen === undefined)
    return { unknown: `which addresses list ${list} of recent holds` }
  const age = world.lastSeen(list, hasOption(group, '--rdest') ? packet.dst : packet.src)
  if (age === undefined) return false
  if (hasOption(group, '--hitcount') || hasOption(group, '--rttl')) {
    return { unknown: `how often list ${list} of recent has seen the address` }
  }
  const seconds = optionValue(group, '--seconds')
  return seconds === undefined || age <= Number(seconds)
}

function statesOf({ connection }: PacketState): ReadonlySet<string> {
  const { status: known, dnat, snat } = connection
  const states = new Set([known.toUpperCase()])
  if (known !== 'untracked' && dnat !== undefined) states.add('DNAT')
  if (known !== 'untracked' && snat !== undefined) states.add('SNAT')
  return states
}

/** A new connection has seen no reply and is not confirmed yet. */
function status(list: string, { connection }: PacketState): Answer {
  const isNew = connection.status === 'new'
  if (isNew && !list.split(',').includes('NONE')) return false
  return { unknown: `connection status ${list}` }
}

function replySource({ connection }: PacketState) {
  return connection.dnat ?? connection.original.dst
}

function replyDestination({ connection }: PacketState) {
  return connection.snat ?? connection.original.src
}
