import { beforeEach, expect, test } from 'vitest'
import { FakeTraces } from '../../kernel/testing/fake-traces.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { recordingLog } from '../testing/wiring.ts'
import { watchProxies } from './foreign-proxies.ts'

let clock: FakeClock
let traces: FakeTraces
let conditions: Conditions
let heldPorts: number[]
let lines: string[]
let stop: () => void

beforeEach(async () => {
  clock = new FakeClock()
  traces = new FakeTraces()
  heldPorts = []
  const recorded = recordingLog()
  lines = recorded.lines
  conditions = new Conditions({ log: recorded.log, metrics: createMetrics() })
  start()
})

function start(): void {
  stop?.()
  stop = watchProxies({
    traces,
    conditions,
    clock,
    log: recordingLog().log,
    families: [4, 6],
    heldPorts: () => heldPorts,
  })
}

/** The conditions after the next look. */
async function messages(): Promise<string> {
  await clock.advance(10_000)
  return conditions
    .current()
    .map(({ message }) => message)
    .join('\n')
}

test('a node without another proxy costs no search for processes, and nothing is said', async () => {
  expect(await messages()).toBe('')
  expect([traces.searches, lines]).toEqual([0, []])
})

test('the first look is at the start', async () => {
  traces.present.add('kube-ipvs0')
  start()
  await clock.advance(0)
  expect(conditions.current()).toMatchObject([{ blocksReadiness: false }])
})

test.each([
  [
    'chain KUBE-SERVICES in table nat of iptables-nft (IPv4)',
    'kube-proxy --cleanup',
    () => traces.chains.set('4/nat/KUBE-SERVICES', ['nft']),
  ],
  [
    'chain KUBE-SERVICES in table nat of iptables-legacy (IPv6)',
    'kube-proxy --cleanup',
    () => traces.chains.set('6/nat/KUBE-SERVICES', ['legacy']),
  ],
  [
    'table ip6 kube-proxy of nftables',
    'kube-proxy --cleanup',
    () => traces.nftTables.add('6/kube-proxy'),
  ],
  ['device kube-ipvs0', 'kube-proxy --cleanup', () => traces.present.add('kube-ipvs0')],
  [
    'device kube-dummy-if',
    'kube-router --cleanup-config',
    () => traces.present.add('kube-dummy-if'),
  ],
  [
    'chain KUBE-ROUTER-SERVICES in table filter of iptables-nft (IPv4)',
    '--run-service-proxy=false',
    () => traces.chains.set('4/filter/KUBE-ROUTER-SERVICES', ['nft']),
  ],
  ['device cilium_host', 'kubeProxyReplacement', () => traces.present.add('cilium_host')],
])('%s is named, with the remedy and the page', async (trace, remedy, appear) => {
  appear()
  const message = await messages()
  expect(message).toContain(trace)
  expect(message).toContain(remedy)
  expect(message).toContain('docs/operate/take-over.md')
  expect(message).not.toMatch(/\n/)
})

test('chains of network policies and of the kubelet are no Service proxy', async () => {
  traces.chains.set('4/filter/KUBE-ROUTER-INPUT', ['nft'])
  traces.chains.set('4/filter/KUBE-FIREWALL', ['nft'])
  traces.chains.set('4/mangle/KUBE-KUBELET-CANARY', ['nft'])
  expect(await messages()).toBe('')
})

test('it says whether the other proxy is at work', async () => {
  traces.chains.set('4/nat/KUBE-SERVICES', ['nft'])
  traces.running = [
    { name: 'kube-proxy', pid: 4711 },
    { name: 'kube-router', pid: 9 },
  ]
  expect(await messages()).toContain('kube-proxy, at work (pid 4711): ')
  traces.running = []
  heldPorts = [10_256]
  expect(await messages()).toContain('probably at work (another process holds port 10256)')
  heldPorts = []
  expect(await messages()).toContain('probably left behind (no process of it is visible from here)')
  expect(lines.filter((line) => line.startsWith('warn'))).toHaveLength(3)
})

test('it says so once, and when it is over', async () => {
  traces.chains.set('4/nat/KUBE-SERVICES', ['nft'])
  await messages()
  await messages()
  traces.chains.clear()
  expect(await messages()).toBe('')
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'info'])
})

test('a look that fails changes nothing, and the next one counts', async () => {
  traces.present.add('kube-ipvs0')
  await messages()
  const { devices } = traces
  traces.devices = () => Promise.reject(new Error('no answer'))
  expect(await messages()).toContain('kube-ipvs0')
  traces.devices = devices
  traces.present.clear()
  expect(await messages()).toBe('')
})

test('once stopped it looks no more', async () => {
  stop()
  traces.present.add('kube-ipvs0')
  expect(await messages()).toBe('')
})
