import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { OutgoingMessage } from '../netlink/message.ts'
import { errorMessage, FakeTransport, incoming } from '../netlink/testing/fake-transport.ts'
import { encodeCommand } from './commands.ts'
import { NetlinkNftables } from './netlink-nftables.ts'
import type { SetSpec, Table } from './objects.ts'

const TABLE: Table = { family: 4, name: 'np' }
const SPEC: SetSpec = { key: ['ipv4_addr'], data: ['ipv4_addr'] }
const ELEMENTS = [1, 2, 3].map((last) => ({
  key: Buffer.from([10, 0, 0, last]),
  data: Buffer.from([10, 0, 1, last]),
}))
/** The kernel's answers have the attributes of the commands that made the objects. */
const [SET] = encodeCommand(
  { do: 'addSet', table: TABLE, set: 'm', spec: SPEC },
  { next: 1 },
  () => SPEC,
) as [OutgoingMessage]
const [FOUND] = encodeCommand(
  { do: 'addElements', table: TABLE, set: 'm', elements: ELEMENTS },
  { next: 1 },
  () => SPEC,
) as [OutgoingMessage]

function rig() {
  const transport = new FakeTransport()
  const clock = new FakeClock()
  const nftables = new NetlinkNftables(transport.open, clock)
  const answer = (request: Buffer, message: OutgoingMessage) => {
    const seq = request.readUInt32LE(8)
    transport.receive(incoming(message, seq))
    transport.receive(errorMessage(seq, 0))
  }
  return { transport, clock, nftables, answer }
}

test('elements that were looked up are returned once, even if answers were lost and it was repeated', async () => {
  const { transport, clock, nftables, answer } = rig()
  let lookups = 0
  transport.onSend = (request) => {
    if (request[4] === 10) return answer(request, SET)
    if (lookups++ > 0) return answer(request, FOUND)
    transport.receive(incoming(FOUND, request.readUInt32LE(8)))
    transport.overrun()
  }
  const found = nftables.lookup(
    TABLE,
    'm',
    ELEMENTS.map(({ key }) => key),
  )
  await clock.advance(1_000)
  expect(await found).toEqual(ELEMENTS)
  expect(lookups).toBe(2)
})

test('commands without a message are no transaction, because nothing would end it', async () => {
  const { transport, nftables, answer } = rig()
  transport.onSend = (request) => answer(request, SET)
  const command = { do: 'addElements', table: TABLE, set: 'm', elements: [] } as const
  expect(await nftables.commit([command])).toBeUndefined()
  expect(await nftables.commit([])).toBeUndefined()
  expect(transport.sent.map((request) => request[4])).toEqual([10])
})
