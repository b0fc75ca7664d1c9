import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { blocksOf } from '../support/pages/page-section.ts'
import { type Client, clientInPod, clientOutside } from './lab/clients.ts'
import type { Kubectl } from './lab/kubectl.ts'
import { clusterIpOf, namesOf, nodePortOf, podOn } from './lab/lookups.ts'
import { changeMode, installNodeProxy, MODES } from './lab/node-proxy.ts'
import { useCluster } from './lab/use-cluster.ts'
import {
  programs,
  type ServerOptions,
  serverOnEachNode,
  servers,
  service,
} from './lab/workloads.ts'
import type { HttpTask, RequestsOutcome } from './pods/tasks.ts'

const MINUTES = 60_000
/** 200 connections a second: three quarters from outside at a node port, one from a Pod at the cluster IP. */
const OUTSIDE_EVERY_MS = 1_000 / 150
const IN_POD_EVERY_MS = 1_000 / 50

/** What is replaced while clients connect: the node-proxies, and the Pods of a Service. */
const cluster = useCluster(2, async (made) => {
  await installNodeProxy(made, MODES[0])
  await made.kubectl.apply(
    programs(),
    servers('web', { replicas: 4, ...asThePageSays() }),
    serverOnEachNode('client'),
    service('web', 'web', { type: 'NodePort' }),
  )
  for (const workload of ['deployment/web', 'daemonset/client'])
    await made.kubectl.rolledOut(workload)
})

const kubectl = (): Kubectl => cluster().kubectl
let inPod: Client
beforeAll(async () => {
  const { metadata } = await podOn(kubectl(), 'client', 'node-1')
  inPod = clientInPod(kubectl(), metadata.name)
})

describe.each(MODES.filter((mode) => mode !== 'userspace'))('in %s mode', (mode) => {
  beforeAll(async () => void (await changeMode(cluster(), mode)), 5 * MINUTES)

  test(
    'a rolling update of node-proxy fails no connection',
    async () => {
      await expectNoneFailed(`node-proxy updated in ${mode} mode`, async () => {
        await kubectl().run(['-n', 'kube-system', 'rollout', 'restart', 'daemonset/node-proxy'])
        await kubectl().rolledOut('daemonset/node-proxy', 'kube-system')
      })
    },
    10 * MINUTES,
  )

  test(
    'a rolling update of the Pods behind a Service fails no connection',
    async () => {
      const before = await namesOf(kubectl(), 'web')
      const { answers } = await expectNoneFailed(`Pods replaced in ${mode} mode`, async () => {
        await kubectl().run(['rollout', 'restart', 'deployment/web'])
        await kubectl().rolledOut('deployment/web')
        await kubectl().run(
          ['wait', '--for=delete', ...before.map((name) => `pod/${name}`), '--timeout=120s'],
          {
            timeoutMs: 130_000,
          },
        )
      })
      const after = await namesOf(kubectl(), 'web')
      expect(Object.keys(answers)).toEqual(expect.arrayContaining([...before, ...after]))
    },
    10 * MINUTES,
  )
})

/** Connects from outside and from a Pod meanwhile; returns what the client outside saw. */
async function expectNoneFailed(
  what: string,
  change: () => Promise<void>,
): Promise<RequestsOutcome> {
  const node = cluster().nodes[1]?.addresses.v4
  const beyond = url(`${node}:${await nodePortOf(kubectl(), 'web')}`, OUTSIDE_EVERY_MS)
  const inside = url(await clusterIpOf(kubectl(), 'web'), IN_POD_EVERY_MS)
  const outcomes: RequestsOutcome[] = []
  const last = await clientOutside().during(beyond, async () => {
    outcomes.push(await inPod.during(inside, change))
  })
  outcomes.push(last)
  for (const { attempts, failures, seconds } of outcomes) {
    process.stderr.write(
      `cluster: ${what}: ${attempts} connections in ${seconds.toFixed(1)} s, failed: ${JSON.stringify(failures)}\n`,
    )
    expect(failures).toEqual({})
  }
  const [pod, outside] = outcomes.map(({ attempts, seconds }) => attempts / seconds)
  expect((pod ?? 0) + (outside ?? 0)).toBeGreaterThan(180)
  return last
}

interface Advice {
  readonly spec: {
    readonly strategy: object
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly {
          readonly readinessProbe: object
          readonly lifecycle: object
        }[]
      }
    }
  }
}

/** The fields of docs/operate/upgrade.md. */
function asThePageSays(): ServerOptions {
  const [text = ''] = blocksOf('upgrade.md', 'Replace Pods without a failed connection', 'yaml')
  const { strategy, template } = (parse(text) as Advice).spec
  const { terminationGracePeriodSeconds, containers } = template.spec
  const [{ readinessProbe, lifecycle } = { readinessProbe: {}, lifecycle: {} }] = containers
  return {
    strategy,
    pod: { terminationGracePeriodSeconds },
    container: { readinessProbe, lifecycle },
  }
}

function url(host: string, everyMs: number): HttpTask {
  return { kind: 'http', url: `http://${host}/`, everyMs }
}
