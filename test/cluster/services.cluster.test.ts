import { beforeAll, describe, expect, test } from 'vitest'
import { type Client, clientInPod, clientOutside } from './lab/clients.ts'
import type { Cluster } from './lab/cluster.ts'
import type { Kubectl } from './lab/kubectl.ts'
import { clusterIpOf, keysOf, namesOf, nodePortOf, podOn, podsOf } from './lab/lookups.ts'
import { ip } from './lab/network.ts'
import { changeMode, installNodeProxy, MODES, modeOf } from './lab/node-proxy.ts'
import { LAN } from './lab/plan.ts'
import { useCluster } from './lab/use-cluster.ts'
import { PORT, programs, serverOnEachNode, servers, service } from './lab/workloads.ts'

const MINUTES = 60_000
const LOAD_BALANCER = '203.0.113.10'
const EXTERNAL = '203.0.113.20'
const SILENCE_MS = 1_500
/** Connections that miss one of four Pods with a probability below 10⁻¹¹. */
const MANY = 100

/** Services of every kind between real Pods, with the probes of real kubelets, in each mode of one DaemonSet. */
const cluster = useCluster(2, async (made) => {
  await installNodeProxy(made, MODES[0])
  await makeWorkloads(made)
})

const kubectl = (): Kubectl => cluster().kubectl
const outside = clientOutside()
let inPod: Client

beforeAll(async () => {
  process.stderr.write('cluster: ipvs mode is not tested here: it needs a kernel with ip_vs\n')
  const { metadata } = await podOn(kubectl(), 'client', 'node-1')
  inPod = clientInPod(kubectl(), metadata.name)
})

describe.each(MODES)('in %s mode', (mode) => {
  test(
    'every node serves in it, after the ConfigMap alone was changed',
    async () => {
      const seconds = await changeMode(cluster(), mode)
      process.stderr.write(
        `cluster: ${mode} mode on every node ${seconds.toFixed(1)} s after the change\n`,
      )
      for (const node of cluster().nodes) expect(await modeOf(node)).toBe(mode)
    },
    5 * MINUTES,
  )

  test('a Pod reaches every Pod of a Service at its cluster IP, over TCP and UDP', async () => {
    const host = await clusterIpOf(kubectl(), 'web')
    const tcp = await inPod.connect({ kind: 'http', url: `http://${host}/`, count: MANY })
    const udp = await inPod.connect({
      kind: 'udp',
      host: await clusterIpOf(kubectl(), 'web-udp'),
      port: 80,
      count: MANY,
    })
    for (const { failures, answers } of [tcp, udp]) {
      expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
    }
  })

  test('a Pod reaches itself through its Service', async () => {
    const [pod] = await namesOf(kubectl(), 'alone')
    const client = clientInPod(kubectl(), pod ?? '')
    const url = `http://${await clusterIpOf(kubectl(), 'alone')}/`
    const { failures, answers } = await client.connect({ kind: 'http', url, count: 5 })
    expect([failures, keysOf(answers)]).toEqual([{}, [pod]])
  })

  test('a client outside reaches every Pod at the node port of each node', async () => {
    const port = await nodePortOf(kubectl(), 'web')
    for (const { addresses } of cluster().nodes) {
      const url = `http://${addresses.v4}:${port}/`
      const { failures, answers } = await outside.connect({ kind: 'http', url, count: MANY })
      expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
    }
  })

  test('with externalTrafficPolicy Local only nodes with a Pod answer, and that sees the client', async () => {
    const port = await nodePortOf(kubectl(), 'local')
    const [pod] = await podsOf(kubectl(), 'alone')
    for (const { name, addresses } of cluster().nodes) {
      const url = `http://${addresses.v4}:${port}/`
      const attempt = { kind: 'http', url, count: 3, timeoutMs: SILENCE_MS } as const
      const { answers, sources } = await outside.connect(attempt)
      const isThere = pod?.spec.nodeName === name
      expect(keysOf(answers)).toEqual(isThere ? [pod.metadata.name] : [])
      if (isThere && mode !== 'userspace') expect(keysOf(sources)).toEqual([LAN.v4])
    }
  })

  test.each([
    ['the address of a load balancer', LOAD_BALANCER],
    ['an external IP', EXTERNAL],
  ])('a client outside reaches the Pods at %s', async (_, address) => {
    const url = `http://${address}/`
    const { failures, answers } = await outside.connect({ kind: 'http', url, count: MANY })
    expect([failures, keysOf(answers)]).toEqual([{}, await namesOf(kubectl(), 'web')])
  })

  test('with sessionAffinity a client stays with one Pod', async () => {
    const url = `http://${await clusterIpOf(kubectl(), 'sticky')}/`
    const { failures, answers } = await inPod.connect({ kind: 'http', url, count: 20 })
    expect([failures, keysOf(answers).length]).toEqual([{}, 1])
  })

  test('a Service without endpoints refuses at once, at its cluster IP and node port', async () => {
    const [host, port] = [
      await clusterIpOf(kubectl(), 'nobody'),
      await nodePortOf(kubectl(), 'nobody'),
    ]
    const attempt = { kind: 'http', count: 3 } as const
    const inside = await inPod.connect({ ...attempt, url: `http://${host}/` })
    const node = cluster().nodes[0]?.addresses.v4
    const beyond = await outside.connect({ ...attempt, url: `http://${node}:${port}/` })
    for (const { failures } of [inside, beyond]) expect(failures).toEqual({ ECONNREFUSED: 3 })
  })

  test('a Service without a selector leads where its Endpoints say', async () => {
    const url = `http://${await clusterIpOf(kubectl(), 'by-hand')}/`
    const { failures, answers } = await inPod.connect({ kind: 'http', url, count: 5 })
    const { metadata } = await podOn(kubectl(), 'client', 'node-2')
    expect([failures, keysOf(answers)]).toEqual([{}, [metadata.name]])
  })

  test('a Pod whose probe fails gets nothing, until it succeeds again', async () => {
    const [unready = '', ...others] = await namesOf(kubectl(), 'web')
    const url = `http://${await clusterIpOf(kubectl(), 'web')}/`
    const published = `http://${await clusterIpOf(kubectl(), 'unready-too')}/`
    const reached = async (at: string) => {
      const { failures, answers } = await inPod.connect({ kind: 'http', url: at, count: MANY })
      return [failures, keysOf(answers)]
    }
    const say = (ready: boolean) =>
      clientInPod(kubectl(), unready).connect({
        kind: 'http',
        url: `http://127.0.0.1:${PORT}/ready/${ready}`,
        method: 'PUT',
        count: 1,
      })
    await say(false)
    await expect.poll(() => reached(url)).toEqual([{}, others])
    expect(await reached(published)).toEqual([{}, [unready, ...others]])
    await say(true)
    await expect.poll(() => reached(url)).toEqual([{}, [unready, ...others]])
  })
})

async function makeWorkloads({ kubectl, nodes }: Cluster): Promise<void> {
  await kubectl.apply(
    programs(),
    servers('web', { replicas: 4 }),
    servers('alone'),
    serverOnEachNode('client'),
    service('web', 'web', { type: 'LoadBalancer', externalIPs: [EXTERNAL] }),
    service('web-udp', 'web', { ports: [{ protocol: 'UDP', port: 80, targetPort: PORT }] }),
    service('alone', 'alone'),
    service('local', 'alone', { type: 'NodePort', externalTrafficPolicy: 'Local' }),
    service('sticky', 'web', { sessionAffinity: 'ClientIP' }),
    service('nobody', 'nobody', { type: 'NodePort' }),
    service('unready-too', 'web', { publishNotReadyAddresses: true }),
    { ...service('by-hand', ''), spec: { ports: [{ port: 80, targetPort: PORT }] } },
  )
  for (const workload of ['deployment/web', 'deployment/alone', 'daemonset/client']) {
    await kubectl.rolledOut(workload)
  }
  const { status } = await podOn(kubectl, 'client', 'node-2')
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'by-hand' },
    subsets: [{ addresses: [{ ip: status.podIP }], ports: [{ port: PORT }] }],
  })
  await kubectl.replaceStatus('/api/v1/namespaces/default/services/web', (web) => {
    web.status = { loadBalancer: { ingress: [{ ip: LOAD_BALANCER }] } }
  })
  const via = nodes[0]?.addresses.v4
  await ip(
    '',
    [LOAD_BALANCER, EXTERNAL].map((address) => `route add ${address} via ${via}`),
  )
}
