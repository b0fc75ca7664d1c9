import { beforeAll, describe, expect, test } from 'vitest'
import { type Client, clientInPod, clientOutside } from './lab/clients.ts'
import type { Cluster } from './lab/cluster.ts'
import { installDns } from './lab/cluster-dns.ts'
import type { Kubectl } from './lab/kubectl.ts'
import {
  clusterIpOf,
  clusterIpsOf,
  keysOf,
  namesOf,
  nodePortOf,
  podOn,
  podsOf,
} from './lab/lookups.ts'
import { installNodeProxy, MODES } from './lab/node-proxy.ts'
import { useCluster } from './lab/use-cluster.ts'
import { PORT, programs, serverOnEachNode, servers, service } from './lab/workloads.ts'

const DOMAIN = 'cluster.local'
const HOST_PORT = 8088
const HOST_NETWORK_PORT = 8089
const MANY = 100

/** Names of cluster-dns, Pods in the network of their node, ports of the host, and two families. */
const cluster = useCluster(2, async (made) => {
  await installNodeProxy(made, MODES[0])
  await installDns(made)
  await makeWorkloads(made)
})

const kubectl = (): Kubectl => cluster().kubectl
const outside = clientOutside()
let inPod: Client
beforeAll(async () => {
  const { metadata } = await podOn(kubectl(), 'client', 'node-1')
  inPod = clientInPod(kubectl(), metadata.name)
})

describe('cluster-dns', () => {
  test.each(['web', 'web.default', `web.default.svc.${DOMAIN}`])(
    'a Pod reaches a Service as %s',
    async (name) => {
      expect(await inPod.resolve({ name })).toEqual([await clusterIpOf(kubectl(), 'web')])
      const { failures, answers } = await inPod.connect({
        kind: 'http',
        url: `http://${name}/`,
        count: MANY,
      })
      expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
    },
  )

  test('the API server has its name', async () => {
    const name = `kubernetes.default.svc.${DOMAIN}`
    expect(await inPod.resolve({ name })).toEqual([await clusterIpOf(kubectl(), 'kubernetes')])
  })

  test('a headless Service has the addresses of its Pods', async () => {
    const pods = await podsOf(kubectl(), 'web')
    const name = `headless.default.svc.${DOMAIN}`
    const addresses = pods.map(({ status }) => status.podIP).toSorted()
    expect(await inPod.resolve({ name, type: 'A' })).toEqual(addresses)
  })

  test('an ExternalName Service is a name of another', async () => {
    const name = `elsewhere.default.svc.${DOMAIN}`
    expect(await inPod.resolve({ name, type: 'CNAME' })).toEqual(['service.example.org'])
  })

  test('answers through the restart of one of its servers', async () => {
    const [server] = await kubectl()
      .get<{ readonly items: readonly { readonly metadata: { readonly name: string } }[] }>(
        'pods',
        '-n',
        'kube-system',
        '-l',
        'app.kubernetes.io/name=cluster-dns',
      )
      .then(({ items }) => items)
    await kubectl().run(['-n', 'kube-system', 'delete', 'pod', server?.metadata.name ?? ''])
    await kubectl().rolledOut('deployment/cluster-dns', 'kube-system')
    expect(await inPod.resolve({ name: 'web' })).toEqual([await clusterIpOf(kubectl(), 'web')])
  })
})

test('Pods in the network of their node are behind a Service, and their clients are', async () => {
  const url = `http://${await clusterIpOf(kubectl(), 'host-network')}/`
  const { failures, answers } = await inPod.connect({ kind: 'http', url, count: MANY })
  expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'host-network')])
  const { metadata } = await podOn(kubectl(), 'host-network', 'node-2')
  const fromNode = clientInPod(kubectl(), metadata.name)
  const web = `http://${await clusterIpOf(kubectl(), 'web')}/`
  const reached = await fromNode.connect({ kind: 'http', url: web, count: MANY })
  expect([reached.failures, keysOf(reached.answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
})

test('a port of the host leads to its Pod, beside a node port', async () => {
  for (const { name, addresses } of cluster().nodes) {
    const { metadata } = await podOn(kubectl(), 'client', name)
    const ofHost = `http://${addresses.v4}:${HOST_PORT}/`
    const { failures, answers } = await outside.connect({ kind: 'http', url: ofHost, count: 5 })
    expect([failures, keysOf(answers)]).toEqual([{}, [metadata.name]])
    const ofNode = `http://${addresses.v4}:${await nodePortOf(kubectl(), 'client')}/`
    const both = await outside.connect({ kind: 'http', url: ofNode, count: MANY })
    expect([both.failures, keysOf(both.answers)]).toEqual([{}, await namesOf(kubectl(), 'client')])
  }
})

describe('two families', () => {
  test('a Service has an address of each, and both lead to its Pods', async () => {
    const addresses = await clusterIpsOf(kubectl(), 'dual')
    expect(addresses.map((address) => address.includes(':'))).toEqual([false, true])
    for (const address of addresses) {
      const url = `http://${address.includes(':') ? `[${address}]` : address}/`
      const { failures, answers } = await inPod.connect({ kind: 'http', url, count: MANY })
      expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
    }
  })

  test('its name has both', async () => {
    const name = `dual.default.svc.${DOMAIN}`
    const both = [
      ...(await inPod.resolve({ name, type: 'A' })),
      ...(await inPod.resolve({ name, type: 'AAAA' })),
    ]
    expect(both).toEqual(await clusterIpsOf(kubectl(), 'dual'))
  })

  test('a client outside reaches its node port over IPv6', async () => {
    const port = await nodePortOf(kubectl(), 'dual')
    for (const { addresses } of cluster().nodes) {
      const url = `http://[${addresses.v6}]:${port}/`
      const { failures, answers } = await outside.connect({ kind: 'http', url, count: MANY })
      expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
    }
  })
})

async function makeWorkloads({ kubectl }: Cluster): Promise<void> {
  const hostPort = { ports: [{ containerPort: PORT, hostPort: HOST_PORT }] }
  await kubectl.apply(
    programs(),
    servers('web', { replicas: 3 }),
    serverOnEachNode('client', { container: hostPort }),
    serverOnEachNode('host-network', hostNetwork()),
    service('web', 'web'),
    service('client', 'client', { type: 'NodePort' }),
    service('headless', 'web', { clusterIP: 'None' }),
    service('host-network', 'host-network', {
      ports: [{ port: 80, targetPort: HOST_NETWORK_PORT }],
    }),
    service('dual', 'web', { type: 'NodePort', ipFamilyPolicy: 'RequireDualStack' }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'elsewhere' },
      spec: { type: 'ExternalName', externalName: 'service.example.org' },
    },
  )
  for (const workload of ['deployment/web', 'daemonset/client', 'daemonset/host-network']) {
    await kubectl.rolledOut(workload)
  }
}

function hostNetwork() {
  return {
    pod: { hostNetwork: true },
    container: {
      ports: [{ containerPort: HOST_NETWORK_PORT }],
      env: [
        { name: 'PORT', value: String(HOST_NETWORK_PORT) },
        { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      readinessProbe: { httpGet: { path: '/ready', port: HOST_NETWORK_PORT }, periodSeconds: 1 },
    },
  }
}
