import { expect, test } from 'vitest'
import { clientOutside } from './lab/clients.ts'
import type { Kubectl } from './lab/kubectl.ts'
import { keysOf, namesOf, nodePortOf, podOn, podsOf } from './lab/lookups.ts'
import type { ClusterNode } from './lab/node.ts'
import { installNodeProxy, MODES, servesIn } from './lab/node-proxy.ts'
import { eventually } from './lab/programs.ts'
import { useCluster } from './lab/use-cluster.ts'
import { programs, servers, service } from './lab/workloads.ts'

const MINUTES = 60_000
const EVERY_MS = 10
const [MODE] = MODES
const BACK_MS = 240_000
/** Connections that miss one of four Pods with a probability below 10⁻¹¹. */
const MANY = 100

/** What becomes of a Service when nodes come, are emptied and lose their power. */
const cluster = useCluster(2, async (made) => {
  await installNodeProxy(made, MODE)
  await made.kubectl.apply(
    programs(),
    servers('web', { replicas: 4 }),
    service('web', 'web', { type: 'NodePort' }),
  )
  await made.kubectl.rolledOut('deployment/web')
})

const kubectl = (): Kubectl => cluster().kubectl
const outside = clientOutside()

test(
  'a node that is added serves as the others do',
  async () => {
    const began = performance.now()
    const node = await cluster().addNode()
    await kubectl().rolledOut('daemonset/node-proxy', 'kube-system')
    await servesIn(node, MODE)
    process.stderr.write(`cluster: a node was added in ${seconds(began)}\n`)
    await expectAllReached(node)
  },
  10 * MINUTES,
)

test(
  'a node is drained, and no connection fails',
  async () => {
    const [, drained] = cluster().nodes
    const [kept] = cluster().nodes
    const name = drained?.name ?? ''
    expect(await podOn(kubectl(), 'web', name)).toBeDefined()
    const task = { kind: 'http', url: await urlAt(kept), everyMs: EVERY_MS } as const
    const outcome = await outside.during(task, async () => {
      const limit = { timeoutMs: 130_000 }
      await kubectl().run(['drain', name, '--ignore-daemonsets', '--timeout=120s'], limit)
      await kubectl().rolledOut('deployment/web')
    })
    process.stderr.write(`cluster: a node drained during ${outcome.attempts} connections\n`)
    expect(outcome.failures).toEqual({})
    await expect(podOn(kubectl(), 'web', name)).rejects.toThrow(`is on ${name}`)
    await expectAllReached(drained)
    await kubectl().run(['uncordon', name])
  },
  10 * MINUTES,
)

test(
  'a node that lost its power serves again, with Pods that it had',
  async () => {
    const [, , node] = cluster().nodes
    if (node === undefined) throw new Error('the test before adds it')
    const had = await podsOf(kubectl(), 'web')
    expect(had.some(({ spec }) => spec.nodeName === node.name)).toBe(true)
    const began = performance.now()
    await node.powerOff()
    await node.boot()
    await eventually('node-proxy is back', () => servesIn(node, MODE).then(() => true), {
      timeoutMs: BACK_MS,
    })
    process.stderr.write(`cluster: a node was off and on again in ${seconds(began)}\n`)
    await eventually('its Pods are', () => reachesAll(node), { timeoutMs: BACK_MS })
    expect((await podsOf(kubectl(), 'web')).length).toBe(had.length)
  },
  15 * MINUTES,
)

async function expectAllReached(node: ClusterNode | undefined): Promise<void> {
  const { failures, answers } = await connectTo(node)
  expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
}

async function reachesAll(node: ClusterNode): Promise<boolean> {
  const { failures, answers } = await connectTo(node)
  const all = await namesOf(kubectl(), 'web')
  if (keysOf(failures).length === 0 && keysOf(answers).join() === all.join()) return true
  throw new Error(`of ${all.join()}: ${JSON.stringify({ failures, answers })}`)
}

async function connectTo(node: ClusterNode | undefined) {
  return await outside.connect({ kind: 'http', url: await urlAt(node), count: MANY })
}

async function urlAt(node: ClusterNode | undefined): Promise<string> {
  return `http://${node?.addresses.v4}:${await nodePortOf(kubectl(), 'web')}/`
}

function seconds(began: number): string {
  return `${((performance.now() - began) / 1_000).toFixed(1)} s`
}
