import type { Family, IpAddress } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'
import { type Branch, branchOf } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import { type Endpoint, firstPacket, type PacketState } from '../packet/packet-state.ts'
import type { RouteAnswer, Routing } from './routing.ts'
import { nextOf, type Stage, type WalkPoint } from './stages.ts'
import type { WalkOutcome } from './walk-outcome.ts'

/** How often a packet is walked again after missing data was read: each hook needs elements of a few sets. */
const MAX_ROUNDS = 64

/** The maximum number of stages of all branches together. */
const MAX_POINTS = 100_000

/** The state of the kernel as it was read. */
export interface WalkWorld {
  readonly functions: readonly HookFunction[]
  readonly routing: Routing
  readonly facts: HostFacts
  /**
   * Reads the data that previous walks needed and did not have; returns whether there was any. Absent if everything
   * was read.
   */
  readonly readMissing?: () => Promise<boolean>
}

/** The packet to walk. */
export interface WalkStart {
  readonly family: Family
  readonly protocol: Protocol
  /** Undefined for a packet of this node whose source the kernel chooses by the route. */
  readonly src: IpAddress | undefined
  /** Undefined means any ephemeral port. */
  readonly srcPort: number | undefined
  readonly dst: IpAddress
  readonly dstPort: number
  /** The interface through which it comes; undefined for a process of this node. */
  readonly inInterface: string | undefined
  /** The entry of the connection, if conntrack already has one. */
  readonly known?: {
    readonly dnat: Endpoint | undefined
    readonly snat: Endpoint | undefined
    readonly mark: number
  }
}

/**
 * What the kernel does with the packet: outcomes in the order of their probabilities, which sum to 1. Rejects only if
 * a route cannot be queried, or missing data cannot be read.
 */
export async function walkPacket(
  world: WalkWorld,
  start: WalkStart,
): Promise<readonly WalkOutcome[]> {
  const known = { ...world, routing: rememberRoutes(world.routing) }
  let outcomes = await walkOnce(known, start)
  for (let round = 1; round < MAX_ROUNDS && (await world.readMissing?.()) === true; round++) {
    outcomes = await walkOnce(known, start)
  }
  return outcomes
}

async function walkOnce(known: WalkWorld, start: WalkStart): Promise<readonly WalkOutcome[]> {
  const stage: Stage = start.inInterface === undefined ? 'routeOut' : 'prerouting'
  const points: WalkPoint[] = [
    { stage, branch: branchOf(packetOf(start)), hasSource: hasSource(start) },
  ]
  const outcomes: WalkOutcome[] = []
  for (let passed = 0; passed < points.length; passed++) {
    const point = points[passed]!
    if (passed >= MAX_POINTS) outcomes.push(unfinished(point.branch))
    else {
      const next = await nextOf(known, point)
      outcomes.push(...next.outcomes)
      points.push(...next.points)
    }
  }
  return mergeOutcomes(outcomes)
}

function hasSource({ src }: WalkStart): boolean {
  return src !== undefined
}

function packetOf(start: WalkStart): PacketState {
  const { family, protocol, srcPort, dst, dstPort, inInterface, known } = start
  const src = start.src ?? ((family === 4 ? '0.0.0.0' : '::') as IpAddress)
  const packet = firstPacket({
    family,
    protocol,
    src,
    srcPort,
    dst,
    dstPort,
    ...(inInterface === undefined ? {} : { inInterface }),
  })
  if (known === undefined) return packet
  const decided = { destination: true, source: true }
  const connection = { ...packet.connection, ...known, decided, status: 'established' as const }
  return { ...packet, connection }
}

function unfinished({ probability, steps }: Branch): WalkOutcome {
  const reason = `the packet was not delivered after ${MAX_POINTS} pieces of its way`
  return { kind: 'uncertain', reason, probability, steps }
}

/** Queries each route once: the branches of a packet mostly have the same few destinations. */
function rememberRoutes(routing: Routing): Routing {
  const answers = new Map<string, Promise<RouteAnswer>>()
  return {
    route(query) {
      const key = JSON.stringify(query)
      const answer = answers.get(key) ?? routing.route(query)
      answers.set(key, answer)
      return answer
    },
  }
}

/** Adds the probabilities of equal outcomes; the steps are those of the most likely one, which comes first. */
function mergeOutcomes(outcomes: readonly WalkOutcome[]): readonly WalkOutcome[] {
  const merged = new Map<string, { total: number; likeliest: WalkOutcome }>()
  for (const outcome of outcomes) {
    if (outcome.probability === 0) continue
    const { probability, steps: _, ...what } = outcome
    const key = JSON.stringify(what)
    const other = merged.get(key)
    const likeliest =
      other !== undefined && other.likeliest.probability >= probability ? other.likeliest : outcome
    merged.set(key, { total: (other?.total ?? 0) + probability, likeliest })
  }
  return [...merged.values()]
    .map(({ total, likeliest }) => ({ ...likeliest, probability: total }))
    .toSorted((a, b) => b.probability - a.probability)
}
