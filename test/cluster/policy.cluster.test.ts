import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../support/on-demand/root.ts'
import { type Client, clientInPod } from './lab/clients.ts'
import type { Cluster } from './lab/cluster.ts'
import { installDns } from './lab/cluster-dns.ts'
import type { Kubectl } from './lab/kubectl.ts'
import { clusterIpOf, keysOf, namesOf, podOn, podsOf } from './lab/lookups.ts'
import { changeMode, ENFORCING, installNodeProxy, MODES } from './lab/node-proxy.ts'
import { eventually } from './lab/programs.ts'
import { useCluster } from './lab/use-cluster.ts'
import { PORT, programs, serverOnEachNode, servers, service } from './lab/workloads.ts'

const MINUTES = 60_000
const FRIENDS = 'friends'
/** Milliseconds without an answer that count as silence; answers come within some ten. */
const SILENCE_MS = 1_500
const MANY = 20

/** NetworkPolicies between Pods of real kubelets, with the probes that these make. */
const cluster = useCluster(2, async (made) => {
  const rights = join(root, 'config/kubernetes/components/network-policy/rbac.yaml')
  await made.kubectl.run(['apply', '-f', rights])
  await installNodeProxy(made, MODES[0], ENFORCING)
  await installDns(made)
  await makeWorkloads(made)
})

const kubectl = (): Kubectl => cluster().kubectl
/** A Pod of the namespace of `web`, and one of another namespace, on the first node. */
let own: Client
let friend: Client
let address: string

beforeAll(async () => {
  const { metadata } = await podOn(kubectl(), 'client', 'node-1')
  own = clientInPod(kubectl(), metadata.name)
  const [visitor] = await namesOf(kubectl(), 'visitor', FRIENDS)
  friend = clientInPod(kubectl(), visitor ?? '', FRIENDS)
  address = await clusterIpOf(kubectl(), 'web')
})

afterEach(async () => {
  await kubectl().run(['delete', 'networkpolicies', '--all'])
  await becomes('nothing is isolated', () => isReached(own))
})

describe.each(MODES.filter((mode) => mode !== 'userspace'))('in %s mode', (mode) => {
  beforeAll(async () => void (await changeMode(cluster(), mode, ENFORCING)), 5 * MINUTES)

  test('a Pod under a policy without rules gets nothing but the probes of its kubelet', async () => {
    await kubectl().apply(policy('closed', { podSelector: { matchLabels: { app: 'web' } } }))
    await becomes('the policy is in force', async () => !(await isReached(own)))
    await expectSilence(own)
    await expectSilence(friend)
    for (const { status } of await podsOf(kubectl(), 'web')) {
      await expectSilence(own, `http://${status.podIP}:${PORT}/`)
    }
    await kubectl().ready(await namesOf(kubectl(), 'web'))
  })

  test('a policy admits Pods by their labels, and those of another namespace by its labels', async () => {
    const from = (peer: object) => [{ from: [peer], ports: [{ port: PORT }] }]
    const web = { matchLabels: { app: 'web' } }
    const clients = { podSelector: { matchLabels: { app: 'client' } } }
    await kubectl().apply(policy('web', { podSelector: web, ingress: from(clients) }))
    await becomes('the policy is in force', async () => !(await isReached(friend)))
    await expectAnswers(own)
    await expectSilence(friend)
    const friends = { namespaceSelector: { matchLabels: { access: 'web' } } }
    await kubectl().apply(policy('web', { podSelector: web, ingress: from(friends) }))
    await becomes('the other policy is in force', async () => !(await isReached(own)))
    await expectSilence(own)
    await expectAnswers(friend)
  })

  test('a Pod that may ask for names alone reaches nothing else', async () => {
    // The port of the Pods of cluster-dns, which is not the 53 of their Service.
    const dns = { to: [{ namespaceSelector: {} }], ports: [{ port: 'dns', protocol: 'UDP' }] }
    const podSelector = { matchLabels: { app: 'client' } }
    await kubectl().apply(policy('names', { podSelector, policyTypes: ['Egress'], egress: [dns] }))
    await becomes('the policy is in force', async () => !(await isReached(own)))
    expect(await own.resolve({ name: 'web.default' })).toEqual([address])
    await expectSilence(own)
    await expectAnswers(friend)
  })

  test(
    'while Pods under a policy are replaced, none of them is reached by whom it does not admit',
    async () => {
      const podSelector = { matchLabels: { app: 'web' } }
      const clients = { podSelector: { matchLabels: { app: 'client' } } }
      await kubectl().apply(policy('web', { podSelector, ingress: [{ from: [clients] }] }))
      await becomes('the policy is in force', async () => !(await isReached(friend)))
      const before = await namesOf(kubectl(), 'web')
      const requests = { kind: 'http', url: `http://${address}/` } as const
      let after: readonly string[] = []
      let admitted: readonly string[] = []
      const refused = await friend.during(
        { ...requests, everyMs: 20, timeoutMs: SILENCE_MS },
        async () => {
          const { answers } = await own.during({ ...requests, everyMs: 50 }, async () => {
            await kubectl().run(['rollout', 'restart', 'deployment/web'])
            await kubectl().rolledOut('deployment/web')
            after = await namesOf(kubectl(), 'web')
            await becomes('each new Pod answers whom it admits', async () => {
              const found = keysOf((await own.connect({ ...requests, count: MANY })).answers)
              return after.every((name) => found.includes(name))
            })
          })
          admitted = keysOf(answers)
        },
      )
      process.stderr.write(
        `cluster: Pods replaced under a policy in ${mode} mode: ${refused.attempts} connections that it does not admit, answered: ${JSON.stringify(refused.answers)}\n`,
      )
      expect(refused.answers).toEqual({})
      expect(refused.attempts).toBeGreaterThan(100)
      expect(after).toHaveLength(before.length)
      expect(after.filter((name) => before.includes(name))).toEqual([])
      expect(admitted.some((name) => after.includes(name))).toBe(true)
    },
    10 * MINUTES,
  )
})

function becomes(what: string, probe: () => Promise<boolean>): Promise<boolean> {
  return eventually(what, probe, { timeoutMs: MINUTES })
}

async function isReached(client: Client): Promise<boolean> {
  const task = { kind: 'http', url: `http://${address}/`, count: 1, timeoutMs: SILENCE_MS } as const
  const { answers } = await client.connect(task)
  return keysOf(answers).length > 0
}

async function expectAnswers(client: Client): Promise<void> {
  const { failures } = await client.connect({
    kind: 'http',
    url: `http://${address}/`,
    count: MANY,
  })
  expect(failures).toEqual({})
}

/** Three connections get no answer and no refusal. */
async function expectSilence(client: Client, url = `http://${address}/`): Promise<void> {
  const { failures } = await client.connect({ kind: 'http', url, count: 3, timeoutMs: SILENCE_MS })
  expect(failures).toEqual({ ABORT_ERR: 3 })
}

function policy(name: string, spec: object): object {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name }, spec }
}

async function makeWorkloads({ kubectl: api }: Cluster): Promise<void> {
  await api.apply({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: FRIENDS, labels: { access: 'web' } },
  })
  await api.apply(
    programs(),
    servers('web', { replicas: 2 }),
    serverOnEachNode('client'),
    service('web', 'web'),
    ...[programs(), servers('visitor')].map((object) => inNamespace(FRIENDS, object)),
  )
  for (const workload of ['deployment/web', 'daemonset/client']) await api.rolledOut(workload)
  await api.rolledOut('deployment/visitor', FRIENDS)
}

function inNamespace(namespace: string, object: { metadata?: object }): object {
  return { ...object, metadata: { ...object.metadata, namespace } }
}
