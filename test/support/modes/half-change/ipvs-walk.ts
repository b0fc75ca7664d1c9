import type { ListedService } from '../../../../src/explain/ipvs-functions.ts'
import { findService, ipvsFunctions } from '../../../../src/explain/ipvs-functions.ts'
import type { HookFunction } from '../../../../src/explain/packet/hook-function.ts'
import type { Hook, PacketState } from '../../../../src/explain/packet/packet-state.ts'
import { fakeFacts } from '../../../../src/explain/testing/fake-world.ts'
import type { Routing } from '../../../../src/explain/walk/routing.ts'
import { walkPacket } from '../../../../src/explain/walk/walk-packet.ts'
import type { IpSet } from '../../../../src/explain/xtables/model/ip-set.ts'
import { parseRuleset, type Ruleset } from '../../../../src/explain/xtables/model/ruleset.ts'
import { xtablesFunctions } from '../../../../src/explain/xtables-functions.ts'
import type { Family, IpAddress } from '../../../../src/lib/ip.ts'
import { routingBit } from '../../../../src/modes/netfilter/mark.ts'
import type { FakeKernel } from '../fake-ipvs-node.ts'
import { type IpvsState, nameOf } from './ipvs-states.ts'
import { endOf } from './judgement.ts'
import { everyWay } from './moments.ts'
import type { Packet } from './some-service.ts'

/** What does not change when Services change. */
export interface FixedPart {
  readonly family: Family
  readonly node: IpAddress
  /** The source whose packets are those of a Pod of this node. */
  readonly pod: IpAddress
  readonly ruleset: Ruleset
}

/** The present rules of a kernel, which are the fixed part of a node. */
export function rulesetOf({ iptables }: FakeKernel, family: Family): Ruleset {
  const listing = iptables
    .dump()
    .split('\n')
    .map((line) => line.replace(`# ${family}/`, '*').replace(/^# .*/, '*other'))
  return new Map([...parseRuleset(listing.join('\n'))].filter(([name]) => name !== 'other'))
}

/**
 * Where a packet may end that is processed while the kernel goes from state to state: `10.180.0.1:8080`, followed by
 * `masqueraded` if the backend sees this node as the client; `rejected`, `dropped`, or `passed` untranslated.
 */
export async function endsOf(
  fixed: FixedPart,
  states: readonly IpvsState[],
  packet: Packet,
): Promise<ReadonlySet<string>> {
  const { from: src, to: dst, port: dstPort } = packet
  const { family, node, pod } = fixed
  const inInterface = src === pod ? 'cbr0' : 'eth0'
  const ends = await everyWay(states.length, async (moments) => {
    const read: Read = (textOf) => states[moments.read((state) => textOf(states[state]!))]!
    const outcomes = await walkPacket(worldOf(fixed, { read, packet }), {
      family,
      protocol: 'TCP',
      src,
      srcPort: 40_000,
      dst,
      dstPort,
      inInterface: src === node ? undefined : inInterface,
    })
    return outcomes.map((outcome) => endOf(outcome, packet))
  })
  return new Set(ends.flat())
}

/** One read of the state by a packet; `textOf` is equal for states in which the packet reads the same. */
type Read = (textOf: (state: IpvsState) => string) => IpvsState

interface Walking {
  readonly read: Read
  readonly packet: Packet
}

function worldOf({ family, node, ruleset }: FixedPart, walking: Walking) {
  const facts = fakeFacts({ local: [node], routes: [], listening: [] })
  const sets = readSets(walking)
  const listing = { family, program: 'iptables', ruleset }
  const functions = [
    ...xtablesFunctions(listing, { facts, sets }),
    ...(['input', 'output'] as const).map((hook) => virtualServers(hook, facts, walking)),
  ]
  return { functions, facts, routing: routingOf(node) }
}

/** Routing in which the policy route delivers packets with the routing bit. */
function routingOf(node: IpAddress): Routing {
  const bit = routingBit({ masqueradeBit: 14 })
  return {
    route: async ({ dst, mark }) => {
      const isHere = dst === node || (mark & bit) !== 0
      if (isHere) return { kind: 'local', source: node }
      return { kind: 'unicast', outInterface: 'eth0', gateway: undefined, source: node }
    },
  }
}

/** The sets, each read anew at each look-up. Two states differ if the answer for the packet's destination differs. */
function readSets({ read, packet }: Walking): ReadonlyMap<string, IpSet> {
  const point = `${packet.to},tcp:${packet.port}`
  const about = (set: IpSet | undefined) =>
    set?.elements
      .filter(({ text }) => text === point || text.startsWith(`${point},`))
      .map(({ text, mark }) => `${text} ${mark?.value}`)
      .toSorted()
  const sets = new Map<string, IpSet>()
  sets.get = (name) => read((state) => JSON.stringify(about(state.sets.get(name)))).sets.get(name)
  return sets
}

/** The kernel finds the virtual server first, and then reads its real servers; a server deleted meanwhile has none. */
function virtualServers(
  hook: Hook,
  facts: ReturnType<typeof fakeFacts>,
  { read }: Walking,
): HookFunction {
  const fixed = { templates: [], tracksConnections: true, expiresQuiescent: true }
  const priority = hook === 'input' ? 99 : -98
  return {
    hook,
    families: [4, 6],
    priority,
    isNat: false,
    source: 'ipvs',
    apply: (packet) => {
      const found = packet.virtualServer === undefined ? findIn(read, packet) : undefined
      if (found === undefined) {
        return [{ packet, verdict: { kind: 'continue' }, probability: 1, steps: [] }]
      }
      const services = [{ service: found.service, servers: serversOf(read, found) }]
      const one = ipvsFunctions({ ...fixed, services }, facts).find((each) => each.hook === hook)
      return one!.apply(packet)
    },
  }
}

function findIn(read: Read, packet: PacketState): ListedService | undefined {
  const find = (state: IpvsState) => findService(snapshotOf(state), packet)
  const textOf = (found: ListedService | undefined) =>
    found === undefined ? '' : `${nameOf(found)} ${JSON.stringify(found.service.settings)}`
  return find(read((state) => textOf(find(state))))
}

function serversOf(read: Read, found: ListedService) {
  const servers = ({ services }: IpvsState) =>
    services.find((one) => nameOf(one) === nameOf(found))?.servers ?? []
  return servers(read((state) => JSON.stringify(servers(state))))
}

function snapshotOf({ services }: IpvsState) {
  return { services, templates: [], tracksConnections: true, expiresQuiescent: true }
}
