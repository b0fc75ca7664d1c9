import { join } from 'node:path'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { nodeCommand } from '../../support/inspection/node-command.ts'
import { runOnNode } from '../../support/inspection/node-script.ts'
import { manifestFile, runPlan } from '../../support/inspection/plan-command.ts'
import { NODE_NAME } from '../../support/lab/plan.ts'
import { policyTables, putPod, putPolicy, tryConnecting } from '../../support/lab/policies.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { blockOf, blocksOf } from '../../support/pages/page-section.ts'

/** Enforcement beside what else is on a node, and the commands of its page. */
const PAGE = { page: 'network-policy.md' } as const
const lab = useLab({ api: 'real' })

const WEB = '10.0.0.21'
const CLIENT = '10.0.0.22'
const PORTS = [{ protocol: 'TCP' as const, port: 80 }]
const IS_OPEN = ['answered']
const IS_CLOSED = ['timeout']

beforeAll(async () => {
  await putPod(lab(), { key: 'shop/web', ips: [WEB], labels: { app: 'web' } })
  await putPod(lab(), { key: 'shop/client', ips: [CLIENT], labels: { app: 'client' } })
  await lab().serve({ ip: WEB, local: true, ports: PORTS })
  await putPolicy(lab(), 'shop/web-from-client', {
    podSelector: { matchLabels: { app: 'web' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'friend' } } }], ports: [] }],
  })
})

beforeEach(async () => {
  await configure({ enforce: 'auto' })
  await becomes(IS_CLOSED)
})

/** What the daemon was started with, or given last. */
let given: object = { enforce: 'auto' }

/** An equal configuration would not be read. */
async function configure(networkPolicy: object): Promise<void> {
  if (JSON.stringify(given) !== JSON.stringify(networkPolicy)) {
    await reconfigure(lab(), { networkPolicy })
  }
  given = networkPolicy
}

const connect = (from = CLIENT) => tryConnecting(lab(), { from, to: WEB, port: 80 })

async function becomes(outcome: readonly string[]): Promise<void> {
  await expect.poll(() => connect()).toEqual(outcome)
}

const status = async () => (await follow('Is it in force?'))[0]

/** Runs the blocks of a section of the page; answers what each printed. */
async function follow(heading: string): Promise<readonly string[]> {
  const printed: string[] = []
  for (const each of blocksOf(PAGE.page, heading, 'sh')) {
    printed.push(await runOnNode(lab(), `POD=${WEB}\n${each}`))
  }
  return printed
}

test('the page: which policies isolate a Pod', async () => {
  const [maps, chain] = await follow('Which policies isolate a Pod')
  expect(maps).toMatch(new RegExp(`${WEB} : goto ingress-pods-`))
  expect(chain).toMatch(/jump \S+[\s\S]*counter packets \d+ bytes \d+ drop/)
})

test('the page: what a policy admits, and whom a selector selects', async () => {
  await putPod(lab(), { key: 'shop/friend', ips: ['10.0.0.23'], labels: { app: 'friend' } })
  await expect.poll(() => connect('10.0.0.23')).toEqual(IS_OPEN)
  const [table] = await follow('What a policy admits, and whom a selector selects')
  expect(table).toMatch(/comment "[^"]*friend[^"]*"[\s\S]*elements = \{ 10\.0\.0\.23/)
})

test('the page: why a connection is refused', async () => {
  const command = blockOf('network-policy.md', 'Why a connection is refused', 0)
  const [shown = ''] = blocksOf(PAGE.page, 'Why a connection is refused', 'text')
  const said = await runOnNode(lab(), `${command.trim()} || echo "exit code $?"`)
  const withoutCounts = (text: string) =>
    text.replaceAll(/ingress-pods-[\w-]+/g, 'CHAIN').replaceAll(/packets \d+ bytes \d+/g, 'COUNT')
  expect(shown).toContain('NetworkPolicies refuse')
  expect(withoutCounts(said)).toContain(withoutCounts(shown.replace(/…\s*$/, '')))
  expect(said).toContain('exit code 1')
})

test('explain names the policies that refuse a connection, and the rule that drops it', async () => {
  const explained = async (from: string) => {
    const words = ['explain', from, `${WEB}:80`, '-o', 'json']
    return JSON.parse((await nodeCommand(lab(), ...words)).stdout) as object
  }
  const { observed, ...rest } = (await explained(CLIENT)) as { readonly observed: unknown }
  const refusal = { ip: WEB, port: 80, direction: 'ingress', policies: ['shop/web-from-client'] }
  expect(rest).toMatchObject({ differences: [], desired: { policyRefusals: [refusal] } })
  expect(observed).toEqual([
    expect.objectContaining({ kind: 'silent', probability: 1, refusedTo: { ip: WEB, port: 80 } }),
  ])
  const file = join(lab().folder, 'node.tar.gz')
  expect(await nodeCommand(lab(), 'record', file)).toMatchObject({ code: 0 })
  const words = ['explain', '--from', file, CLIENT, `${WEB}:80`, '-o', 'json']
  const recorded = JSON.parse((await nodeCommand(lab(), ...words)).stdout) as object
  expect(recorded).toMatchObject({ differences: [], desired: { policyRefusals: [refusal] } })
  await putPod(lab(), { key: 'shop/friend', ips: ['10.0.0.23'], labels: { app: 'friend' } })
  await expect
    .poll(() => explained('10.0.0.23'))
    .toMatchObject({ isWell: true, desired: { enforcesPolicies: true, policyRefusals: [] } })
})

test('a plan says whom a policy isolates, and whom its deletion frees', async () => {
  const deny = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'deny', namespace: 'shop' },
    spec: { podSelector: { matchLabels: { app: 'client' } }, policyTypes: ['Egress'] },
  }
  const client = { direction: 'egress', pod: 'shop/client', ip: CLIENT, before: [] }
  expect(await runPlan(lab(), '-f', manifestFile(lab(), deny))).toMatchObject({
    isolations: [{ ...client, after: ['shop/deny'] }],
  })
  const freed = {
    direction: 'ingress',
    pod: 'shop/web',
    before: ['shop/web-from-client'],
    after: [],
  }
  const deletion = ['--delete', 'networkpolicy/shop/web-from-client']
  expect(await runPlan(lab(), ...deletion)).toMatchObject({ isolations: [freed] })
  expect(await connect()).toEqual(IS_CLOSED)
})

test('the status shows what is enforced, and why nothing is', async () => {
  expect(await status()).toMatch(/^policies +1 policies isolate 1 addresses of pods$/m)
  await configure({ enforce: false })
  const why = /^policies +not enforced: networkPolicy\.enforce is false$/m
  await expect.poll(status).toMatch(why)
  const facts = JSON.parse((await nodeCommand(lab(), 'facts', '-o', 'json')).stdout) as object
  const policies = 'not enforced: networkPolicy.enforce is false'
  expect(facts).toMatchObject({ daemon: { policies } })
})

test('auto yields to another enforcer as long as it is there', async () => {
  const { node, daemon } = lab()
  await node.namespace.exec(['nft', 'add', 'table', 'inet', 'kube-network-policies'])
  await becomes(IS_OPEN)
  expect(await policyTables(lab())).toEqual([])
  expect(daemon.logs()).toContain('kube-network-policies (table inet kube-network-policies')
  await node.namespace.exec(['nft', 'delete', 'table', 'inet', 'kube-network-policies'])
  await becomes(IS_CLOSED)
})

test('true goes on beside another enforcer, and a condition names it', async () => {
  const { node, daemon } = lab()
  await configure({ enforce: true })
  await node.namespace.ip(['link add cilium_host type bridge'])
  const reason = 'nodeproxy_conditions{reason="foreign-policy-enforcer"}'
  await daemon.until('reporting Cilium', (samples) => samples.get(reason) === 1)
  expect(await connect()).toEqual(IS_CLOSED)
  await node.namespace.ip(['link del cilium_host'])
  await daemon.until('alone', (samples) => samples.get(reason) === 0)
})

test('with unknownPods deny an address of this node is closed until its Pod is known', async () => {
  const { api } = lab()
  const stranger = '10.0.0.29'
  const path = `/api/v1/nodes/${NODE_NAME}`
  const { spec } = JSON.parse((await api.request('GET', path)).body) as { spec: object }
  expect(spec).toMatchObject({ podCIDRs: ['10.180.0.0/24', 'fd00:10:180::/64'] })
  const unknown = '10.180.0.77'
  const known = '10.180.0.78'
  await putPod(lab(), { key: 'shop/known', ips: [known] })
  for (const ip of [unknown, known]) await lab().serve({ ip, local: true, ports: PORTS })
  const to = (ip: string) => () => tryConnecting(lab(), { from: stranger, to: ip, port: 80 })
  await expect.poll(to(unknown)).toEqual(IS_OPEN)
  await configure({ enforce: true, unknownPods: 'deny' })
  await expect.poll(to(unknown)).toEqual(IS_CLOSED)
  expect(await to(known)()).toEqual(IS_OPEN)
  await putPod(lab(), { key: 'shop/late', ips: [unknown] })
  await expect.poll(to(unknown)).toEqual(IS_OPEN)
})

test('--cleanup removes the tables', async () => {
  const { daemon } = lab()
  expect(await policyTables(lab())).toEqual(['ip', 'ip6'])
  await daemon.stop()
  expect(await policyTables(lab())).toEqual(['ip', 'ip6'])
  await daemon.once(['--cleanup'])
  expect(await policyTables(lab())).toEqual([])
  await daemon.start()
})
