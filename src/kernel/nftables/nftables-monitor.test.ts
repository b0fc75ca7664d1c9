import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Clock } from '../../lib/clock.ts'
import { encodeAttribute } from '../netlink/attribute.ts'
import { FakeTransport, incoming } from '../netlink/testing/fake-transport.ts'
import { ChainCollector, GenerationCollector } from './generation-collector.ts'
import { NftablesMonitor, type NftablesMonitorOptions } from './nftables-monitor.ts'
import type { RuleChange, TouchedChain } from './rule-monitor.ts'

/** Captured: iptables creates table nat, chain NP-A and a rule, whose expressions are cut off. */
const CAPTURED = [
  '30000000000a0004020000000d5f000002000002080001006e61740008000300000000010c0004000000000000000001',
  '3c000000030a0002030000000d5f000002000002080001006e617400090003004e502d41000000000c0002000000000000000001' +
    '0800060000000001',
  '30000000060a000c050000000d5f000002000002080001006e617400090002004e502d41000000000c0003000000000000000002',
]
const CAPTURED_GENERATION =
  '380000000f0a0000020000000d5f00000000000208000100000000020800020000005f0d14000300' +
  '69707461626c65732d6e66742d726500'

const text = (type: number, value: string) => encodeAttribute(type, Buffer.from(`${value}\0`))
const number = (type: number, value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return encodeAttribute(type, bytes)
}
const nft = (type: number, family: number, ...attributes: Buffer[]) => ({
  type: 0x0a00 | type,
  flags: 0,
  payload: Buffer.concat([Buffer.from([family, 0, 0, 0]), ...attributes]),
})
const rule = (chain: string, table = 'nat', family = 2) =>
  incoming(nft(6, family, text(1, table), text(2, chain), number(4, 7)), 1, 9)
const generation = (id: number, pid: number, port = pid, seq = 1) =>
  incoming(nft(15, 0, number(1, id), number(2, pid), text(3, 'iptables')), seq, port)

function setUp(options: Partial<NftablesMonitorOptions<TouchedChain>> = {}) {
  const timers: (() => void)[] = []
  const clock: Clock = { now: () => 0, after: (_, task) => (timers.push(task), () => undefined) }
  const transport = new FakeTransport()
  const monitor = new NftablesMonitor(transport.open, {
    clock,
    collector: new ChainCollector(),
    ...options,
  })
  const changes: RuleChange[] = []
  const stop = monitor.start((change) => changes.push(change))
  let current = 100
  const answer = () => {
    const seq = transport.sent.at(-1)?.readUInt32LE(8) ?? 0
    transport.receive(generation(current, 1, transport.port, seq))
  }
  transport.onSend = answer
  const commit = (pid: number, ...chains: string[]) => {
    const messages = chains.map((chain) => rule(chain))
    if (!transport.groups.has(7)) current++
    else transport.receive(Buffer.concat([...messages, generation(++current, pid)]))
  }
  return { transport, monitor, changes, stop, timers, commit, answer }
}

test('reads a captured transaction', () => {
  const { transport, changes } = setUp()
  for (const hex of [...CAPTURED, CAPTURED_GENERATION]) transport.receive(Buffer.from(hex, 'hex'))
  expect(changes).toEqual([
    {
      touched: [
        { family: 4, table: 'nat', chain: undefined },
        { family: 4, table: 'nat', chain: 'NP-A' },
      ],
      by: { pid: 24_333, process: 'iptables-nft-re' },
      generation: 2,
    },
  ])
})

test('requests the generation with the bytes of NFT_MSG_GETGEN', () => {
  const { transport, monitor } = setUp()
  monitor.hold()
  expect(transport.sent[0]?.toString('hex')).toBe('14000000100a0100010000000000000000000000')
})

test('names each chain once, of both families, and leaves other families out', () => {
  const { transport, changes } = setUp()
  const messages = [
    rule('A'),
    rule('A'),
    rule('B'),
    rule('A'),
    rule('A', 'nat', 10),
    rule('C', 'x', 1),
  ]
  transport.receive(Buffer.concat([...messages, generation(1, 5)]))
  expect(changes[0]?.touched).toEqual([
    { family: 4, table: 'nat', chain: 'A' },
    { family: 4, table: 'nat', chain: 'B' },
    { family: 6, table: 'nat', chain: 'A' },
  ])
})

test('a transaction of too many chains is unknown, the next one is read again', () => {
  const { changes, commit } = setUp({ collector: new ChainCollector(2) })
  commit(5, 'A', 'B')
  commit(5, 'A', 'B', 'C', 'D')
  commit(5, 'A')
  const sizes = changes.map(({ touched }) => (touched === 'unknown' ? touched : touched.length))
  expect(sizes).toEqual([2, 'unknown', 1])
})

test('changes of chains that do not concern the monitor are not reported', () => {
  const { changes, commit } = setUp({ concerns: ({ chain }) => chain?.startsWith('NP-') ?? true })
  commit(5, 'DOCKER')
  commit(5, 'DOCKER', 'NP-A')
  expect(changes.map(({ touched }) => touched)).toEqual([
    [{ family: 4, table: 'nat', chain: 'NP-A' }],
  ])
})

test('during a hold changes wait, and those of the daemon are never reported', () => {
  const { changes, commit, monitor } = setUp()
  const release = monitor.hold()
  commit(5, 'A')
  commit(6, 'B')
  expect(changes).toEqual([])
  release({ authors: [5], commits: 1 })
  release({ authors: [6], commits: 1 })
  expect(changes.map(({ by }) => by?.pid)).toEqual([6])
  commit(5, 'A')
  expect(changes).toHaveLength(2)
})

test('in a container programs of the daemon are identified by the port of their socket', () => {
  const { transport, changes, monitor } = setUp({ authorship: 'port' })
  const release = monitor.hold()
  transport.receive(Buffer.concat([rule('A'), generation(101, 70_005, 5)]))
  transport.receive(Buffer.concat([rule('B'), generation(102, 70_006, 6)]))
  release({ authors: [5], commits: 1 })
  expect(changes.map(({ by }) => by?.pid)).toEqual([70_006])
})

test('overlapping holds are settled together', () => {
  const { changes, commit, monitor } = setUp()
  const first = monitor.hold()
  const second = monitor.hold({ unsubscribed: true })
  commit(5, 'A')
  second({ authors: [5], commits: 1 })
  commit(6, 'B')
  expect(changes).toEqual([])
  first({ authors: [6], commits: 1 })
  expect(changes).toEqual([])
})

test('an unsubscribed hold reports nothing for as many generations as own commits, and unknown for one more', () => {
  const { changes, commit, monitor, transport } = setUp()
  const quiet = monitor.hold({ unsubscribed: true })
  expect(transport.groups.has(7)).toBe(false)
  commit(5, 'A')
  commit(5, 'B')
  quiet({ authors: [5], commits: 2 })
  expect(transport.groups.has(7)).toBe(true)
  expect(changes).toEqual([])
  const disturbed = monitor.hold({ unsubscribed: true })
  commit(5, 'A')
  commit(6, 'A')
  disturbed({ authors: [5], commits: 1 })
  expect(changes).toEqual([{ touched: 'unknown', by: undefined, generation: 104 }])
})

test('a hold with an unknown number of commits is unknown when changes were missed', () => {
  const { changes, monitor } = setUp()
  monitor.hold({ unsubscribed: true })({ authors: [], commits: undefined })
  expect(changes).toHaveLength(1)
})

test('an overrun is unknown at once, during a hold only if there are more generations than own commits', () => {
  const { changes, commit, monitor, transport } = setUp()
  transport.receive(rule('LOST'))
  transport.overrun()
  expect(changes).toEqual([{ touched: 'unknown', by: undefined, generation: undefined }])
  const release = monitor.hold()
  commit(5, 'A')
  transport.overrun()
  release({ authors: [5], commits: 1 })
  expect(changes).toHaveLength(1)
  commit(6, 'B')
  expect(changes[1]?.touched).toEqual([{ family: 4, table: 'nat', chain: 'B' }])
})

test('a lost answer is requested again', () => {
  const { changes, commit, monitor, transport, timers, answer } = setUp()
  transport.onSend = () => undefined
  const release = monitor.hold()
  commit(6, 'A')
  release({ authors: [], commits: 0 })
  expect(changes).toEqual([])
  transport.onSend = answer
  for (const timer of timers.splice(0)) timer()
  expect(changes.map(({ by }) => by?.pid)).toEqual([6])
})

test('a hold whose first answer was lost is settled once, and changes after it are reported at once', () => {
  const { changes, commit, monitor, transport, answer } = setUp()
  transport.onSend = () => undefined
  const release = monitor.hold()
  transport.onSend = answer
  release({ authors: [5], commits: 1 })
  commit(6, 'A')
  expect(changes.map(({ by }) => by?.pid)).toEqual([6])
})

test('an unsubscribed hold whose first answer was lost explains no change of others as its own', () => {
  const { changes, commit, monitor, transport, timers, answer } = setUp()
  transport.onSend = () => undefined
  const release = monitor.hold({ unsubscribed: true })
  commit(5, 'A')
  transport.onSend = answer
  for (const timer of timers.splice(0)) timer()
  commit(6, 'B')
  release({ authors: [5], commits: 1 })
  expect(changes).toEqual([{ touched: 'unknown', by: undefined, generation: 102 }])
})

test('a second hold that ends before the first is settled is settled with its own answer', () => {
  const { changes, commit, monitor, transport } = setUp()
  const first = monitor.hold()
  const answers: (() => void)[] = []
  transport.onSend = () => {
    const seq = transport.sent.at(-1)?.readUInt32LE(8) ?? 0
    answers.push(() => transport.receive(generation(101, 1, transport.port, seq)))
  }
  first({ authors: [5], commits: 0 })
  monitor.hold()({ authors: [6], commits: 1 })
  answers.shift()?.()
  commit(6, 'A')
  commit(7, 'B')
  expect(changes).toEqual([])
  for (const late of answers) late()
  expect(changes.map(({ by }) => by?.pid)).toEqual([7])
})

test('an answer that comes between the messages of a transaction of others hides no change', () => {
  const { transport, changes, monitor } = setUp()
  transport.receive(rule('A'))
  const release = monitor.hold()
  transport.receive(Buffer.concat([rule('B'), generation(101, 6)]))
  release({ authors: [5], commits: 0 })
  expect(changes.map(({ touched }) => touched)).toEqual([
    [
      { family: 4, table: 'nat', chain: 'A' },
      { family: 4, table: 'nat', chain: 'B' },
    ],
  ])
})

test('what is left of a transaction whose end was lost counts for no other one', () => {
  const { transport, changes, monitor, commit } = setUp()
  const release = monitor.hold()
  transport.overrun()
  transport.receive(rule('B'))
  release({ authors: [5], commits: 1 })
  commit(6, 'C')
  expect(changes.map(({ touched }) => touched)).toEqual([[{ family: 4, table: 'nat', chain: 'C' }]])
})

test('a stopped monitor reports nothing and closes its socket', () => {
  const { changes, commit, stop, transport } = setUp()
  stop()
  commit(5, 'A')
  expect(changes).toEqual([])
  expect(transport.closed).toBe(true)
})

test('hostile bytes never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), fc.nat(20), (array, type) => {
      const message = incoming({ type: 0x0a00 | type, flags: 0, payload: Buffer.from(array) }, 1)
      const collector = new GenerationCollector(new ChainCollector(3))
      let ended = 0
      collector.read(Buffer.concat([message, Buffer.from(array)]), undefined, () => ended++)
      collector.read(Buffer.from(array), undefined, () => ended++)
      expect(ended).toBeLessThanOrEqual(4)
    }),
  )
})

test('decoded chains equal the encoded ones, in any order', () => {
  const name = fc.stringMatching(/^[A-Z-]{1,28}$/)
  fc.assert(
    fc.property(fc.array(name, { maxLength: 40 }), (chains) => {
      let touched: unknown
      const collector = new GenerationCollector(new ChainCollector(100))
      const datagram = Buffer.concat([...chains.map((chain) => rule(chain)), generation(1, 1)])
      collector.read(datagram, undefined, (end) => {
        touched = end.touched
      })
      expect(touched).toEqual(
        [...new Set(chains)].map((chain) => ({ family: 4, table: 'nat', chain })),
      )
    }),
  )
})
