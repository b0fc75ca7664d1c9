import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isMixture, UNSERVED } from '../../../test/support/modes/half-change/judgement.ts'
import {
  type Addresses,
  CHOICES,
  entryOf,
  podsOf,
  type SomeService as Service,
  packetsOf as sentPacketsOf,
  someService,
  V4,
  V6,
} from '../../../test/support/modes/half-change/some-service.ts'
import type { ForwardingEntry } from '../../forwarding/entry.ts'
import type { Element } from '../../kernel/nftables/objects.ts'
import { address, backendData } from '../../kernel/nftables/rules/encode.ts'
import { ip, settings } from '../testing/mode-fixtures.ts'
import { NftablesProgram } from './program/program.ts'
import {
  type Packet,
  type TableContent,
  tableOf,
  walk,
  withClients,
} from './testing/packet-walk.ts'

/** Each takes some tens of milliseconds. */
const RUNS = Number(process.env['NP_HISTORIES'] ?? 20)
/** A Service, and the table that it makes. */
interface State {
  readonly entry: ForwardingEntry | undefined
  /** With the client and the Pod as clients that are remembered, with a backend on this node. */
  readonly remembered: TableContent
  readonly fresh: TableContent
}

function stateOf(given: Service | undefined, at: Addresses): State {
  const program = new NftablesProgram(settings({ localTraffic: podsOf(at), families: [at.family] }))
  const one = given && entryOf(given, at)
  if (one) program.replace(one.id, one)
  const first = one?.pools.cluster.find(({ weight, local }) => weight > 0 && local)
  const clients: Element[] = []
  // In IPv6 an entry with clients of its own has two maps, with other data.
  if (first && (at.family === 4 || one?.affinity?.isShared)) {
    for (const from of [at.pod, at.client]) {
      clients.push({ key: address(ip(from)), data: backendData(first) })
    }
  }
  const fresh = tableOf(program, at.family)
  return { entry: one, fresh, remembered: withClients(fresh, clients) }
}

function packetsOf(at: Addresses): readonly Packet[] {
  const localAddresses = new Set([at.node])
  return sentPacketsOf(at).map((sent) => ({ ...sent, family: at.family, localAddresses }))
}

const choices = Array.from({ length: CHOICES }, (_, index) => (modulus: number) => index % modulus)

/** Where a packet may end while the table does not change. */
function endsIn({ remembered, fresh }: State, packet: Packet): readonly string[] {
  return [remembered, fresh].flatMap((table) => {
    const still = { before: table, after: table, flipAt: 0, losesReplaced: false }
    return choices.map((choose) => walk(packet, { ...still, choose }).end)
  })
}

type Change = readonly [before: State, after: State]

/**
 * Whether a packet that is at work while the table changes may end so: as before or as after; unserved where one of both does
 * not serve it; or as a mixture of both.
 */
function judge(change: Change, at: Addresses, packet: Packet): (end: string) => boolean {
  const ends = change.flatMap((state) => endsIn(state, packet))
  const isServed = ends.every((end) => !UNSERVED.includes(end))
  const expected = new Set(isServed ? ends : [...ends, ...UNSERVED])
  const all = change.flatMap(({ entry: one }) => one?.pools.cluster ?? [])
  const backends = all.filter(({ weight }) => weight > 0)
  const isMixed = isMixture({ backends, at, packet, ends })
  return (end) => expected.has(end) || isMixed(end)
}

function strangeEnds(change: Change, at: Addresses, packet: Packet): readonly string[] {
  const mayEnd = judge(change, at, packet)
  const [{ remembered: before }, { remembered: after }] = change
  const strange: string[] = []
  for (const choose of choices) {
    for (const losesReplaced of [false, true]) {
      for (let flipAt = 0, readings = 0; flipAt <= readings; flipAt++) {
        const result = walk(packet, { before, after, flipAt, losesReplaced, choose })
        readings = result.readings
        if (mayEnd(result.end)) continue
        strange.push(`${packet.from} to ${packet.to}, change at reading ${flipAt}: ${result.end}`)
      }
    }
  }
  return strange
}

test.each([
  ['IPv4', V4],
  ['IPv6', V6],
])('a packet of %s that meets half a change ends where it did before or does after it', (_, at) => {
  const packets = packetsOf(at)
  fc.assert(
    fc.property(someService, someService, (one, other) => {
      const change = [stateOf(one, at), stateOf(other, at)] as const
      expect(packets.flatMap((packet) => strangeEnds(change, at, packet))).toEqual([])
    }),
    { numRuns: RUNS },
  )
})

test('the walk knows every kind of end', () => {
  const base: Service = {
    weights: [1, 1],
    pods: 0,
    isLocal: false,
    isLimited: true,
    affinity: undefined,
    name: 0,
    hasNodePort: true,
    nodePort: 0,
    hasExternalIP: true,
    drops: true,
  }
  const endsOf = (given: Partial<Service>) => {
    const state = stateOf({ ...base, ...given }, V4)
    const packets = packetsOf(V4).filter(({ port }) => port !== 30_081)
    return new Set(packets.flatMap((packet) => endsIn(state, packet)))
  }
  expect(endsOf({})).toEqual(
    new Set([
      '10.180.0.1:8080',
      '10.180.0.2:8080',
      '10.180.0.1:8080 masqueraded',
      '10.180.0.2:8080 masqueraded',
      'dropped',
    ]),
  )
  expect(endsOf({ weights: [0], isLocal: true })).toEqual(new Set(['rejected', 'dropped']))
  expect(endsOf({ hasNodePort: false })).toContain('passed')
})
