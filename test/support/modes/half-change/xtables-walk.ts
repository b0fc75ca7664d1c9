import type { HookFunction } from '../../../../src/explain/packet/hook-function.ts'
import { fakeFacts, fakeRouting } from '../../../../src/explain/testing/fake-world.ts'
import { walkPacket } from '../../../../src/explain/walk/walk-packet.ts'
import type { IpSet } from '../../../../src/explain/xtables/model/ip-set.ts'
import { xtablesFunctions } from '../../../../src/explain/xtables-functions.ts'
import { cidr, ip } from '../../../../src/modes/testing/mode-fixtures.ts'
import { endOf } from './judgement.ts'
import type { Addresses, Packet } from './some-service.ts'
import type { XtablesState } from './xtables-states.ts'

/**
 * What a packet reads, in this order: the nat table, for its destination; the filter table; the nat table again, for
 * its source. Each read sees one version of a table, and none sees an earlier version than the read before.
 */
export type Readings = readonly [
  destination: XtablesState,
  filter: XtablesState,
  source: XtablesState,
]

/** Whether a look-up finds the client in a set of clients; `number` counts the look-ups of one packet from 0. */
export type Remembers = (number: number) => boolean

/** Every combination of reads of these states that differs from the others in the tables that are read. */
export function readingsOf(states: readonly XtablesState[]): readonly Readings[] {
  const all = new Map<string, Readings>()
  const versions = new Map<string, number>()
  const version = (listing: string) => {
    if (!versions.has(listing)) versions.set(listing, versions.size)
    return versions.get(listing)
  }
  const of = (state: XtablesState, table: string) => version(state.listings.get(table) ?? '')
  for (const [at, destination] of states.entries()) {
    for (const [later, filter] of states.slice(at).entries()) {
      for (const source of states.slice(at + later)) {
        const key = [of(destination, 'nat'), of(filter, 'filter'), of(source, 'nat')].join()
        all.set(key, [destination, filter, source])
      }
    }
  }
  return [...all.values()]
}

/** Walks packets of the node that has these addresses. */
export class XtablesWalk {
  readonly #at: Addresses
  readonly #facts
  readonly #routing

  /** `hasExternal`: the node has the external address of the Service, and a process that listens there. */
  constructor(at: Addresses, hasExternal: boolean) {
    const all = at.family === 4 ? '0.0.0.0/0' : '::/0'
    const node = {
      local: [ip(at.node), ...(hasExternal ? [ip(at.external)] : [])],
      listening: hasExternal ? [`TCP/${at.external}/80`] : [],
      routes: [
        { to: cidr(at.pods), dev: 'cbr0' },
        { to: cidr(all), dev: 'eth0' },
      ],
    }
    this.#at = at
    this.#facts = fakeFacts(node)
    this.#routing = fakeRouting(node)
  }

  /** All possible ends of the packet: `10.180.0.1:8080 masqueraded`, `rejected`, `dropped`, or `passed`. */
  async ends(packet: Packet, readings: Readings, remembers: Remembers): Promise<readonly string[]> {
    const { family, node } = this.#at
    const { from: src, to: dst, port: dstPort } = packet
    const outcomes = await walkPacket(
      {
        functions: this.#functions(readings, remembers),
        routing: this.#routing,
        facts: this.#facts,
      },
      {
        family,
        protocol: 'TCP',
        src,
        srcPort: undefined,
        dst,
        dstPort,
        inInterface: src === node ? undefined : this.#isPod(packet) ? 'cbr0' : 'eth0',
      },
    )
    return outcomes.map((outcome) => endOf(outcome, packet))
  }

  #functions(
    [destination, filter, source]: Readings,
    remembers: Remembers,
  ): readonly HookFunction[] {
    const sets = new ClientSets(remembers, this.#at)
    const { family } = this.#at
    const of = ({ ruleset }: XtablesState) =>
      xtablesFunctions({ family, program: 'iptables', ruleset }, { facts: this.#facts, sets })
    const isLate = ({ hook }: HookFunction) => hook === 'postrouting' || hook === 'input'
    return [
      ...of(destination).filter((one) => one.isNat && !isLate(one)),
      ...of(filter).filter((one) => !one.isNat),
      ...of(source).filter((one) => one.isNat && isLate(one)),
    ]
  }

  #isPod({ from }: Packet): boolean {
    return from === this.#at.pod || this.#at.backends.includes(from)
  }
}

/** Sets that packets fill. Between two look-ups, another packet may add the client, or its entry may expire. */
class ClientSets extends Map<string, IpSet> {
  readonly #remembers: Remembers
  readonly #everyone: string
  #lookUps = 0

  constructor(remembers: Remembers, { family }: Addresses) {
    super()
    this.#remembers = remembers
    this.#everyone = family === 4 ? '0.0.0.0/0' : '::/0'
  }

  override get(name: string): IpSet {
    const parts = [this.#everyone]
    const element = {
      text: this.#everyone,
      parts,
      isException: false,
      mark: undefined,
      secondsLeft: 60,
    }
    const elements = this.#remembers(this.#lookUps++) ? [element] : []
    return { name, type: 'hash:net', elements, isTemporary: false }
  }
}
