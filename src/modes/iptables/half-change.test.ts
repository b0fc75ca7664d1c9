import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fakeNode } from '../../../test/support/modes/fake-node.ts'
import {
  asBeforeOrAfter,
  isMixture,
  type StillEnds,
} from '../../../test/support/modes/half-change/judgement.ts'
import {
  type Addresses,
  entryOf,
  neighboursOf,
  type Packet,
  packetsOf,
  podsOf,
  type SomeService,
  someChange,
  V4,
  V6,
} from '../../../test/support/modes/half-change/some-service.ts'
import {
  RecordedIptables,
  type XtablesState,
} from '../../../test/support/modes/half-change/xtables-states.ts'
import {
  type Remembers,
  readingsOf,
  XtablesWalk,
} from '../../../test/support/modes/half-change/xtables-walk.ts'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import { cidr } from '../testing/mode-fixtures.ts'

/** Each takes some tens of milliseconds. */
const RUNS = Number(process.env['NP_HISTORIES'] ?? 30)
/** With so many chains that a table is not written at once; each takes some hundreds of milliseconds. */
const LARGE_RUNS = Math.ceil(RUNS / 10)
const NEIGHBOURS = 180

/** Whether look-ups find the client in sets: never, always, from the second one on, the first one alone. */
const MEMORIES: readonly Remembers[] = [
  () => false,
  () => true,
  (number) => number > 0,
  (number) => number === 0,
]

const someCircumstances = fc.record({
  /** Before the change the kernel holds nothing of ours. */
  isFirst: fc.nat(9).map((one) => one === 0),
  knowsRanges: fc.boolean(),
  masqueradeAll: fc.boolean(),
  hairpin: fc.constantFrom<('bpf' | 'rules')[]>('bpf', 'rules'),
  hasExternal: fc.boolean(),
})
type Circumstances = typeof someCircumstances extends fc.Arbitrary<infer T> ? T : never

/** A change of what a node forwards. */
interface Change {
  readonly before: readonly ForwardingEntry[]
  readonly after: readonly ForwardingEntry[]
}

/** What the kernel holds before a change, and after each of its steps. */
async function statesOf(
  { before, after }: Change,
  at: Addresses,
  given: Circumstances,
): Promise<readonly XtablesState[]> {
  const { knowsRanges, masqueradeAll, hairpin } = given
  const recorders: RecordedIptables[] = []
  const { mode, sync } = fakeNode({
    settings: {
      localTraffic: podsOf(at),
      families: [at.family],
      masqueradeAll,
      hairpin,
      ...(knowsRanges ? { serviceRanges: [cidr(at.services)] } : {}),
    },
    through: (fake) => {
      const recorder = new RecordedIptables(fake, at.family)
      recorders.push(recorder)
      return recorder.iptables
    },
  })
  if (!given.isFirst) await sync(...before)
  const recorder = recorders[0]!
  recorder.states.splice(0)
  await recorder.record()
  if (!given.isFirst) for (const { id } of before) mode.program.replace(id, undefined)
  const { failed } = await sync(...after)
  expect(failed).toEqual(new Map())
  return recorder.states
}

/** Where packets end that read any of these states, one after the other. */
class Ends {
  readonly #walk: XtablesWalk
  readonly #states: readonly XtablesState[]
  readonly #memories: readonly Remembers[]

  constructor(states: readonly XtablesState[], walk: XtablesWalk) {
    this.#walk = walk
    this.#states = states
    const hasSets = states.some(({ listings }) => listings.get('nat')?.includes('-m set'))
    this.#memories = hasSets ? MEMORIES : MEMORIES.slice(0, 1)
  }

  /**
   * While nothing changes; with a refusal before the change if the address is new then, because its first packets may be
   * refused as those of others are there: they miss the new nat table and meet the new filter table.
   */
  async still(packet: Packet): Promise<StillEnds> {
    const [first, last] = [this.#states.at(0)!, this.#states.at(-1)!]
    const before = await this.#all(packet, [first, first, first])
    return {
      before: before.includes('passed') ? [...before, 'rejected'] : before,
      after: await this.#all(packet, [last, last, last]),
    }
  }

  /** While it changes, what may not be. */
  async strange(packet: Packet, mayBe: (end: string) => boolean): Promise<readonly string[]> {
    const strange: string[] = []
    for (const readings of readingsOf(this.#states)) {
      const read = readings.map((state) => this.#states.indexOf(state)).join()
      for (const end of await this.#all(packet, readings)) {
        if (!mayBe(end)) strange.push(`${packet.from} to ${packet.to}, reads ${read}: ${end}`)
      }
    }
    return strange
  }

  async #all(packet: Packet, readings: Parameters<XtablesWalk['ends']>[1]) {
    const ends = this.#memories.map((remembers) => this.#walk.ends(packet, readings, remembers))
    return (await Promise.all(ends)).flat()
  }
}

function packetsAt(at: Addresses): readonly Packet[] {
  return packetsOf(at, [at.pod, at.node, at.client, at.excluded, at.backends[1]!])
}

/** Services with three chains or more each; every chain differs between the two kinds. */
function crowdAt(at: Addresses, isLocal: boolean): readonly ForwardingEntry[] {
  const service: SomeService = {
    weights: [1],
    pods: isLocal ? 0 : 1,
    isLocal,
    isLimited: true,
    affinity: undefined,
    name: 0,
    hasNodePort: false,
    nodePort: 0,
    hasExternalIP: true,
    drops: false,
  }
  return neighboursOf(at, NEIGHBOURS).map((near, n) => ({
    ...entryOf(service, near),
    id: `shop/near${n}:http/TCP/${at.family}` as EntryId,
  }))
}

const entriesOf = (given: SomeService | undefined, at: Addresses) =>
  given === undefined ? [] : [entryOf(given, at)]

describe.each([
  ['IPv4', V4],
  ['IPv6', V6],
])('a packet of %s that meets half a change', (_, at) => {
  test('ends where it did before or does after it', async () => {
    await fc.assert(
      fc.asyncProperty(someChange, someCircumstances, async ([one, other], given) => {
        const change = { before: entriesOf(one, at), after: entriesOf(other, at) }
        const states = await statesOf(change, at, given)
        const ends = new Ends(states, new XtablesWalk(at, given.hasExternal))
        for (const packet of packetsAt(at)) {
          const mayBe = asBeforeOrAfter(await ends.still(packet))
          expect(await ends.strange(packet, mayBe)).toEqual([])
        }
      }),
      { numRuns: RUNS },
    )
  })

  test('ends at a backend of before or of after, where a table is written in several pieces', async () => {
    const someCrowd = fc.constantFrom('comes', 'goes', 'changes')
    await fc.assert(
      fc.asyncProperty(
        ...([someChange, someCircumstances, someCrowd] as const),
        async ([one, other], given, crowd) => {
          const before = [...(crowd === 'comes' ? [] : crowdAt(at, true)), ...entriesOf(one, at)]
          const after = [...(crowd === 'goes' ? [] : crowdAt(at, false)), ...entriesOf(other, at)]
          const states = await statesOf({ before, after }, at, { ...given, isFirst: false })
          expect(states.length).toBeGreaterThan(2)
          const ends = new Ends(states, new XtablesWalk(at, given.hasExternal))
          for (const packet of packetsAt(at)) {
            const still = await ends.still(packet)
            const backends = [...before, ...after].flatMap(({ pools }) => pools.cluster)
            const isMixed = isMixture({
              backends,
              at,
              packet,
              ends: [...still.before, ...still.after],
            })
            const isExpected = asBeforeOrAfter(still)
            const mayBe = (end: string) => isExpected(end) || isMixed(end)
            expect(await ends.strange(packet, mayBe)).toEqual([])
          }
        },
      ),
      { numRuns: LARGE_RUNS },
    )
  })
})
