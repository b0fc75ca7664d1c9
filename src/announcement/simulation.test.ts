import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { IpAddress } from '../lib/ip.ts'
import { FAST_TIMING } from './election-timing.ts'
import { NO_FAULTS, SimulatedCluster } from './testing/simulated-cluster.ts'

const IPS = ['192.0.2.50', '2001:db8::50', '192.0.2.51'].map((ip) => ip as IpAddress)
const NODES = 4
const FAULTY_MS = 12_000
const HISTORIES = 800

/** The longest time until each address is announced once nothing fails any more: see the README. */
const { leaseDuration, rankDelay, settleDelay } = FAST_TIMING
const REQUESTS_MS = 1_000
const RECOVERY_MS = (leaseDuration + NODES * rankDelay) * 1.05 + REQUESTS_MS
/** Until the first of the order announces it: it requests the Lease after it was preferred for a while. */
const SETTLED_MS = RECOVERY_MS + settleDelay * 1.05 + 2 * REQUESTS_MS

/** The longest silence while one node hands an address over to another. */
const HAND_OVER_MS = 150
const SAMPLE_MS = 10

/** Lets time pass; returns the longest time in which nobody answered for one of the addresses, in milliseconds. */
function longestSilence(
  cluster: SimulatedCluster,
  ips: readonly IpAddress[],
  until: number,
): number {
  const silent = new Map<IpAddress, number>()
  let longest = 0
  while (cluster.agenda.now < until) {
    cluster.agenda.runUntil(cluster.agenda.now + SAMPLE_MS)
    for (const ip of ips) {
      silent.set(ip, cluster.answering(ip).length === 1 ? 0 : (silent.get(ip) ?? 0) + SAMPLE_MS)
      longest = Math.max(longest, silent.get(ip)!)
    }
  }
  return longest
}

interface History {
  readonly cluster: SimulatedCluster
  /** The order that all nodes have in the end. */
  readonly plans: Map<IpAddress, readonly string[]>
}

/** An order of some of the nodes. */
function drawOrder({ random, nodes }: SimulatedCluster): readonly string[] {
  const names = nodes.map(({ name }) => name).filter(() => random.chance(0.75))
  const keyed = names.map((name) => [random.next(), name] as const)
  return keyed.toSorted(([a], [b]) => a - b).map(([, name]) => name)
}

/** Random faults for a while; in the middle of it nodes see different orders. */
function faultyHistory(seed: number): History {
  const cluster = new SimulatedCluster(seed, { count: NODES, timing: FAST_TIMING })
  const { random, nodes, agenda } = cluster
  const plans = new Map(IPS.map((ip) => [ip, drawOrder(cluster)] as const))
  for (const node of nodes) node.plan(new Map(plans))
  cluster.faults = {
    lostRequest: random.between(0, 0.3),
    lostResponse: random.between(0, 0.3),
    slow: random.between(0, 0.3),
    maxDelay: random.between(50, 2_500),
  }
  const disturb = [
    () => random.one(nodes).pause(random.between(10, 3_000)),
    () => random.one(nodes).connect(false),
    () => random.one(nodes).connect(true),
    () => random.one(nodes).kill(),
    () => random.one(nodes).start(),
    () => plans.set(random.one(IPS), drawOrder(cluster)),
    () => random.one(nodes).plan(new Map(plans)),
    () => cluster.delete(random.one(IPS)),
  ]
  for (let at = 0; at < FAULTY_MS; at += random.between(50, 1_500)) {
    agenda.runUntil(at)
    random.one(disturb)()
  }
  agenda.runUntil(FAULTY_MS)
  return { cluster, plans }
}

/** Ends all faults. */
function heal({ cluster, plans }: History): void {
  cluster.faults = NO_FAULTS
  for (const node of cluster.nodes) {
    node.start()
    node.connect(false)
    node.connect(true)
    node.plan(new Map(plans))
  }
}

test(`in ${HISTORIES} histories never two nodes answer, and after the faults exactly one does`, () => {
  let answered = 0
  const run = (seed: number): void => {
    const history = faultyHistory(seed)
    const { cluster, plans } = history
    answered += IPS.filter((ip) => cluster.answering(ip).length === 1).length
    heal(history)
    // What is slow or paused from before may last.
    const healedAt = FAULTY_MS + 3_000
    cluster.agenda.runUntil(healedAt + RECOVERY_MS)
    const wanted = IPS.filter((ip) => plans.get(ip)!.length > 0)
    expect(longestSilence(cluster, wanted, healedAt + SETTLED_MS)).toBeLessThan(HAND_OVER_MS)
    expect(IPS.map((ip) => cluster.answering(ip))).toEqual(
      IPS.map((ip) => plans.get(ip)!.slice(0, 1)),
    )
    expect(cluster.violations).toEqual([])
  }
  fc.assert(fc.property(fc.integer(), run), { numRuns: HISTORIES })
  // The faults are not so many that hardly anything is announced, nor so few that nothing happens.
  expect(answered).toBeGreaterThan(HISTORIES * 0.5)
  expect(answered).toBeLessThan(HISTORIES * IPS.length * 0.95)
}, 600_000)

/** Clusters in which nothing fails, after the first of the order has answered for a while. */
function calmCluster(seed: number): SimulatedCluster {
  const cluster = new SimulatedCluster(seed, { count: NODES, timing: FAST_TIMING })
  const order = cluster.nodes.map(({ name }) => name)
  for (const node of cluster.nodes) node.plan(new Map(IPS.map((ip) => [ip, order])))
  cluster.agenda.runUntil(5_000 + cluster.random.between(0, 1_000))
  expect(cluster.answering(IPS[0]!)).toEqual(['node-0'])
  return cluster
}

test('when the holder dies, the next node answers within a second', () => {
  const run = (seed: number): void => {
    const cluster = calmCluster(seed)
    cluster.nodes[0]!.kill()
    expect(longestSilence(cluster, IPS, cluster.agenda.now + 1_500)).toBeLessThan(1_000)
    expect(cluster.answering(IPS[0]!)).toEqual(['node-1'])
  }
  fc.assert(fc.property(fc.integer(), run), { numRuns: 200 })
})

test('a holder that drains hands over without waiting, and then holds nothing', () => {
  const run = (seed: number): void => {
    const cluster = calmCluster(seed)
    for (const node of cluster.nodes) {
      node.plan(new Map(IPS.map((ip) => [ip, ['node-1', 'node-2', 'node-3']])))
    }
    cluster.nodes[0]!.drain()
    const silence = longestSilence(cluster, IPS, cluster.agenda.now + 1_500)
    expect([silence < HAND_OVER_MS, cluster.nodes[0]!.isIdle]).toEqual([true, true])
    expect(cluster.answering(IPS[0]!)).toEqual(['node-1'])
    expect(cluster.violations).toEqual([])
  }
  fc.assert(fc.property(fc.integer(), run), { numRuns: 100 })
})

test('only the holder writes, at its interval', () => {
  const cluster = calmCluster(1)
  const before = cluster.writes
  cluster.agenda.runUntil(cluster.agenda.now + 10_000)
  const perSecond = 1_000 / FAST_TIMING.renewInterval
  expect((cluster.writes - before) / (10 * IPS.length)).toBeCloseTo(perSecond, 0)
})
