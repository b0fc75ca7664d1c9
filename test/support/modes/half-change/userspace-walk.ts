import type { HookFunction } from '../../../../src/explain/packet/hook-function.ts'
import { fakeFacts, fakeRouting } from '../../../../src/explain/testing/fake-world.ts'
import type { WalkOutcome } from '../../../../src/explain/walk/walk-outcome.ts'
import { walkPacket } from '../../../../src/explain/walk/walk-packet.ts'
import type { IpSet } from '../../../../src/explain/xtables/model/ip-set.ts'
import { xtablesFunctions } from '../../../../src/explain/xtables-functions.ts'
import { routingBit } from '../../../../src/modes/netfilter/mark.ts'
import { cidr, ip, settings } from '../../../../src/modes/testing/mode-fixtures.ts'
import type { RedirectPorts } from '../../../../src/modes/userspace/forwarder.ts'
import { everyWay, type Moments } from './moments.ts'
import { clientOf, type UserspaceState } from './recorded-userspace.ts'
import type { Addresses, Packet } from './some-service.ts'

/**
 * Where a packet may end that is processed while these states follow each other. Every look-up in a set, every run of a
 * table's chains, and the acceptance of the connection by a worker happens at a moment of its own.
 */
export async function userspaceEnds(
  states: readonly UserspaceState[],
  packet: Packet,
  { at, ports }: { readonly at: Addresses; readonly ports: RedirectPorts },
): Promise<ReadonlySet<string>> {
  const node = nodeOf(at, packet, ports)
  const [facts, routing] = [fakeFacts(node), fakeRouting(node)]
  const { from: src, to: dst, port: dstPort } = packet
  const inInterface = src === at.node ? undefined : isPod(at, packet) ? 'cbr0' : 'eth0'
  const ends = await everyWay(states.length, async (moments) => {
    const functions = functionsAt(states, moments, { facts, family: at.family })
    const [outcome, ...others] = await walkPacket(
      { functions, routing, facts },
      {
        family: at.family,
        protocol: 'TCP',
        src,
        srcPort: undefined,
        dst,
        dstPort,
        inInterface,
      },
    )
    if (outcome === undefined || others.length > 0) throw new Error('chance decides')
    return endsOf(packet, outcome, (side) => {
      const client = clientOf(packet, side)
      const versionOf = (state: number) => states[state]!.served.get(client)?.join()
      return states[moments.read(versionOf)]!.served.get(client) ?? ['rejected']
    })
  })

  return new Set(ends.flat())

  function endsOf(
    { to }: Packet,
    outcome: WalkOutcome,
    accepted: (side: keyof RedirectPorts) => readonly string[],
  ): readonly string[] {
    if (outcome.kind === 'refused') return ['rejected']
    if (outcome.kind === 'silent') return ['dropped']
    if (outcome.kind === 'uncertain') throw new Error(outcome.reason)
    const isOurs = outcome.to === 'local' && outcome.dst.ip === to
    if (isOurs && outcome.dst.port === ports.pods) return accepted('pods')
    if (isOurs && outcome.dst.port === ports.others) return accepted('others')
    return ['passed']
  }
}

/** The hooks; each uses the tables of the moment at which it begins. */
function functionsAt(
  states: readonly UserspaceState[],
  moments: Moments,
  { facts, family }: { readonly facts: ReturnType<typeof fakeFacts>; readonly family: 4 | 6 },
): readonly HookFunction[] {
  const sets = new SetsOfMoments(states, moments)
  const functions = states.map(({ tables: { ruleset } }) =>
    xtablesFunctions({ family, program: 'iptables', ruleset }, { facts, sets }),
  )
  return functions[0]!.map((one, index) => ({
    ...one,
    apply: (packet) => {
      const table = one.source.split(' ')[1] ?? ''
      const state = moments.read((at) => states[at]!.tables.listings.get(table))
      return functions[state]![index]!.apply(packet)
    },
  }))
}

/** Sets of which each look-up happens at a moment of its own. */
class SetsOfMoments extends Map<string, IpSet> {
  readonly #states: readonly UserspaceState[]
  readonly #moments: Moments

  constructor(states: readonly UserspaceState[], moments: Moments) {
    super()
    this.#states = states
    this.#moments = moments
  }

  override get(name: string): IpSet | undefined {
    const versionOf = (state: number) => this.#states[state]!.sets.get(name)?.members.join(' ')
    const set = this.#states[this.#moments.read(versionOf)]!.sets.get(name)
    if (set === undefined) return undefined
    const elements = set.members.map((text) => ({
      text,
      parts: text.split(','),
      isException: false,
      mark: undefined,
      secondsLeft: undefined,
    }))
    return { name, type: set.type, elements, isTemporary: false }
  }
}

function nodeOf(at: Addresses, { to }: Packet, ports: RedirectPorts) {
  const everything = cidr(at.family === 4 ? '0.0.0.0/0' : '::/0')
  const sockets = Object.values(ports).map((one) => `TCP/${to}/${one}/transparent`)
  return {
    local: [ip(at.node)],
    listening: sockets,
    routes: [
      { to: everything, dev: 'lo', mark: routingBit(settings()) },
      { to: cidr(at.pods), dev: 'cbr0' },
      { to: everything, dev: 'eth0' },
    ],
  }
}

function isPod(at: Addresses, { from }: Packet): boolean {
  return from === at.pod || at.backends.includes(from)
}
