import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Deployment, deploy, objectsOf } from '../support/flows/deploy.ts'
import { KEEPALIVED, KEEPALIVED_SERVERS, startKeepalived } from '../support/ipvs/keepalived.ts'
import { virtualServer, weights } from '../support/ipvs/table.ts'
import { backendProgram, type ProxyConfig } from '../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { sumOf } from '../support/lab/metrics.ts'
import { netState } from '../support/lab/net-state.ts'

/** Virtual servers, sets, rules and routes of others are theirs. */
vi.setConfig({ testTimeout: 300_000 })
let lab: Lab
beforeEach(async () => {
  lab = await createLab()
})
afterEach(() => lab.close())

const VIP = '172.30.43.1'

const SERVICE: Deployment = {
  key: 'ns/ours',
  clusterIP: VIP,
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.2', node: 'far' }],
  ports: [{ name: '', port: 80, nodePort: 30080 }],
  spec: {
    type: 'LoadBalancer',
    sessionAffinity: 'ClientIP',
    externalTrafficPolicy: 'Local',
    externalIPs: ['198.51.100.9'],
    loadBalancerSourceRanges: ['203.0.113.0/24'],
  },
  ingress: [{ ip: '1.2.3.9' }],
}
/** Only a ClusterIP and one more address. */
const PLAIN: Deployment = {
  key: 'ns/plain',
  clusterIP: VIP,
  endpoints: SERVICE.endpoints,
  spec: { externalIPs: ['198.51.100.9'] },
}
const SERVICE_V6: Deployment = {
  key: 'ns/ours-v6',
  clusterIP: 'fd00:172:30::43:1',
  endpoints: [{ ip: 'fd00:10::180:1' }],
}

async function start(config: ProxyConfig = {}): Promise<void> {
  await lab.daemon.start({ config })
  await lab.daemon.synced()
}

const ipvsadm = (...args: readonly string[]) => lab.node.namespace.exec(['ipvsadm', ...args])

async function reachedBackends(destination: string): Promise<ReadonlySet<string>> {
  const source = '203.0.113.2'
  const { agent } = await lab.site('outside', source)
  const request = { protocol: 'TCP', source, destination, port: 80, attempts: 12 } as const
  const outcomes = await agent.call('connect', request)
  return new Set(outcomes.map((each) => (each.kind === 'answered' ? each.name : each.kind)))
}

/** Virtual servers as `ipvsadm -Sn` prints them, without those of `except`. */
async function tableWithout(...except: readonly string[]): Promise<readonly string[]> {
  const lines = (await ipvsadm('-Sn')).split('\n').filter((line) => line !== '')
  return lines.filter((line) => !except.some((text) => line.includes(` ${text} `))).toSorted()
}

test('keepalived serves on through start, sync, restart and --cleanup', async () => {
  const keepalived = await startKeepalived(lab, backendProgram('iptables'))
  const theirs = new Set(KEEPALIVED.backends.map((ip) => `${ip}:80`))
  const expectTheirs = async () => {
    const state = await netState(lab.node)
    expect(state.filter((line) => KEEPALIVED_SERVERS.includes(line))).toEqual(KEEPALIVED_SERVERS)
    expect(await reachedBackends(KEEPALIVED.address)).toEqual(theirs)
    expect(await reachedBackends(KEEPALIVED.marked)).toEqual(theirs)
  }
  await expectTheirs()
  const before = await netState(lab.node)
  const source = '203.0.113.2'
  const client = { protocol: 'TCP', source, destination: KEEPALIVED.address, port: 80 } as const
  const { agent } = await lab.site('outside', source)
  const held = await agent.call('holdOpen', { ...client, count: 4, everyMs: 100 })
  const load = await agent.call('loadStart', { ...client, intervalMs: 20, timeoutMs: 900 })
  await start()
  await deploy(lab, SERVICE)
  await deploy(lab, SERVICE_V6)
  expect(await virtualServer(lab.node, `TCP ${VIP}:80`)).toBeDefined()
  await expectTheirs()
  await lab.daemon.kill()
  await start()
  await lab.api.remove('Service', SERVICE_V6.key)
  await lab.daemon.synced()
  await expectTheirs()
  await lab.daemon.stop()
  await lab.daemon.once(['--cleanup'])
  expect(await netState(lab.node)).toEqual(before)
  await expectTheirs()
  const report = await agent.call('loadStop', load)
  expect([report.failed, report.failures]).toEqual([0, []])
  expect(await agent.call('holdCheck', { id: held.id })).toMatchObject({ lost: [], refused: [] })
  keepalived.signal('SIGTERM')
  await keepalived.ended
})

test('--cleanup after SIGKILL removes every trace, with connections open, and nothing else', async () => {
  for (const command of FOREIGN) await lab.node.namespace.exec(command.split(' '))
  const before = await netState(lab.node)
  await start()
  await deploy(lab, SERVICE)
  await deploy(lab, SERVICE_V6)
  const { agent } = await lab.site('pod', '10.0.0.2')
  const client = { protocol: 'TCP', source: '10.0.0.2', destination: VIP, port: 80 } as const
  const { alive } = await agent.call('holdOpen', { ...client, count: 2, everyMs: 100 })
  expect(Object.values(alive)).toEqual([2])
  const during = await netState(lab.node)
  expect(during).toEqual(expect.arrayContaining([...before]))
  expect(during.length).toBeGreaterThan(before.length + 20)
  await lab.daemon.kill()
  expect(await netState(lab.node)).toEqual(during)
  await lab.daemon.once(['--cleanup'])
  expect(await netState(lab.node)).toEqual(before)
  await lab.daemon.once(['--cleanup'])
  expect(await netState(lab.node)).toEqual(before)
})

/** Other people's, with names, numbers and addresses that resemble ours. */
const FOREIGN = [
  'ipvsadm -A -t 172.30.43.77:80 -s rr',
  'ipvsadm -a -t 172.30.43.77:80 -r 10.180.2.77:80 -m',
  'ipvsadm -A -u [fd00:172:30::43:77]:53 -s sh -b sh-fallback',
  'ipvsadm -A -f 16384 -s rr',
  'ipvsadm -A -f 4096 -6 -s wlc',
  'ipset create npvs-4-SERVICES hash:ip,port',
  'ipset add npvs-4-SERVICES 172.30.43.77,tcp:80',
  'iptables-legacy -t mangle -N MY-NPVS-ROUTE',
  'iptables-legacy -t mangle -A PREROUTING -j MY-NPVS-ROUTE',
  'ip6tables-legacy -t filter -A FORWARD -d fd00:172:30::43:77 -j ACCEPT',
  'ip rule add fwmark 0x10/0x10 lookup 28273 priority 6',
  'ip route add local 172.30.43.77 dev lo table 28273',
  'ip -6 rule add fwmark 0x10/0x10 lookup 28273 priority 6',
]

test('a foreign virtual server at a Service’s address is left alone, and replaced when it goes', async () => {
  await ipvsadm('-A', '-t', `${VIP}:80`, '-s', 'wlc')
  await ipvsadm('-a', '-t', `${VIP}:80`, '-r', '10.180.2.99:80', '-m', '-w', '5')
  await start()
  const theirs = await tableWithout()
  for (const { ip, node } of SERVICE.endpoints) {
    await lab.serve({ ip, local: node === undefined, ports: [{ protocol: 'TCP', port: 80 }] })
  }
  await lab.api.apply(...objectsOf(PLAIN))
  const refusals = async () =>
    sumOf(await lab.daemon.metrics(), 'nodeproxy_apply_failures_total', { code: 'NP_IPVS_FOREIGN' })
  await expect.poll(refusals).toBeGreaterThan(0)
  const errors = async () =>
    sumOf(await lab.daemon.metrics(), 'nodeproxy_entries', { status: 'Error' })
  await expect.poll(errors).toBe(1)
  expect(lab.daemon.logs()).toMatch(/NP_IPVS_FOREIGN.*172\.30\.43\.1/)
  await expect.poll(() => virtualServer(lab.node, 'TCP 198.51.100.9:80')).toBeDefined()
  expect(await tableWithout('198.51.100.9:80')).toEqual(theirs)
  await lab.daemon.kill()
  await lab.daemon.once(['--cleanup'])
  expect(await tableWithout()).toEqual(theirs)
  await lab.daemon.start()
  await expect.poll(refusals).toBeGreaterThan(0)
  await ipvsadm('-D', '-t', `${VIP}:80`)
  await expect
    .poll(() => weights(lab.node, `TCP ${VIP}:80`))
    .toEqual({ '10.180.0.1:80': 1, '10.180.2.2:80': 1 })
  await expect.poll(errors).toBe(0)
})

test('excludeCIDRs: nothing is made, changed or removed there', async () => {
  await ipvsadm('-A', '-t', `${VIP}:80`, '-s', 'wlc')
  await ipvsadm('-a', '-t', `${VIP}:80`, '-r', '10.180.2.99:80', '-m', '-w', '5')
  const theirs = await tableWithout()
  await start({ ipvs: { excludeCIDRs: ['172.30.43.0/28'] } })
  const inside = { ...PLAIN, spec: {} }
  await deploy(lab, inside)
  await deploy(lab, { ...inside, key: 'ns/inside-too', clusterIP: '172.30.43.2' })
  expect(await tableWithout()).toEqual(theirs)
  await deploy(lab, { ...inside, key: 'ns/outside', clusterIP: '172.30.43.200' })
  expect(await virtualServer(lab.node, 'TCP 172.30.43.200:80')).toBeDefined()
  const metrics = await lab.daemon.metrics()
  expect(sumOf(metrics, 'nodeproxy_apply_failures_total')).toBe(0)
  await lab.daemon.stop()
  await lab.daemon.once(['--cleanup'])
  expect(await tableWithout()).toEqual(theirs)
})
