import { expect, test } from 'vitest'
import { encodeMessage } from '../netlink/message.ts'
import { encodeCommand } from './commands.ts'
import { ObjectCollector } from './object-collector.ts'
import type { Command, SetSpec, Table } from './objects.ts'

const table: Table = { family: 4, name: 'np' }
const SPEC: SetSpec = { key: ['ipv4_addr'], data: ['ipv4_addr'] }
const OWN = 77
const element = { key: Buffer.from([10, 0, 0, 1]), data: Buffer.from([10, 0, 0, 2]) }

/** The kernel's notifications have the attributes of the commands, and the port of who sent these. */
function notifications(command: Command, port = 5): readonly Buffer[] {
  return encodeCommand(command, { next: 1 }, () => SPEC).map((message) => {
    const bytes = encodeMessage(message, 1)
    bytes.writeUInt32LE(port, 12)
    return bytes
  })
}

function collected(commands: readonly Command[], limit?: number, port?: number) {
  const collector = new ObjectCollector({
    table: 'np',
    exceptPort: OWN,
    ...(limit === undefined ? {} : { limit }),
  })
  for (const command of commands) {
    for (const message of notifications(command, port)) collector.add(message)
  }
  return collector
}

const chain = { table, kind: 'chain', name: 'c' }
const set = { table, kind: 'set', name: 's' }

test.each<[Command, unknown]>([
  [
    { do: 'addTable', table },
    { table, kind: 'table' },
  ],
  [
    { do: 'deleteTable', table },
    { table, kind: 'table' },
  ],
  [{ do: 'addChain', table, chain: 'c' }, chain],
  [{ do: 'deleteChain', table, chain: 'c' }, chain],
  [{ do: 'addRule', table, chain: 'c', rule: { expressions: [{ type: 'counter' }] } }, chain],
  [{ do: 'flushChain', table, chain: 'c' }, chain],
  [{ do: 'addSet', table, set: 's', spec: SPEC }, set],
  [{ do: 'deleteSet', table, set: 's' }, set],
  [
    { do: 'addElements', table, set: 's', elements: [element] },
    { table, kind: 'element', set: 's', element },
  ],
  [
    { do: 'deleteElements', table, set: 's', elements: [{ key: element.key }] },
    { table, kind: 'element', set: 's', element: { key: element.key } },
  ],
])('$0.do is a change of what it names', (command, touched) => {
  expect(collected([command]).take()).toEqual([touched])
})

test('both families are heard, and no other table', () => {
  const six: Table = { family: 6, name: 'np' }
  const commands: Command[] = [
    { do: 'addChain', table: six, chain: 'c' },
    { do: 'addChain', table: { family: 4, name: 'other' }, chain: 'c' },
  ]
  expect(collected(commands).take()).toEqual([{ ...chain, table: six }])
})

test('the own socket is not heard', () => {
  expect(collected([{ do: 'addTable', table }], undefined, OWN).take()).toEqual([])
})

test('each element of a message is one object', () => {
  const keys = [1, 2, 3].map((last) => ({ ...element, key: Buffer.from([10, 0, 0, last]) }))
  const taken = collected([{ do: 'addElements', table, set: 's', elements: keys }]).take()
  expect(taken).toHaveLength(3)
})

test('a transaction of more objects than the limit is unknown, the next one is not', () => {
  const chains = ['a', 'b', 'c'].map((name): Command => ({ do: 'addChain', table, chain: name }))
  expect(collected(chains, 3).take()).toHaveLength(3)
  const collector = collected(chains, 2)
  expect(collector.take()).toBe('unknown')
  expect(collector.take()).toEqual([])
})

test('what was taken is not taken again', () => {
  const collector = collected([{ do: 'addTable', table }])
  collector.take()
  expect(collector.take()).toEqual([])
})
