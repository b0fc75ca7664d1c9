import { expect, test } from 'vitest'
import { ip } from '../../forwarding/testing/fixtures.ts'
import type { InterfaceAddress } from '../../kernel/addresses.ts'
import { FakeAddresses } from '../../kernel/testing/fake-addresses.ts'
import { recordingLog } from '../testing/wiring.ts'
import { LocalAddresses } from './this-node.ts'

function address(text: string, scope: InterfaceAddress['scope'] = 'global'): InterfaceAddress {
  return { family: text.includes(':') ? 6 : 4, ip: ip(text), prefix: 24, device: 'eth0', scope }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

async function following(addresses: FakeAddresses) {
  const { log, lines } = recordingLog()
  const local = new LocalAddresses(addresses, log)
  let changes = 0
  const stop = await local.follow(() => changes++)
  return { local, stop, lines, changes: () => changes }
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
