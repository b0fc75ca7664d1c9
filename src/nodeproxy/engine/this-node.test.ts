import { expect, test } from 'vitest'
import { cidr, ip } from '../../forwarding/testing/fixtures.ts'
import type { InterfaceAddress } from '../../kernel/addresses.ts'
import { FakeAddresses } from '../../kernel/testing/fake-addresses.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Node } from '../../resources/types.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { isEligible, LocalAddresses, nodeContext, nodeNameOf } from './this-node.ts'

function address(text: string, scope: InterfaceAddress['scope'] = 'global'): InterfaceAddress {
  return { family: text.includes(':') ? 6 : 4, ip: ip(text), device: 'eth0', scope }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

async function following(addresses: FakeAddresses) {
  const { log, lines } = recordingLog()
  const clock = new FakeClock()
  const local = new LocalAddresses({ addresses, clock, log })
  let changes = 0
  const stop = await local.follow(() => changes++)
  return { local, clock, stop, lines, changes: () => changes }
}

test('addresses count unless they are link-local', async () => {
  const fake = new FakeAddresses([
    address('192.0.2.1'),
    address('fe80::1', 'link'),
    address('127.0.0.1', 'host'),
  ])
  const { local } = await following(fake)
  expect(local.current).toEqual(['192.0.2.1', '127.0.0.1'])
})

test('only a relevant change is reported', async () => {
  const fake = new FakeAddresses([address('192.0.2.1')])
  const { local, stop, changes } = await following(fake)
  fake.set([address('192.0.2.1'), address('fe80::2', 'link')])
  await settled()
  expect(changes()).toBe(0)
  fake.set([address('192.0.2.1'), address('192.0.2.2')])
  await settled()
  expect([changes(), local.current]).toEqual([1, ['192.0.2.1', '192.0.2.2']])
  stop()
  fake.set([])
  await settled()
  expect(changes()).toBe(1)
})

test('addresses that cannot be read stay as they were', async () => {
  const fake = new FakeAddresses([address('192.0.2.1')])
  const { local, lines, changes } = await following(fake)
  fake.list = () => Promise.reject(new Error('interrupted'))
  fake.set([])
  await settled()
  expect([changes(), local.current]).toEqual([0, ['192.0.2.1']])
  expect(lines[0]).toContain('reading the addresses of this node failed')
})

test('a read that failed is tried again, until it is no longer followed', async () => {
  const fake = new FakeAddresses()
  const list = () => Promise.resolve([address('192.0.2.7')])
  fake.list = () => Promise.reject(new Error('interrupted'))
  const { local, clock, stop, changes } = await following(fake)
  await clock.advance(30_000)
  expect([changes(), local.current]).toEqual([0, []])
  fake.list = list
  await clock.advance(30_000)
  expect([changes(), local.current, clock.pending()]).toEqual([1, ['192.0.2.7'], []])
  fake.list = () => Promise.reject(new Error('interrupted'))
  fake.set([])
  await clock.advance(1_000)
  expect(clock.pending()).toHaveLength(1)
  stop()
  expect(clock.pending()).toEqual([])
})

test('a slow read is not overtaken by the one after it', async () => {
  const fake = new FakeAddresses([address('192.0.2.1')])
  const { local, changes } = await following(fake)
  const slow = Promise.withResolvers<readonly InterfaceAddress[]>()
  fake.list = () => slow.promise
  fake.set([])
  await settled()
  fake.list = () => Promise.resolve([address('192.0.2.3')])
  fake.set([])
  await settled()
  slow.resolve([address('192.0.2.2')])
  await settled()
  expect([changes(), local.current]).toEqual([2, ['192.0.2.3']])
})

const node: Node = {
  name: 'here',
  zone: 'a',
  addresses: [ip('192.0.2.1'), ip('2001:db8::1')],
  podCIDRs: [],
  leaving: false,
}

test('the name is that of the host unless the configuration has one', () => {
  expect(nodeNameOf(configuration(), 'Host.Example ')).toBe('host.example')
  expect(nodeNameOf(configuration({ hostnameOverride: 'node-1' }), 'host')).toBe('node-1')
})

test('a node gets traffic unless it is leaving or its object is gone', () => {
  const leaving = { ...node, leaving: true }
  expect(isEligible(undefined, undefined)).toBeUndefined()
  expect(isEligible(undefined, node)).toBe(true)
  expect(isEligible(node, leaving)).toBe(false)
  expect(isEligible(leaving, node)).toBe(true)
  expect(isEligible(node, undefined)).toBe(false)
})

test('its addresses are those of the object and of the interfaces, once each', () => {
  const local = [ip('192.0.2.1'), ip('198.51.100.1')]
  const context = nodeContext(configuration(), 'here', { node, local })
  expect(context.addresses).toEqual({ 4: ['192.0.2.1', '198.51.100.1'], 6: ['2001:db8::1'] })
  expect([context.zone, context.allowedExternalIPs, context.proxyName]).toEqual([
    'a',
    undefined,
    undefined,
  ])
})

test('the configuration limits external IPs and names the proxy', () => {
  const config = configuration({ allowedExternalIPs: [cidr('192.0.2.0/24')], proxyName: 'mine' })
  const context = nodeContext(config, 'here', { node: undefined, local: [] })
  expect(context).toMatchObject({ allowedExternalIPs: ['192.0.2.0/24'], proxyName: 'mine' })
})
