import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { beforeAll, expect, test } from 'vitest'
import { tieToUs } from '../support/tie-to-us.ts'
import { TEST_IMAGE } from './images/images.ts'
import { type Client, clientInPod, clientOutside } from './lab/clients.ts'
import type { Kubectl } from './lab/kubectl.ts'
import { clusterIpOf, keysOf, namesOf, nodePortOf, podsOf } from './lab/lookups.ts'
import { installNodeProxy, MODES } from './lab/node-proxy.ts'
import { type OrchControlPlane, startOrchControlPlane } from './lab/orch-server.ts'
import { useCluster } from './lab/use-cluster.ts'
import { PORT, programs, serverOn, service } from './lab/workloads.ts'

const MANY = 100
const GONE_MS = 60_000

let plane: OrchControlPlane
/** Kubelets, with real Pods and probes, whose API server is orch-server. */
const cluster = useCluster(
  2,
  async (made) => {
    await installNodeProxy(made, MODES[0])
    const { kubectl, nodes } = made
    await kubectl.apply(
      programs(),
      ...nodes.map(({ name }) => serverOn(name, 'web')),
      service('web', 'web', { type: 'NodePort' }),
    )
    await kubectl.ready(nodes.map(({ name }) => `web-${name}`))
  },
  async () => {
    plane = await startOrchControlPlane()
    return plane
  },
)

const kubectl = (): Kubectl => cluster().kubectl
const outside = clientOutside()
let inPod: Client
beforeAll(() => {
  inPod = clientInPod(kubectl(), 'web-node-1')
})

test('a kubelet has its lease and its CSINode', async () => {
  for (const { name } of cluster().nodes) {
    const lease = await kubectl().get<Named>('-n', 'kube-node-lease', 'lease', name)
    const csi = await kubectl().get<Named>('csinode', name)
    expect([lease, csi].map(({ metadata }) => metadata.name)).toEqual([name, name])
  }
})

test('a Service leads to Pods that are ready, from a Pod and from outside', async () => {
  const expected = ['web-node-1', 'web-node-2']
  const inside = `http://${await clusterIpOf(kubectl(), 'web')}/`
  const beyond = `http://${cluster().nodes[1]?.addresses.v4}:${await nodePortOf(kubectl(), 'web')}/`
  for (const [client, url] of [
    [inPod, inside],
    [outside, beyond],
  ] as const) {
    const { failures, answers } = await client.connect({ kind: 'http', url, count: MANY })
    expect([failures, keysOf(answers)]).toEqual([{}, expected])
  }
})

test('a Pod whose probe fails gets nothing, until it succeeds again', async () => {
  const url = `http://${await clusterIpOf(kubectl(), 'web')}/`
  const reached = async () => {
    const { failures, answers } = await inPod.connect({ kind: 'http', url, count: MANY })
    return [failures, keysOf(answers)]
  }
  const say = (ready: boolean) =>
    clientInPod(kubectl(), 'web-node-2').connect({
      kind: 'http',
      url: `http://127.0.0.1:${PORT}/ready/${ready}`,
      method: 'PUT',
      count: 1,
    })
  await say(false)
  await expect.poll(reached).toEqual([{}, ['web-node-1']])
  await say(true)
  await expect.poll(reached).toEqual([{}, ['web-node-1', 'web-node-2']])
})

test('logs, exec, attach and the kubelet’s own API are answered by the kubelet', async () => {
  await kubectl().apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'talker' },
    spec: {
      nodeName: 'node-2',
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'talker',
          image: TEST_IMAGE,
          imagePullPolicy: 'IfNotPresent',
          stdin: true,
          command: ['sh', '-c', 'echo it began; while read -r line; do echo "heard $line"; done'],
        },
      ],
    },
  })
  await kubectl().ready(['talker'])
  expect(await kubectl().run(['logs', 'talker'])).toBe('it began')
  expect(await kubectl().run(['exec', 'talker', '--', 'sh', '-c', 'echo $((6 * 7))'])).toBe('42')
  await kubectl().run(['attach', '-i', 'talker'], { input: 'a word\n' })
  await expect.poll(() => kubectl().run(['logs', 'talker'])).toContain('heard a word')
  const pods = await kubectl().run(['get', '--raw', '/api/v1/nodes/node-2/proxy/pods'])
  const { items } = JSON.parse(pods) as { readonly items: readonly Named[] }
  expect(items.map(({ metadata }) => metadata.name)).toContain('talker')
})

test('a port is forwarded to a Pod', async () => {
  const [program = '', ...flags] = kubectl().command
  const child = spawn(program, [...flags, 'port-forward', 'pod/web-node-2', `:${PORT}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  tieToUs(child)
  try {
    const url = `http://127.0.0.1:${await portSaid(child)}/`
    const { failures, answers } = await outside.connect({ kind: 'http', url, count: 3 })
    expect([failures, keysOf(answers)]).toEqual([{}, ['web-node-2']])
  } finally {
    child.kill()
    await once(child, 'exit')
  }
})

test('a Pod has what its volumes and fields of every kind say', async () => {
  await kubectl().apply(
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { key: 'secret' } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'volumes', labels: { app: 'volumes' } },
      spec: {
        nodeName: 'node-1',
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'reader',
            image: TEST_IMAGE,
            imagePullPolicy: 'IfNotPresent',
            volumeMounts: VOLUMES.map(({ name }) => ({ name, mountPath: `/v/${name}` })),
          },
        ],
        volumes: VOLUMES,
      },
    },
  )
  await kubectl().ready(['volumes'])
  const read = (line: string) => kubectl().run(['exec', 'volumes', '--', 'sh', '-c', line])
  expect(await read('cat /v/secret/key /v/labels/labels')).toBe('secretapp="volumes"')
  expect(await read('touch /v/empty/a && ls /v/empty')).toBe('a')
  expect(await read('cat /v/host/hostname')).not.toBe('')
  expect(await read('ls /v/programs')).toBe('client.ts\nserver.ts')
  // A token of the account, with the authority of the server.
  expect(await read('cut -c1-2 /v/token/token; head -n1 /v/token/ca.crt')).toBe(
    'ey\n-----BEGIN CERTIFICATE-----',
  )
})

test('connections go on while the server is killed and started again', async () => {
  const url = `http://${await clusterIpOf(kubectl(), 'web')}/`
  const node = cluster().nodes[0]?.addresses.v4
  const beyond = `http://${node}:${await nodePortOf(kubectl(), 'web')}/`
  const outcome = await outside.during({ kind: 'http', url: beyond, everyMs: 20 }, async () => {
    await plane.restart()
    const { failures } = await inPod.connect({ kind: 'http', url, count: MANY })
    expect(failures).toEqual({})
  })
  expect(outcome.failures).toEqual({})
})

test('a Pod that is deleted ends gracefully: no connection fails', async () => {
  const url = `http://${await clusterIpOf(kubectl(), 'web')}/`
  const task = { kind: 'http', url, everyMs: 10 } as const
  const outcome = await inPod.during(task, async () => {
    await kubectl().run(['delete', 'pod', 'web-node-2', '--timeout=60s'], { timeoutMs: GONE_MS })
  })
  expect(outcome.failures).toEqual({})
  expect(await namesOf(kubectl(), 'web')).toEqual(['web-node-1'])
  expect((await podsOf(kubectl(), 'web')).length).toBe(1)
})

interface Named {
  readonly metadata: { readonly name: string }
}

const VOLUMES = [
  { name: 'programs', configMap: { name: 'test-programs' } },
  { name: 'secret', secret: { secretName: 'key' } },
  { name: 'empty', emptyDir: {} },
  { name: 'host', hostPath: { path: '/etc' } },
  {
    name: 'labels',
    downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
  },
  {
    name: 'token',
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
        {
          configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
        },
      ],
    },
  },
]

/** The port of this machine that it forwards, as it says. */
async function portSaid({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('its output is not read')
  for await (const line of createInterface(stdout)) {
    const [, port] = /^Forwarding from 127\.0\.0\.1:(\d+) ->/.exec(line) ?? []
    if (port !== undefined) return port
  }
  throw new Error('kubectl port-forward ended without a port')
}
