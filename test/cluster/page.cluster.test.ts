import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { cgroupOf, removeCgroups } from '../support/apart/scratch.ts'
import { blockOf } from '../support/pages/page-section.ts'
import { ARCHIVES } from './images/images.ts'
import { type AdministeredMachine, administeredMachines } from './lab/administered-machine.ts'
import { openNetwork } from './lab/network.ts'
import { CONTROL_NAME, nodeAddresses } from './lab/plan.ts'
import { clusterFiles } from './lab/surroundings.ts'

/** The commands of docs/operate/cluster.md on machines without a cluster, in the order of the page. */
const MINUTES = 60_000
const NAMES = [CONTROL_NAME, 'node-1', 'node-2'] as const
type NodeName = 'node-1' | 'node-2'
/** A kubelet renews its certificates while these tests run. */
const LIFE = '3m'
const SERVES = `curl -sfk https://${nodeAddresses(CONTROL_NAME).v4}:6443/readyz`

const held = new AsyncDisposableStack()
let machines: Readonly<Record<(typeof NAMES)[number], AdministeredMachine>>

beforeAll(async () => {
  const files = clusterFiles()
  held.defer(() => removeCgroups(cgroupOf(files.scratch)))
  held.use(await openNetwork())
  const made = await administeredMachines(files, NAMES, {
    containerd: { ready: 'ctr version' },
    kubelet: {},
    'node-proxy': { ready: 'curl -sf 127.0.0.1:10256/readyz' },
    'orch-server': { flags: `--cluster-signing-duration=${LIFE}`, ready: SERVES },
  })
  machines = held.use(made).of
}, 5 * MINUTES)
let isBroken = false
beforeEach(({ onTestFailed, skip }) => {
  skip(isBroken, 'it needs what the tests before made')
  onTestFailed(() => {
    isBroken = true
    for (const machine of Object.values(machines)) process.stderr.write(`${machine.logs()}\n`)
  })
})
afterAll(() => held.disposeAsync())

/** Runs a block on a machine, in the shell that the page prepares there for one node. */
function run(node: NodeName, name: (typeof NAMES)[number], block: string): Promise<string> {
  const second = node === 'node-2' ? blockOf('cluster.md', 'A second node', 0) : ''
  return machines[name].run(`${blockOf('cluster.md', 'The shell', 0)}${second}${block}`)
}

const onControl = (block: string, node: NodeName = 'node-1') => run(node, CONTROL_NAME, block)
const onNode = (block: string, node: NodeName = 'node-1') => run(node, node, block)

test('a control plane', { timeout: 5 * MINUTES }, async () => {
  const services = await onControl(blockOf('cluster.md', 'The control plane', 0))
  expect(services).toMatch(/^kubernetes +ClusterIP +10\.96\.0\.1 /m)
})

test('a node joins', { timeout: 10 * MINUTES }, async () => {
  expect(await joins('node-1')).toMatch(/ bootstrap-node-1 .* Approved,Issued$/m)
})

test('node-proxy serves', { timeout: 5 * MINUTES }, async () => {
  expect(JSON.parse(await serves('node-1'))).toMatchObject({ ready: true })
})

test('orch-dns runs', { timeout: 5 * MINUTES }, async () => {
  expect(await hasNames('node-1')).toContain('pod/cluster-dns-node-1 condition met')
})

test('a Service answers by its name', { timeout: 5 * MINUTES }, async () => {
  expect(await answer('node-1')).toBe('web-node-1')
})

test('a second node', { timeout: 15 * MINUTES }, async () => {
  expect(await joins('node-2')).toMatch(/ bootstrap-node-2 .* Approved,Issued$/m)
  await serves('node-2')
  await onNode(blockOf('cluster.md', 'A second node', 1), 'node-1')
  await onNode(blockOf('cluster.md', 'A second node', 2), 'node-2')
  await hasNames('node-2')
  await answer('node-2')
  for (const node of ['node-1', 'node-2'] as const) {
    const seen = new Set<string>()
    await expect.poll(async () => seen.add(await ask(node)).size, { timeout: 2 * MINUTES }).toBe(2)
    expect([...seen].toSorted()).toEqual(['web-node-1', 'web-node-2'])
  }
})

test('a client certificate is renewed while the kubelet runs', {
  timeout: 10 * MINUTES,
}, async () => {
  const shown = () => onNode(blockOf('cluster.md', 'A client certificate is renewed', 0))
  const pid = await onNode('cat /run/units/kubelet.pid')
  const before = await shown()
  expect(before).toMatch(/^subject=.*CN = system:node:node-1\b/m)
  await expect.poll(shown, { timeout: 5 * MINUTES, interval: 2_000 }).not.toBe(before)
  expect(await onNode('cat /run/units/kubelet.pid')).toBe(pid)
  const requests = await onControl(blockOf('cluster.md', 'A client certificate is renewed', 1))
  expect(requests).toMatch(/ system:node:node-1 .* Approved,Issued$/m)
  await isReady('node-1')
})

test('a node joins again with a new key', { timeout: 10 * MINUTES }, async () => {
  const users = "-o jsonpath='{.items[?(@.status.certificate)].spec.username}'"
  const joined = async () => {
    const all = await onControl(`kubectl get certificatesigningrequests ${users}`)
    return all.split(' ').filter((user) => user === 'bootstrap-node-1').length
  }
  expect(await joined()).toBe(1)
  await onControl(blockOf('cluster.md', 'A client certificate is renewed', 2))
  await onNode(blockOf('cluster.md', 'A client certificate is renewed', 3))
  await expect.poll(joined).toBe(2)
  await isReady('node-1')
  await expect.poll(() => ask('node-1').catch(String)).toMatch(/^web-node-/)
})

test('kubelets serve with certificates of the cluster', { timeout: 10 * MINUTES }, async () => {
  for (const node of ['node-1', 'node-2'] as const) {
    await onNode(blockOf('cluster.md', 'A serving certificate of the cluster', 0), node)
    const shown = await onControl(
      blockOf('cluster.md', 'A serving certificate of the cluster', 1),
      node,
    )
    expect(shown).toContain('Verify return code: 0 (ok)')
    expect(shown).toMatch(new RegExp(` system:node:${node} .* Approved,Issued$`, 'm'))
  }
  await onControl(blockOf('cluster.md', 'A serving certificate of the cluster', 2))
  expect(await ask('node-2')).toMatch(/^web-node-/)
})

test('a node is removed', { timeout: 10 * MINUTES }, async () => {
  await onControl(blockOf('cluster.md', 'Remove a node', 0), 'node-2')
  await onNode(blockOf('cluster.md', 'Remove a node', 1), 'node-2')
  const left = await onControl(blockOf('cluster.md', 'Remove a node', 2), 'node-2')
  expect(left).toMatch(/^node-1 +Ready /m)
  expect(left).not.toMatch(/^node-2 /m)
  expect(await onNode('iptables-save; ctr -n k8s.io tasks ls -q', 'node-2')).not.toMatch(
    /NPROXY|\w{64}/,
  )
  for (let asked = 0; asked < 20; asked += 1) expect(await ask('node-1')).toBe('web-node-1')
})

async function joins(node: NodeName): Promise<string> {
  // Debian starts it when it is installed; the image of the sandboxes of Pods would come from a registry.
  const image = join(clusterFiles().images, ARCHIVES.test)
  await onNode(`systemctl start containerd\nctr -n k8s.io images import ${image}`, node)
  await onNode(blockOf('cluster.md', 'A node', 0), node)
  await onControl(blockOf('cluster.md', 'A node', 1), node)
  await onNode(blockOf('cluster.md', 'A node', 2), node)
  return await onControl(blockOf('cluster.md', 'A node', 3), node)
}

async function serves(node: NodeName): Promise<string> {
  await onControl(blockOf('cluster.md', 'Services', 0), node)
  return await onNode(blockOf('cluster.md', 'Services', 1), node)
}

async function hasNames(node: NodeName): Promise<string> {
  await onNode(blockOf('cluster.md', 'Names', 0), node)
  return await onControl(blockOf('cluster.md', 'Names', 1), node)
}

async function answer(node: NodeName): Promise<string> {
  await onControl(blockOf('cluster.md', 'The first Service', 0), node)
  return await ask(node)
}

async function ask(node: NodeName): Promise<string> {
  return (await onControl(blockOf('cluster.md', 'The first Service', 1), node)).trim()
}

async function isReady(node: NodeName): Promise<void> {
  const shown = () => onControl(`kubectl get node ${node}`)
  await expect.poll(shown).toMatch(/ Ready /)
}
