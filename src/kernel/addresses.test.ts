import { expect, test } from 'vitest'
import type { Clock } from '../lib/clock.ts'
import { NetlinkAddresses } from './addresses.ts'
import { NLMSG_DONE } from './netlink/message.ts'
import { FakeTransport, incoming } from './netlink/testing/fake-transport.ts'
import { FakeAddresses } from './testing/fake-addresses.ts'

/** Bodies as the kernel sends them: lo and its addresses, a point-to-point link's own end. */
const LINK = '00000304010000004900010000000000070003006c6f0000'
const V4 = '020880fe01000000080001007f000001080002007f000001070003006c6f0000'
const V6 = '0a8080fe010000001400010000000000000000000000000000000001'
const PEER = '0220008007000000080001000a090002080002000a090001'

function setUp() {
  const timers: (() => void)[] = []
  const clock: Clock = {
    now: () => 0,
    after: (ms, task) => (ms === 100 && timers.push(task), () => undefined),
  }
  const transport = new FakeTransport()
  transport.onSend = (bytes) => {
    const seq = bytes.readUInt32LE(8)
    const links = bytes.readUInt16LE(4) === 18
    const bodies = links ? [LINK] : [PEER, V4, V6, V4]
    for (const body of bodies) {
      const payload = Buffer.from(body, 'hex')
      transport.receive(incoming({ type: links ? 16 : 20, flags: 2, payload }, seq))
    }
    transport.receive(incoming({ type: NLMSG_DONE, flags: 2, payload: Buffer.alloc(4) }, seq))
  }
  return { transport, timers, addresses: new NetlinkAddresses(transport.open, clock) }
}

test('every address is listed once, with its interface; of a point-to-point link the local one', async () => {
  const { addresses, transport } = setUp()
  expect(await addresses.list()).toEqual([
    { family: 4, ip: '127.0.0.1', scope: 'host', device: 'lo' },
    { family: 6, ip: '::1', scope: 'host', device: 'lo' },
    { family: 4, ip: '10.9.0.1', scope: 'global', device: '' },
  ])
  expect(transport.closed).toBe(true)
})

test('requests with the bytes of RTM_GETLINK and RTM_GETADDR', async () => {
  const { addresses, transport } = setUp()
  await addresses.list()
  expect(transport.sent.map((bytes) => bytes.toString('hex'))).toEqual([
    `20000000120001030100000000000000${'00'.repeat(16)}`,
    `18000000160001030200000000000000${'00'.repeat(8)}`,
  ])
})

test('several changes at once cause one call', () => {
  const { addresses, transport, timers } = setUp()
  let calls = 0
  const stop = addresses.watch(() => calls++)
  expect([...transport.groups]).toEqual([5, 9])
  const change = incoming({ type: 21, flags: 0, payload: Buffer.from(V4, 'hex') }, 0)
  transport.receive(Buffer.concat([change, change]))
  transport.overrun()
  transport.receive(incoming({ type: 16, flags: 0, payload: Buffer.from(LINK, 'hex') }, 0))
  expect(timers).toHaveLength(1)
  timers.pop()?.()
  expect(calls).toBe(1)
  transport.receive(change)
  expect(timers).toHaveLength(1)
  stop()
  expect(transport.closed).toBe(true)
})

test('the fake notifies its watchers', async () => {
  const addresses = new FakeAddresses()
  let calls = 0
  const stop = addresses.watch(() => calls++)
  addresses.set([])
  stop()
  addresses.set([])
  expect([calls, await addresses.list()]).toEqual([1, []])
})
