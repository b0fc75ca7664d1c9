import type { IpAddress } from '../../lib/ip.ts'
import type { Branch, Step } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import type { RouteAnswer, Routing } from './routing.ts'
import { passes, runHook } from './run-hook.ts'
import type { WalkOutcome } from './walk-outcome.ts'

const NOT_LISTENING: Readonly<Record<PacketState['protocol'], string>> = {
  TCP: 'tcp-reset',
  UDP: 'icmp-port-unreachable',
  SCTP: 'sctp-abort',
}

/** Where the steps in the tables of NetworkPolicies take place. */
const POLICIES = /^nft ip6? node-proxy-policies /

/** The position of a packet: before a hook, before a routing decision, or taken by IPVS. */
export type Stage = Hook | 'routeOut' | 'routeAgain' | 'routeIn' | 'taken'

/** A branch with its position. */
export interface WalkPoint {
  readonly stage: Stage
  readonly branch: Branch
  /** Whether the source is fixed; if not, the route of a local packet determines it. */
  readonly hasSource: boolean
}

/** The next positions and the final outcomes of a packet. */
export interface Next {
  readonly outcomes: readonly WalkOutcome[]
  readonly points: readonly WalkPoint[]
}

interface StageWorld {
  readonly functions: readonly HookFunction[]
  readonly routing: Routing
  readonly facts: HostFacts
}

/** One stage of the path: a hook with all its functions, or a routing decision. */
export async function nextOf(world: StageWorld, point: WalkPoint): Promise<Next> {
  const { stage } = point
  if (stage === 'routeOut' || stage === 'routeAgain' || stage === 'routeIn' || stage === 'taken') {
    return afterRoute(world, point, await routeOf(world, point))
  }
  const outcomes: WalkOutcome[] = []
  const points: WalkPoint[] = []
  for (const { branch: last, needsRoute } of runHook(world.functions, stage, point.branch.packet)) {
    const branch = continued(point.branch, last)
    if (branch.verdict.kind === 'taken') points.push(at('taken', branch))
    else if (!passes(branch)) outcomes.push(outcomeAt(branch, stage))
    else if (stage === 'input') outcomes.push(deliverHere(world.facts, branch))
    else if (stage === 'postrouting' && branch.packet.outInterface !== 'lo') {
      outcomes.push(leave(world.facts, branch))
    } else points.push(afterHook(stage, branch, needsRoute))
  }
  return { outcomes, points }
}

function continued(before: Branch, last: Branch): Branch {
  const probability = before.probability * last.probability
  return { ...last, probability, steps: [...before.steps, ...last.steps] }
}

function at(stage: Stage, branch: Branch): WalkPoint {
  return { stage, branch, hasSource: true }
}

/** A packet over loopback keeps its connection, mark and route. */
function afterHook(stage: Hook, branch: Branch, needsRoute: boolean): WalkPoint {
  if (stage === 'prerouting') {
    return at(branch.packet.inInterface === 'lo' ? 'input' : 'routeIn', toHere(branch))
  }
  if (stage === 'output') return at(needsRoute ? 'routeAgain' : 'postrouting', branch)
  if (stage === 'forward') return at('postrouting', branch)
  const looped: PacketState = { ...branch.packet, inInterface: 'lo', outInterface: undefined }
  return at('prerouting', { ...branch, packet: looped })
}

function toHere(branch: Branch): Branch {
  return { ...branch, packet: { ...branch.packet, outInterface: undefined, gateway: undefined } }
}

function outcomeAt({ probability, steps, verdict, packet }: Branch, hook: Hook): WalkOutcome {
  if (verdict.kind === 'reject') return { kind: 'refused', how: verdict.how, probability, steps }
  if (verdict.kind === 'uncertain') {
    return { kind: 'uncertain', reason: verdict.reason, probability, steps }
  }
  const reason = verdict.kind === 'drop' ? verdict.reason : undefined
  const { where = `${hook} of IPv${packet.family}` } = steps.at(-1) ?? {}
  const by = reason ?? where
  const refusedTo = POLICIES.test(where) ? { ip: packet.dst, port: packet.dstPort } : undefined
  return { kind: 'silent', by, probability, steps, ...(refusedTo && { refusedTo }) }
}

/**
 * IPVS routes only by the address of the real server. For a packet that leaves, a source that this node does not have
 * is left out: the kernel does route forwarded packets of IPVS with such a source (FLOWI_FLAG_ANYSRC), but does not
 * answer a query with it.
 */
function routeOf({ routing, facts }: StageWorld, point: WalkPoint): Promise<RouteAnswer> {
  const { stage, branch, hasSource } = point
  const { family, protocol, src, dst, dstPort, mark, inInterface } = branch.packet
  const isTaken = stage === 'taken'
  const isIncoming = stage === 'routeIn'
  const isAnswered = isIncoming || facts.addressType(src) === 'local'
  return routing.route({
    family,
    protocol: isTaken ? undefined : protocol,
    dst,
    dstPort: isTaken ? 0 : dstPort,
    src: hasSource && !isTaken && isAnswered ? src : undefined,
    inInterface: isIncoming ? inInterface : undefined,
    mark: isTaken ? 0 : mark,
  })
}

function afterRoute({ facts }: StageWorld, point: WalkPoint, answer: RouteAnswer): Next {
  const { branch, stage } = point
  const { probability, steps } = branch
  if (answer.kind === 'unicast' || answer.kind === 'local') return routed(facts, point, answer)
  if (answer.kind === 'uncertain') {
    const step = routeStep(answer.reason)
    return onlyOutcome({
      probability,
      steps: [...steps, step],
      kind: 'uncertain',
      reason: answer.reason,
    })
  }
  const { family, inInterface } = branch.packet
  // In IPv6 the error depends on the route alone.
  if (stage === 'routeIn' && family === 4 && !facts.forwards(family, inInterface ?? '')) {
    return notForwarded(branch)
  }
  const { reason, deadEnd } = answer
  const step: Step = { where: 'route', ...deadEnd, text: reason }
  const rest = { probability, steps: [...steps, step] }
  const how = errorOf(stage, answer)
  if (how === undefined) return onlyOutcome({ ...rest, kind: 'silent', by: `route: ${reason}` })
  return onlyOutcome({ ...rest, kind: 'refused', how })
}

/**
 * The error that a sender gets if no route leads on; undefined if none. A `connect` fails at once, except for a packet
 * that was translated after it had a route: the kernel drops it, and TCP sends it again. IPVS reports every error in
 * the same way.
 */
function errorOf(
  stage: Stage,
  answer: Extract<RouteAnswer, { kind: 'dropped' | 'unreachable' }>,
): string | undefined {
  if (stage === 'routeOut') return 'no-route'
  if (stage === 'routeAgain') return undefined
  if (stage === 'taken') return 'icmp-host-unreachable'
  return answer.kind === 'dropped' ? undefined : `icmp-${answer.how}`
}

function notForwarded({ packet, probability, steps }: Branch): Next {
  const by = `route: ${packet.inInterface} does not forward IPv${packet.family} (sysctl forwarding)`
  return onlyOutcome({ kind: 'silent', by, probability, steps })
}

function onlyOutcome(outcome: WalkOutcome): Next {
  return { outcomes: [outcome], points: [] }
}

function routeStep(text: string): Step {
  return { where: 'route', text }
}

type Found = Extract<RouteAnswer, { kind: 'unicast' | 'local' }>

function routed(facts: HostFacts, point: WalkPoint, answer: Found): Next {
  const { branch, stage } = point
  if (answer.kind === 'local' && stage === 'routeIn')
    return { outcomes: [], points: [at('input', branch)] }
  if (answer.kind === 'local' && stage === 'taken' && branch.packet.inInterface !== undefined) {
    return onlyOutcome(deliverHere(facts, branch))
  }
  const packet = withRoute(point, answer)
  const text = `to ${packet.dst} by ${packet.outInterface}${packet.gateway === undefined ? '' : ` via ${packet.gateway}`}`
  const next: Branch = { ...branch, packet, steps: [...branch.steps, routeStep(text)] }
  if (stage !== 'routeIn')
    return { outcomes: [], points: [at(stage === 'routeAgain' ? 'postrouting' : 'output', next)] }
  const { family, inInterface } = packet
  if (inInterface === undefined || facts.forwards(family, inInterface)) {
    return { outcomes: [], points: [at('forward', next)] }
  }
  return notForwarded(next)
}

function withRoute({ branch, stage, hasSource }: WalkPoint, answer: Found): PacketState {
  const { packet } = branch
  const outInterface = answer.kind === 'local' ? 'lo' : answer.outInterface
  const gateway = answer.kind === 'local' ? undefined : answer.gateway
  const inInterface = stage === 'routeIn' ? packet.inInterface : undefined
  const moved = { ...packet, outInterface, gateway, inInterface }
  if (hasSource) return moved
  const src = answer.source ?? packet.src
  const { connection } = packet
  const original = { ...connection.original, src: { ...connection.original.src, ip: src } }
  return { ...moved, src, connection: { ...connection, original } }
}

/**
 * A packet that passed the input hook: a local socket receives it, or its sender gets an error because no socket
 * listens.
 */
function deliverHere(facts: HostFacts, { packet, probability, steps }: Branch): WalkOutcome {
  const dst = packet.socket ?? { ip: packet.dst, port: packet.dstPort }
  const listens = facts.listens(packet.protocol, dst)
  const canAnswer = facts.addressType(dst.ip) === 'local'
  if (listens === 'none') {
    const how = NOT_LISTENING[packet.protocol]
    const text = `no socket listens on ${dst.ip} port ${dst.port}/${packet.protocol}`
    const rest = { probability, steps: [...steps, { where: 'socket', text }] }
    if (canAnswer) return { kind: 'refused', how, ...rest }
    return { kind: 'silent', by: `socket: ${text}, and ${noAnswer(dst.ip)}`, ...rest }
  }
  if (listens === 'usual' && !canAnswer) {
    return { kind: 'silent', by: `socket: ${noAnswer(dst.ip)}`, probability, steps }
  }
  const outInterface = undefined
  return {
    kind: 'delivered',
    to: 'local',
    dst,
    src: packet.src,
    outInterface,
    probability,
    steps,
  }
}

/** The kernel sends nothing from an address that it does not have, except for transparent sockets. */
function noAnswer(ip: IpAddress): string {
  return `no answer can come from ${ip}, because ${ip} is not an address of this node`
}

/**
 * A packet that leaves this node. Some packets are certain to be dropped: by their receiver, or their reply by their
 * sender.
 */
function leave(facts: HostFacts, { packet, probability, steps }: Branch): WalkOutcome {
  const lost = neverAnswered(facts, packet)
  if (lost !== undefined) return { kind: 'silent', by: lost, probability, steps }
  const { dst: ip, dstPort: port, src, outInterface } = packet
  return {
    kind: 'delivered',
    to: 'forwarded',
    dst: { ip, port },
    src,
    outInterface,
    probability,
    steps,
  }
}

function neverAnswered(facts: HostFacts, packet: PacketState): string | undefined {
  const { src, dst, outInterface = '', connection } = packet
  if (src === dst) return `${dst}: drops a packet whose source is its own address`
  if (isLoopback(src)) return `${dst}: drops a packet whose source is ${src}`
  const sender = connection.original.src.ip
  if (!isLoopback(sender) || facts.routesLoopback(outInterface)) return undefined
  return `route: ${outInterface} does not route answers to ${sender} (sysctl route_localnet)`
}

function isLoopback(ip: IpAddress): boolean {
  return ip === '::1' || (ip.startsWith('127.') && !ip.includes(':'))
}
