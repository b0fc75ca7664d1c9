import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemRandom } from '../../../lib/random.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { DEFAULT_LIMITS } from '../forwarder.ts'
import { queryOf } from '../message/query.ts'
import {
  a,
  type Behaviour,
  openFakeUpstream,
  type ReceivedQuery,
  replying,
  response,
} from '../testing/fake-upstream.ts'
import { openForwarder, question, summary } from '../testing/forward-fixtures.ts'
import { queryUpstreams } from './query-upstreams.ts'
import { UpstreamHealth } from './upstream-health.ts'

const NAME = 'www.example.com'
const RIGHT = '192.0.2.1'
const FORGED = '192.0.2.66'
const rightAnswer = ['upstream', 0, ['A', RIGHT, 300]]
const right = (query: ReceivedQuery) => response(query, { answers: [a(NAME, RIGHT)] })
const forged = (query: ReceivedQuery) => response(query, { answers: [a(NAME, FORGED)] })
const answersRight: Behaviour = (query) => query.reply(right(query))

/** Changes one 16-bit field. */
function changed(bytes: Buffer, offset: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt16BE((copy.readUInt16BE(offset) + 1) & 0xffff, offset)
  return copy
}

/** The offset of the type in the question; the class follows. */
const typeOffset = 12 + NAME.length + 2

test('a query has RD, EDNS with 1232 bytes, and DO and CD as requested', async () => {
  await using upstream = await openFakeUpstream(answersRight)
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  await setup.query(NAME, { dnssecOk: true, checkingDisabled: true })
  const [plain, secure] = upstream.queries.map(({ packet }) => packet)
  expect([plain?.flag_rd, plain?.flag_cd, secure?.flag_cd]).toEqual([true, false, true])
  const [opt, secureOpt] = [plain?.additionals?.[0], secure?.additionals?.[0]]
  expect(opt).toMatchObject({ type: 'OPT', udpPayloadSize: 1232, flag_do: false })
  expect(secureOpt).toMatchObject({ flag_do: true })
  expect(plain?.questions).toEqual([{ name: NAME, type: 'A', class: 'IN' }])
})

test('queries come from ports and with ids that differ', async () => {
  await using upstream = await openFakeUpstream(replying())
  await using setup = openForwarder([upstream])
  for (let index = 0; index < 20; index++) await setup.query(`${index}.example.com`)
  const ports = new Set(upstream.queries.map(({ from }) => from.port))
  const ids = new Set(upstream.queries.map(({ packet }) => packet.id))
  expect(ports.size).toBeGreaterThan(10)
  expect(ids.size).toBeGreaterThan(15)
})

test.each<[string, string, (query: ReceivedQuery) => Buffer]>([
  ['of another id', 'id', (query) => changed(forged(query), 0)],
  ['of another type', 'question', (query) => changed(forged(query), typeOffset)],
  ['of another class', 'question', (query) => changed(forged(query), typeOffset + 2)],
  [
    'of another name',
    'question',
    (query) => {
      const questions = [{ name: 'www.example.org', type: 'A' as const }]
      return response(query, { questions, answers: [a(NAME, FORGED)] })
    },
  ],
  ['without a question', 'question', (query) => response(query, { questions: [] })],
  ['that is a query', 'not-a-response', (query) => query.bytes],
  ['that is garbage', 'malformed', () => Buffer.from('garbage')],
  ['that is empty', 'malformed', () => Buffer.alloc(0)],
])('a datagram %s is discarded as %s, and the right one is used', async (_, reason, forge) => {
  await using upstream = await openFakeUpstream((query) => {
    query.reply(forge(query))
    query.reply(right(query))
  })
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  expect([setup.discarded, setup.attempts]).toEqual([[reason], ['answered']])
})

test.each(['127.0.0.1', '127.0.0.2'])(
  'a datagram from another port of %s does not arrive',
  async (address) => {
    const foreign = createSocket('udp4')
    foreign.bind(0, address)
    await once(foreign, 'listening')
    await using upstream = await openFakeUpstream((query) => {
      foreign.send(forged(query), query.from.port, query.from.address, () => answersRight(query))
    })
    await using setup = openForwarder([upstream])
    expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
    foreign.close()
  },
)

test('the right answer is found behind a flood of forged ones', async () => {
  await using upstream = await openFakeUpstream((query) => {
    const message = forged(query)
    const id = message.readUInt16BE(0)
    let sent = 0
    const sendMore = (): void => {
      for (let index = 0; index < 20; index++) {
        message.writeUInt16BE((id + ++sent) & 0xffff, 0)
        query.reply(message)
      }
      if (sent < 5000) void setImmediate().then(sendMore)
      else answersRight(query)
    }
    sendMore()
  })
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  expect(setup.discarded.length).toBeGreaterThan(1000)
})

test('a truncated reply leads to the same question over TCP', async () => {
  const answers = Array.from({ length: 200 }, (_, index) => a(NAME, `192.0.2.${index}`))
  await using upstream = await openFakeUpstream((query) => {
    query.reply(response(query, query.transport === 'tcp' ? { answers } : { flags: 0x0200 }))
  })
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toHaveLength(202)
  expect(upstream.queries.map(({ transport }) => transport)).toEqual(['udp', 'tcp'])
})

test('a reply over TCP may arrive byte by byte', async () => {
  await using upstream = await openFakeUpstream((query) => {
    if (query.connection === undefined) return query.reply(response(query, { flags: 0x0200 }))
    const message = right(query)
    const bytes = [message.length >> 8, message.length & 0xff, ...message]
    query.connection.setNoDelay(true)
    const sendNext = (index: number): void => {
      const byte = bytes[index]
      if (byte !== undefined) query.connection?.write(Buffer.of(byte), () => sendNext(index + 1))
    }
    sendNext(0)
  })
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
})

test.each<[string, string, Behaviour]>([
  ['closes the connection', 'ended', ({ connection }) => connection?.end()],
  ['closes it within the reply', 'ended', ({ connection }) => connection?.end('\x01\x00half')],
  ['resets it', 'ended', ({ connection }) => connection?.resetAndDestroy()],
  ['replies to another query', 'mismatch', (query) => query.reply(changed(right(query), 0))],
  ['truncates that, too', 'truncated', (query) => query.reply(response(query, { flags: 512 }))],
])('an upstream that %s over TCP is left for the next one: %s', async (_, fault, overTcp) => {
  await using broken = await openFakeUpstream((query) => {
    if (query.transport === 'tcp') overTcp(query)
    else query.reply(response(query, { flags: 0x0200 }))
  })
  await using good = await openFakeUpstream(answersRight)
  await using setup = openForwarder([broken, good])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  expect(setup.attempts).toEqual([fault, 'answered'])
})

test.each<[string, Behaviour]>([
  ['servfail', replying({ rcode: 2 })],
  ['refused', replying({ rcode: 5 })],
  ['rcode', replying({ rcode: 9 })],
  ['undecodable', (query) => query.reply(right(query).subarray(0, -1))],
  ['oversized', (query) => query.reply(oversized(query))],
])('an upstream whose reply is %s is left for the next one', async (fault, behaviour) => {
  await using broken = await openFakeUpstream(behaviour)
  await using good = await openFakeUpstream(answersRight)
  await using setup = openForwarder([broken, good])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  expect(setup.attempts).toEqual([fault, 'answered'])
})

/** A small message whose names unfold to more than a message can hold. */
function oversized(query: ReceivedQuery): Buffer {
  const base = response(query)
  const record = Buffer.alloc(12 + 4)
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(1, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(4, 10)
  const count = 2500
  base.writeUInt16BE(count, 6)
  return Buffer.concat([base, ...Array<Buffer>(count).fill(record)])
}

test.each([1, 4])('RCODE %i leads to the same question without EDNS', async (rcode) => {
  await using upstream = await openFakeUpstream((query) => {
    if (query.packet.additionals?.length === 0) answersRight(query)
    else query.reply(response(query, { rcode, questions: [] }))
  })
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  expect(upstream.queries).toHaveLength(2)
})

test('so does BADVERS, whose upper bits are in the OPT record', async () => {
  const opt = { udpPayloadSize: 512, extendedRcode: 1, ednsVersion: 0, flags: 0, flag_do: false }
  await using upstream = await openFakeUpstream((query) => {
    const additionals = [{ ...opt, name: '.', type: 'OPT' as const, options: [] }]
    if (query.packet.additionals?.length === 0) answersRight(query)
    else query.reply(response(query, { additionals }))
  })
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
})

test('an upstream that refuses the question without EDNS, too, is left', async () => {
  await using upstream = await openFakeUpstream(replying({ rcode: 4 }))
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(['unanswered'])
  expect([upstream.queries.length, setup.attempts]).toEqual([2, ['rcode']])
})

test('an upstream to which the machine has no route is left at once', async () => {
  await using good = await openFakeUpstream(answersRight)
  // The kernel refuses to connect to the broadcast address, as to an address without a route.
  await using setup = openForwarder([{ address: '255.255.255.255', port: 53 }, good])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  expect(setup.attempts).toEqual(['unreachable', 'answered'])
})

test('a port where nothing listens is left at once', async () => {
  const gone = await openFakeUpstream()
  await gone.close()
  await using good = await openFakeUpstream(answersRight)
  await using setup = openForwarder([gone, good])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
  expect(setup.attempts).toEqual(['unreachable', 'answered'])
})

test('a silent upstream is overtaken, then passed over, then tried with one question', async () => {
  await using silent = await openFakeUpstream()
  await using good = await openFakeUpstream(answersRight)
  await using setup = openForwarder([silent, good])
  const first = setup.query(NAME)
  await silent.received(1)
  await setup.clock.advance(800)
  expect(summary(await first)).toEqual(rightAnswer)
  expect(setup.attempts).toEqual(['timeout', 'answered'])

  await setup.query('b.example.com')
  expect(silent.queries).toHaveLength(1)

  await setup.clock.advance(1000)
  const probing = setup.query('c.example.com')
  await setup.query('d.example.com')
  await silent.received(2)
  replying()(silent.queries[1]!)
  await probing
  expect(silent.queries).toHaveLength(2)

  silent.behave(replying())
  await setup.query('e.example.com')
  await setup.query('f.example.com')
  expect(silent.queries).toHaveLength(4)
})

test('an upstream that is slow is heard beside the next attempt', async () => {
  await using slow = await openFakeUpstream()
  await using silent = await openFakeUpstream()
  await using setup = openForwarder([slow, silent])
  const answer = setup.query(NAME)
  await slow.received(1)
  await setup.clock.advance(800)
  await silent.received(1)
  answersRight(slow.queries[0]!)
  expect(summary(await answer)).toEqual(rightAnswer)
  expect(setup.attempts).toEqual(['timeout', 'answered'])
})

test('a lost datagram is sent again from another port', async () => {
  await using upstream = await openFakeUpstream()
  await using setup = openForwarder([upstream])
  const answer = setup.query(NAME)
  await upstream.received(1)
  upstream.behave(answersRight)
  await setup.clock.advance(800)
  expect(summary(await answer)).toEqual(rightAnswer)
  expect(new Set(upstream.queries.map(({ from }) => from.port)).size).toBe(2)
})

test('without any reply the question ends after four attempts and four seconds', async () => {
  await using upstream = await openFakeUpstream()
  await using setup = openForwarder([upstream])
  let isOver = false
  const answer = setup.query(NAME).finally(() => (isOver = true))
  for (let count = 1; count <= 4; count++) {
    await upstream.received(count)
    await setup.clock.advance(800)
  }
  await setup.clock.advance(799)
  expect(isOver).toBe(false)
  await setup.clock.advance(1)
  expect(summary(await answer)).toEqual(['unanswered'])
  expect([upstream.queries.length, setup.attempts]).toEqual([4, Array(4).fill('timeout')])
  expect(setup.clock.pending()).toEqual([])
})

test('closing ends what is in flight, and its sockets', async () => {
  await using udp = await openFakeUpstream()
  await using tcp = await openFakeUpstream((query) => {
    if (query.transport === 'udp') query.reply(response(query, { flags: 0x0200 }))
  })
  await using setup = openForwarder([udp])
  await using other = openForwarder([tcp])
  const answers = [setup.query(NAME), other.query(NAME), setup.query('unsent.example.com')]
  await Promise.all([udp.received(1), tcp.received(2)])
  const connectionClosed = once(tcp.queries[1]!.connection!, 'close')
  expect(await isFree(udp.queries[0]!.from.port)).toBe(false)
  await Promise.all([setup.forwarder.close(), other.forwarder.close()])
  expect((await Promise.all(answers)).map(summary)).toEqual([
    ['unanswered'],
    ['unanswered'],
    ['unanswered'],
  ])
  expect(summary(await setup.query(NAME))).toEqual(['closed'])
  expect(setup.clock.pending()).toEqual([])
  await connectionClosed
  for (const { from } of udp.queries) expect(await isFree(from.port)).toBe(true)
})

test('a query whose signal is aborted sends nothing', async () => {
  await using upstream = await openFakeUpstream(answersRight)
  const clock = new FakeClock()
  const health = new UpstreamHealth([upstream], clock)
  const observer = { attempted: () => undefined, discarded: () => undefined }
  const schedule = DEFAULT_LIMITS
  const context = { clock, health, observer, schedule, random: systemRandom }
  const query = queryOf(question(NAME))!
  expect(await queryUpstreams(query, context, AbortSignal.abort())).toBeUndefined()
  expect([upstream.queries, clock.pending()]).toEqual([[], []])
})

test('closing before anything was sent ends all, over UDP and TCP', async () => {
  await using upstream = await openFakeUpstream((query) => {
    query.reply(response(query, { flags: 0x0200 }))
    void setup.forwarder.close()
  })
  await using setup = openForwarder([upstream])
  await using other = openForwarder([upstream])
  const answers = [setup.query(NAME)]
  for (let index = 0; index < 100; index++) answers.push(other.query(`${index}.example.com`))
  await other.forwarder.close()
  expect(new Set((await Promise.all(answers)).map((answer) => answer.fault))).toEqual(
    new Set(['unanswered']),
  )
})

async function isFree(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  try {
    socket.bind(port)
    await once(socket, 'listening')
    return true
  } catch {
    return false
  } finally {
    socket.close()
  }
}

test('upstreams with IPv6 addresses are reached', async () => {
  await using upstream = await openFakeUpstream(
    (query) => {
      query.reply(query.transport === 'tcp' ? right(query) : response(query, { flags: 0x0200 }))
    },
    { address: '::1' },
  )
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(rightAnswer)
})
