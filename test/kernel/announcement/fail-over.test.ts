import { afterAll, beforeAll, expect, test } from 'vitest'
import { METRIC_TABLE, PREFIX } from '../../../src/telemetry/metrics/registry.ts'
import { loadBalancer, podsOf } from '../../support/announcement/announcing-cluster.ts'
import {
  ADDRESSES,
  AnnouncingNodes,
  type Answer,
  NODES,
  type NodeName,
} from '../../support/announcement/announcing-nodes.ts'
import { sumOf } from '../../support/lab/metrics.ts'

const KILLS = Number(process.env['NP_KILLS'] ?? 2)
/**
 * Beside other tests a process may not run for hundreds of milliseconds: then these times. `NP_KILLS` measures with the
 * defaults.
 */
const UNHURRIED = { leaseDuration: '6s', renewDeadline: '4500ms', renewInterval: '500ms' }
const TIMING = process.env['NP_KILLS'] === undefined ? UNHURRIED : {}
const WAIT = { timeout: 60_000, interval: 5 }
const FIRST = ADDRESSES[0]
const lab = new AnnouncingNodes()

beforeAll(async () => {
  await lab.start(TIMING)
  await lab.api.apply(
    loadBalancer('web', [FIRST, ADDRESSES[3]]),
    ...podsOf('web', ['v4', 'v6']),
    loadBalancer('second', [ADDRESSES[1]]),
    ...podsOf('second'),
    loadBalancer('third', [ADDRESSES[2]]),
    ...podsOf('third'),
  )
  await lab.settled()
})

afterAll(() => lab.stop())

/** The nodes that answered for an address one after the other: a node that answers between others is there twice. */
function turnsOf(answers: readonly Answer[], ip: string): readonly NodeName[] {
  const nodes = answers.filter((answer) => answer.ip === ip).map(({ node }) => node)
  return nodes.filter((node, at) => node !== nodes[at - 1])
}

/**
 * Each address went from the node that was gone to another one, perhaps by a third that was quicker, and perhaps back in
 * the end: no node answered again while others did.
 */
function expectOneAfterTheOther(gone: NodeName, ips: readonly string[]): void {
  for (const ip of ips) {
    const turns = turnsOf(lab.answers, ip)
    const others = turns.filter((node, at) => node !== gone || (at > 0 && at < turns.length - 1))
    const expected = NODES.filter((node) => node !== gone && others.includes(node))
    expect(others.toSorted(), `${ip}: ${turns.join(', ')}`).toEqual(expected)
  }
}

/** Of each address that a node announced: from a time until another node answered, in milliseconds. */
async function takeOvers(gone: NodeName, ips: readonly string[], from: number): Promise<number[]> {
  const firstOf = (ip: string) =>
    lab.answers.find((answer) => answer.ip === ip && answer.node !== gone && answer.at >= from)
  await expect.poll(() => ips.every((ip) => firstOf(ip) !== undefined), WAIT).toBe(true)
  return ips.map((ip) => firstOf(ip)!.at - from)
}

const heldBy = (node: NodeName) => ADDRESSES.filter((ip) => lab.announcer(ip) === node)

test(`a node that dies is replaced, ${KILLS} times, and never two nodes answer`, async () => {
  const times: number[] = []
  for (let kill = 0; kill < KILLS; kill += 1) {
    const node = lab.announcer(FIRST)!
    const ips = heldBy(node)
    lab.forget()
    const from = Date.now()
    await Promise.all([lab.plug(node, false), lab.daemon(node).kill()])
    times.push(...(await takeOvers(node, ips, from)))
    expectOneAfterTheOther(node, ips)
    const end = await lab.load(FIRST)
    expect((await end()).failed).toBe(0)
    await lab.plug(node, true)
    await lab.startDaemon(node)
    await lab.settled()
    expectOneAfterTheOther(node, ips)
    const others = ADDRESSES.filter((ip) => !ips.includes(ip))
    for (const ip of others) expect(turnsOf(lab.answers, ip)).toHaveLength(1)
  }
  const sorted = times.toSorted((a, b) => a - b).map(Math.round)
  process.stderr.write(`take-over after a kill, in ms: ${sorted.join(' ')}\n`)
}, 3_600_000)

test('every metric of announcements moved', async () => {
  const samples = await lab.daemon(lab.announcer(FIRST)!).metrics()
  const names = Object.values(METRIC_TABLE)
    .map(({ name }) => `${PREFIX}${name}`)
    .filter((name) => name.startsWith(`${PREFIX}announce`))
  expect(names).toHaveLength(4)
  expect(names.filter((name) => sumOf(samples, name) === 0)).toEqual([])
})

test('a node without an API server is silent before another one answers', async () => {
  const node = lab.announcer(FIRST)!
  const ips = heldBy(node)
  lab.forget()
  const from = Date.now()
  await lab.connectToServer(node, false)
  const times = await takeOvers(node, ips, from)
  process.stderr.write(`take-over after a split, in ms: ${times.map(Math.round).join(' ')}\n`)
  await expect.poll(() => Date.now() - from > 2_000, WAIT).toBe(true)
  expectOneAfterTheOther(node, ips)
  await lab.connectToServer(node, true)
  await lab.settled()
  expectOneAfterTheOther(node, ips)
})

test('a process that hangs answers nothing when it goes on', async () => {
  const node = lab.announcer(FIRST)!
  const ips = heldBy(node)
  lab.forget()
  const from = Date.now()
  lab.daemon(node).signal('SIGSTOP')
  await takeOvers(node, ips, from)
  lab.daemon(node).signal('SIGCONT')
  await lab.settled()
  expectOneAfterTheOther(node, ips)
})

test('a node that is stopped hands its addresses over, and no connection is lost', async () => {
  const node = lab.announcer(FIRST)!
  const ips = heldBy(node)
  lab.forget()
  const end = await lab.load(FIRST)
  const held = await Promise.all(ips.map((ip) => lab.hold(ip)))
  const from = Date.now()
  expect(await lab.daemon(node).stop()).toBe(0)
  expect(await holders()).not.toContain(node)
  await takeOvers(node, ips, from)
  for (const ip of ips) await lab.turned(ip)
  for (const one of held) expect(await one.check()).toMatchObject({ lost: [], refused: [] })
  const report = await end()
  expect(report.failures).toEqual([])
  const silence = ips.map((ip) => longestSilence(lab.answers.filter((one) => one.ip === ip)))
  process.stderr.write(`silence at a hand-over, in ms: ${silence.map(Math.round).join(' ')}\n`)
  const later = await Promise.all(ips.map((ip) => lab.hold(ip)))
  await lab.startDaemon(node)
  await lab.settled()
  expectOneAfterTheOther(node, ips)
  for (const ip of ips) await lab.turned(ip)
  const all = [...held, ...later]
  for (const one of all) expect(await one.check()).toMatchObject({ lost: [], refused: [] })
  await Promise.all(all.map((one) => one.end()))
})

/** The holders of all Leases of addresses and announcers. */
async function holders(): Promise<readonly string[]> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
  const { body } = await lab.api.request('GET', path)
  const { items } = JSON.parse(body) as { items: { spec: { holderIdentity?: string } }[] }
  return items.flatMap(({ spec: { holderIdentity } }) => holderIdentity ?? [])
}

function longestSilence(answers: readonly Answer[]): number {
  return Math.max(...answers.slice(1).map(({ at }, index) => at - answers[index]!.at))
}

test('with policy Local the address follows the endpoints, and no connection is lost', async () => {
  const ip = ADDRESSES[1]
  const endpointsAt = (node: NodeName, more: object = {}) => {
    const at = NODES.indexOf(node) + 1
    return { ip: `10.244.${at}.2`, node, ...more }
  }
  const write = (endpoints: readonly ReturnType<typeof endpointsAt>[]) =>
    lab.api.apply(sliceOf('second', endpoints))
  await write([endpointsAt('n1')])
  await lab.api.patch('Service', 'shop/second', { spec: { externalTrafficPolicy: 'Local' } })
  await expect.poll(() => lab.announcer(ip), WAIT).toBe('n1')
  const end = await lab.load(ip)
  for (const [from, to] of [
    ['n1', 'n2'],
    ['n2', 'n3'],
    ['n3', 'n1'],
  ] as const) {
    const held = await lab.hold(ip)
    const draining = endpointsAt(from, { ready: false, serving: true, terminating: true })
    await write([endpointsAt(to), draining])
    await expect.poll(() => lab.announcer(ip), WAIT).toBe(to)
    await write([endpointsAt(to)])
    await lab.turned(ip)
    const { alive, lost } = await held.check()
    expect({ alive, lost }).toEqual({ alive: { [from]: 5 }, lost: [] })
    await held.end()
  }
  const report = await end()
  expect(report.failures).toEqual([])
  expect(Object.keys(report.answers).toSorted()).toEqual([...NODES])
  await write([])
  await expect.poll(() => lab.announcer(ip), WAIT).toBe(undefined)
})

function sliceOf(name: string, endpoints: readonly object[]) {
  const [pods] = podsOf(name)
  return {
    ...pods!,
    endpoints: endpoints.map((endpoint) => {
      const {
        ip,
        node,
        ready = true,
        serving = ready,
        terminating = false,
      } = endpoint as {
        ip: string
        node: string
        ready?: boolean
        serving?: boolean
        terminating?: boolean
      }
      return { addresses: [ip], nodeName: node, conditions: { ready, serving, terminating } }
    }),
  }
}
