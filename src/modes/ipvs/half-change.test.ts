import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type FakeKernel,
  fakeIpvsNode,
  fakeKernel,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import {
  type IpvsState,
  nameOf,
  stateOf,
  stepwise,
} from '../../../test/support/modes/half-change/ipvs-states.ts'
import {
  endsOf,
  type FixedPart,
  rulesetOf,
} from '../../../test/support/modes/half-change/ipvs-walk.ts'
import {
  isMixture,
  MASQUERADED,
  UNSERVED,
} from '../../../test/support/modes/half-change/judgement.ts'
import {
  type Addresses,
  entryOf,
  type Packet,
  packetsOf,
  podsOf,
  type SomeService,
  someChange,
  V4,
  V6,
} from '../../../test/support/modes/half-change/some-service.ts'
import type { ListedService } from '../../explain/ipvs-functions.ts'
import type { ForwardingEntry } from '../../forwarding/entry.ts'
import { virtualServerKey } from '../../kernel/ipvs/ipvs.ts'
import { ip, settings } from '../testing/mode-fixtures.ts'

const RUNS = Number(process.env['NP_HISTORIES'] ?? 40)

/** Everything that the kernel is while one Service becomes another one. */
interface Change {
  readonly entries: readonly (ForwardingEntry | undefined)[]
  readonly fixed: FixedPart
  /** Before the change, after each command, and so after the change. */
  readonly states: readonly IpvsState[]
  /** Of the states, those that a packet may see that meets one request: before it, and after each of its commands. */
  readonly requests: readonly (readonly IpvsState[])[]
}

/** What a change is beside two Services. */
const someCircumstances = fc.record({
  /** Every backend has established connections. */
  isBusy: fc.boolean(),
  schedulers: fc.tuple(fc.constantFrom('rr', 'lc'), fc.constantFrom('rr', 'rr', 'lc')),
})
type Circumstances = typeof someCircumstances extends fc.Arbitrary<infer T> ? T : never
const CALM: Circumstances = { isBusy: false, schedulers: ['rr', 'rr'] }

type Given = readonly [before: SomeService | undefined, after: SomeService | undefined]

async function change(
  given: Given,
  { isBusy, schedulers }: Circumstances,
  at: Addresses,
): Promise<Change> {
  const kernel = fakeKernel()
  const recorded = recording(kernel)
  const netfilter = settings({ localTraffic: podsOf(at), families: [at.family] })
  const overrides = { netfilter, nodeAddresses: [ip(at.node)] }
  const { mode, write } = fakeIpvsNode(kernel, overrides, stepwise(kernel, recorded))
  const [before, after] = given.map(
    (one, side) => one && { ...entryOf(one, at), scheduler: schedulers[side] },
  )
  if (before) mode.program.replace(before.id, before)
  await write()
  if (isBusy) await occupy(kernel)
  await recorded.begin()
  if (before) mode.program.replace(before.id, undefined)
  if (after) mode.program.replace(after.id, after)
  await write()
  const ruleset = rulesetOf(kernel, at.family)
  const fixed = { family: at.family, node: ip(at.node), pod: ip(at.pod), ruleset }
  return { entries: [before, after], fixed, ...recorded }
}

/** Records the states of a kernel from `begin` on. */
function recording(kernel: FakeKernel) {
  const states: IpvsState[] = []
  const requests: IpvsState[][] = []
  return {
    states,
    requests,
    async begin() {
      requests.length = 0
      states.splice(0, states.length, await stateOf(kernel))
    },
    request: () => void requests.push(states.slice(-1)),
    state(state: IpvsState) {
      states.push(state)
      requests.at(-1)?.push(state)
    },
  }
}

async function occupy({ ipvs }: FakeKernel): Promise<void> {
  for (const { id } of await ipvs.services()) {
    for (const server of (await ipvs.servers(id)) ?? []) {
      ipvs.setConnections(id, server, { activeConnections: 1 })
    }
  }
}

interface Judged {
  readonly at: Addresses
  readonly packet: Packet
  /** Where it may end before the change and after it. */
  readonly ends: readonly string[]
}

/**
 * Whether a packet that is at work meanwhile may end so: as before or as after, unserved where one of both does not serve it, or
 * as a mixture of both. Who is hidden once there are backends may be hidden before.
 */
function judge(entries: Change['entries'], { at, packet, ends }: Judged): (end: string) => boolean {
  const isServed = ends.every((end) => !UNSERVED.includes(end))
  const frontends = entries.flatMap((one) => one?.frontends ?? [])
  const hides = !isServed && frontends.some(({ masquerade }) => masquerade === 'always')
  const all = entries.flatMap((one) => one?.pools.cluster ?? [])
  const backends = all.filter(({ weight }) => weight > 0)
  const seen = [...ends, ...(hides ? [MASQUERADED] : [])]
  const isMixed = isMixture({ backends, at, packet, ends: seen })
  const expected = new Set(isServed ? ends : [...ends, ...UNSERVED])
  return (end) => expected.has(end) || isMixed(end)
}

/** The ends that no packet may have. While a scheduler is exchanged it may be dropped: its client sends it again. */
async function strangeEnds({ entries, fixed, states, requests }: Change, at: Addresses) {
  const strange: string[] = []
  const mayWait = isRescheduled(states)
  for (const packet of packetsOf(at)) {
    const still = await reached(fixed, [states.slice(0, 1), states.slice(-1)], packet)
    const mayEnd = judge(entries, { ends: [...still], at, packet })
    const ends = await reached(fixed, isLasting(states, at, packet) ? [states] : requests, packet)
    for (const end of ends)
      if (!mayEnd(end) && !(mayWait && end === 'dropped'))
        strange.push(`${packet.from} to ${packet.to}: ${end}`)
  }
  return strange
}

/** Whether the kernel exchanges a scheduler in between. */
function isRescheduled(states: readonly IpvsState[]): boolean {
  const [before, after] = [states[0]!, states.at(-1)!].map(
    ({ services }) => new Map(services.map((one) => [nameOf(one), one.service.settings.scheduler])),
  )
  return [...before!].some(([name, scheduler]) => (after!.get(name) ?? scheduler) !== scheduler)
}

/** Where a packet may end that sees any of these. */
async function reached(
  fixed: FixedPart,
  seen: readonly (readonly IpvsState[])[],
  packet: Packet,
): Promise<ReadonlySet<string>> {
  const ends = new Set<string>()
  for (const states of seen) for (const end of await endsOf(fixed, states, packet)) ends.add(end)
  return ends
}

/**
 * Whether the virtual servers that a packet may find serve all the time, or never. Where one is made, deleted, emptied or
 * rescheduled, a packet that rules have let pass before may find it otherwise than they do: of such a change each packet
 * meets one request.
 */
function isLasting(
  states: readonly IpvsState[],
  { family }: Addresses,
  { to, port }: Packet,
): boolean {
  const key = virtualServerKey({ family, protocol: 'TCP', ip: to, port })
  const isMet = ({ service, servers }: ListedService) =>
    (virtualServerKey(service.id) === key || 'mark' in service.id) &&
    servers.some(({ weight }) => weight > 0)
  const textOf = (one: ListedService) => `${nameOf(one)} ${one.service.settings.scheduler}`
  const found = states.map(({ services }) => services.filter(isMet).map(textOf))
  return new Set(found.map((names) => names.toSorted().join())).size === 1
}

test.each([
  ['IPv4', V4],
  ['IPv6', V6],
])(
  'a packet of %s that meets half a change ends where it did before or does after it',
  async (_, at) => {
    await fc.assert(
      fc.asyncProperty(someChange, someCircumstances, async (given, how) => {
        expect(await strangeEnds(await change(given, how, at), at)).toEqual([])
      }),
      { numRuns: RUNS },
    )
  },
)

test('the walk knows every kind of end, and who takes the short circuit', async () => {
  const base: SomeService = {
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
  const endsWith = async (given: Partial<SomeService>, from: readonly string[]) => {
    const { fixed, states } = await change([undefined, { ...base, ...given }], CALM, V4)
    const packets = packetsOf(V4, from).filter(({ port }) => port !== 30_081)
    const ends = packets.map((packet) => reached(fixed, [states.slice(-1)], packet))
    return new Set((await Promise.all(ends)).flatMap((some) => [...some]))
  }
  const outside = [V4.client, V4.excluded]
  const [first, second] = ['10.180.0.1:8080', '10.180.0.2:8080']
  const masqueraded = [`${first} masqueraded`, `${second} masqueraded`]
  expect(await endsWith({}, outside)).toEqual(new Set([...masqueraded, 'dropped']))
  expect(await endsWith({ isLocal: true, isLimited: false }, outside)).toEqual(
    new Set([...masqueraded, first]),
  )
  expect(await endsWith({ isLocal: true }, [V4.node])).toEqual(new Set([first, second, 'dropped']))
  expect(await endsWith({ weights: [0], isLocal: true }, outside)).toEqual(
    new Set(['rejected', 'dropped']),
  )
  expect(await endsWith({ hasExternalIP: false }, outside)).toContain('passed')
})
