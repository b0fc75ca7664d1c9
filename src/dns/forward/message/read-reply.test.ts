import { type Answer, encode, type Packet } from 'dns-packet'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Query, queryOf } from './query.ts'
import { matchReply, readReply, type UpstreamAnswer } from './read-reply.ts'

const ID = 4711
const NAME = 'www.example.com'
/** Where the question's name and its parts stand in every message. */
const AT = { www: 12, example: 16, com: 24 }

function queryFor(type: number, name = NAME): Query {
  return queryOf({ name, type, klass: 1, dnssecOk: false, checkingDisabled: false })!
}

function read(message: Buffer, query: Query): UpstreamAnswer | string {
  const header = matchReply(message, query, ID)
  return typeof header === 'string' ? header : readReply(message, header, query)
}

function message(packet: Packet & { rcode?: number }, type: Answer['type'] = 'A'): Buffer {
  const { rcode = 0, ...rest } = packet
  const questions = [{ name: NAME, type }]
  return encode({ id: ID, type: 'response', flags: 0x0180 | rcode, questions, ...rest })
}

/** A message whose answers stand there as bytes. */
function withAnswers(type: number, ...records: readonly Buffer[]): Buffer {
  const base = message({})
  base.writeUInt16BE(type, base.length - 4)
  base.writeUInt16BE(records.length, 6)
  return Buffer.concat([base, ...records])
}

/** A record of class IN with TTL 60; strings are bytes. */
function record(owner: string, type: number, rdata: string): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(60, 4)
  fixed.writeUInt16BE(rdata.length, 8)
  return Buffer.concat([Buffer.from(owner, 'latin1'), fixed, Buffer.from(rdata, 'latin1')])
}

const pointer = (offset: number): string => `\xc0${String.fromCharCode(offset)}`
const www = pointer(AT.www)
const text = (value: unknown) => ({ type: 'A', name: NAME, data: value })

function answersOf(reply: UpstreamAnswer | string): readonly Answer[] {
  if (typeof reply === 'string') throw new Error(`no answer: ${reply}`)
  return reply.answers
}

test.each<[string, number, string, unknown]>([
  ['NS', 2, `\x02ns${pointer(AT.example)}`, 'ns.example.com'],
  ['PTR', 12, pointer(AT.com), 'com'],
  [
    'MX',
    15,
    `\x00\x0a\x04mail${pointer(AT.example)}`,
    { preference: 10, exchange: 'mail.example.com' },
  ],
  [
    'SRV',
    33,
    `\x00\x01\x00\x02\x00\x35\x01d${pointer(AT.com)}`,
    { priority: 1, weight: 2, port: 53, target: 'd.com' },
  ],
  [
    'SOA',
    6,
    `${pointer(AT.example)}\x01r${www}${'\x00\x00\x00\x07'.repeat(5)}`,
    {
      mname: 'example.com',
      rname: 'r.www.example.com',
      serial: 7,
      refresh: 7,
      retry: 7,
      expire: 7,
      minimum: 7,
    },
  ],
  ['AFSDB', 18, `\x00\x01${pointer(AT.com)}`, Buffer.from('\x00\x01\x03com\x00')],
  ['TXT', 16, '\x02ab\x01c', [Buffer.from('ab'), Buffer.from('c')]],
  ['AAAA', 28, `${'\x00'.repeat(15)}\x01`, '::1'],
])('data of type %s is read, compressed or not', (type, number, rdata, data) => {
  const reply = read(withAnswers(number, record(www, number, rdata)), queryFor(number))
  expect(answersOf(reply)).toMatchObject([{ type, name: NAME, ttl: 60, class: 'IN', data }])
})

test.each<[string, number, string, string]>([
  ['a CAA with bytes that are no text', 257, '\x00\x05issue\xff\xfe', '\x00\x05issue\xff\xfe'],
  ['a type without a name', 65, '\x00\x01\x00', '\x00\x01\x00'],
  ['an A record of five bytes', 1, '\x7f\x00\x00\x01\x05', '\x7f\x00\x00\x01\x05'],
  ['a PTR to a label with a dot', 12, '\x03a.b\x00', '\x03a.b\x00'],
  [
    'a NAPTR with a compressed name',
    35,
    `\x00\x01\x00\x02\x01\xff\x00\x00${pointer(AT.com)}`,
    '\x00\x01\x00\x02\x01\xff\x00\x00\x03com\x00',
  ],
])('%s keeps its data as bytes', (_, type, rdata, kept) => {
  const answers = answersOf(read(withAnswers(type, record(www, type, rdata)), queryFor(type)))
  expect(answers).toMatchObject([{ type: `UNKNOWN_${type}`, data: Buffer.from(kept, 'latin1') }])
  const again = encode({ answers: [...answers] })
  expect(again.subarray(-kept.length).toString('latin1')).toBe(kept)
})

test.each<[string, readonly Buffer[]]>([
  ['a name that is cut', [record('\x09www', 1, '')]],
  ['data that is cut', [record(www, 1, '\x7f\x00\x00\x01').subarray(0, -1)]],
  ['a name in data that leaves it', [record(www, 5, '\x05a'), record(www, 5, www)]],
  ['data shorter than its fixed part', [record(www, 15, '\x00')]],
])('%s is undecodable', (_, answers) => {
  expect(read(withAnswers(1, ...answers), queryFor(1))).toBe('undecodable')
})

test('an owner that text cannot hold is undecodable: another name would have the record', () => {
  // "www.example" as one label is below "com", and as text equal to the name in question.
  const name = '\x0bwww.example\x03com\x00'
  const cname = record(www, 5, name)
  expect(read(withAnswers(1, cname, record(name, 1, '\x7f\x00\x00\x01')), queryFor(1))).toBe(
    'undecodable',
  )
  const alone = answersOf(read(withAnswers(1, record(name, 1, '\x7f\x00\x00\x01')), queryFor(1)))
  expect(alone).toEqual([])
})

const cname = (name: string, data: string): Answer => ({ name, type: 'CNAME', ttl: 9, data })
const a = (name: string, data = '192.0.2.1'): Answer => ({ name, type: 'A', ttl: 9, data })

test('records outside of the chain of CNAME records are dropped, and all additional ones', () => {
  const chain = [cname(NAME, 'B.example'), cname('b.example', 'c.example'), a('C.example')]
  const foreign = [a('evil.example'), cname('evil.example', 'd.example'), a('d.example')]
  const other: Answer = { name: NAME, type: 'AAAA', ttl: 9, data: '::1' }
  for (const order of [
    [...chain, ...foreign, other],
    [...foreign, other, ...chain.toReversed()],
  ]) {
    const reply = read(message({ answers: order, additionals: [a('evil.example')] }), queryFor(1))
    const names = answersOf(reply).map(({ name }) => name)
    expect(names.toSorted()).toEqual(['C.example', 'b.example', NAME])
    expect(Object.keys(reply)).not.toContain('additionals')
  }
})

test('of two CNAME records of one name the first one is followed', () => {
  const answers = [cname(NAME, 'b.example'), cname(NAME, 'c.example'), a('c.example', '192.0.2.3')]
  expect(answersOf(read(message({ answers }), queryFor(1)))).not.toContainEqual(
    expect.objectContaining({ data: '192.0.2.3' }),
  )
})

test('a circle of CNAME records ends, as does a chain of more than 16 names', () => {
  const circle = [cname(NAME, 'b.example'), cname('b.example', NAME)]
  expect(answersOf(read(message({ answers: circle }), queryFor(1)))).toHaveLength(2)
  const long = Array.from({ length: 30 }, (_, index) => cname(`n${index}`, `n${index + 1}`))
  const answers = [cname(NAME, 'n0'), ...long]
  expect(answersOf(read(message({ answers }), queryFor(1)))).toHaveLength(16)
})

test('a CNAME that was requested is not followed', () => {
  const answers = [cname(NAME, 'b.example'), cname('b.example', 'c.example')]
  const reply = read(message({ answers }, 'CNAME'), queryFor(5))
  expect(reply).toMatchObject({ answers: [{ name: NAME }], negativeTtl: undefined })
})

test('a DNAME above the name and signatures of the chain belong to the answer', () => {
  const dname: Answer = { name: 'example.com', type: 'DNAME', ttl: 9, data: 'example.org' }
  const foreign: Answer = { name: 'example.net', type: 'DNAME', ttl: 9, data: 'example.org' }
  const numbers = {
    algorithm: 8,
    labels: 2,
    originalTTL: 9,
    expiration: 1,
    inception: 1,
    keyTag: 1,
  }
  const names = { typeCovered: 'DNAME', signersName: 'example.com', signature: Buffer.from('s') }
  const rrsig: Answer = {
    name: 'example.com',
    type: 'RRSIG',
    ttl: 9,
    data: { ...numbers, ...names },
  }
  const answers = [dname, rrsig, foreign, cname(NAME, 'www.example.org'), a('www.example.org')]
  const kept = answersOf(read(message({ answers }), queryFor(1)))
  expect(kept.map(({ type }) => type)).toEqual(['DNAME', 'RRSIG', 'CNAME', 'A'])
})

test('records of another class are dropped', () => {
  const answers: Answer[] = [{ ...a(NAME), class: 'CH' } as Answer, a(NAME)]
  expect(answersOf(read(message({ answers }), queryFor(1)))).toMatchObject([{ class: 'IN' }])
})

test('the authority section keeps SOA, NS and DNSSEC records alone', () => {
  const authorities: Answer[] = [a('evil.example'), { name: 'example.com', type: 'NS', data: 'a' }]
  const reply = read(message({ authorities }), queryFor(1))
  expect(reply).toMatchObject({ authorities: [{ type: 'NS' }], negativeTtl: 0 })
})

test('AD is passed on', () => {
  expect(read(message({ flags: 0x0020, answers: [a(NAME)] }), queryFor(1))).toMatchObject({
    isAuthentic: true,
  })
  expect(read(message({ answers: [a(NAME)] }), queryFor(1))).toMatchObject({ isAuthentic: false })
})

const soa: Answer = {
  name: 'example.com',
  type: 'SOA',
  ttl: 60,
  data: { mname: 'a', rname: 'b', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 5 },
}
test('the negative TTL is that of the SOA record or its MINIMUM, the lesser one', () => {
  const ttlOf = (ttl: number, rcode = 0): unknown => {
    const reply = read(message({ rcode, authorities: [{ ...soa, ttl }] }), queryFor(1))
    return typeof reply === 'string' ? reply : reply.negativeTtl
  }
  expect([ttlOf(60), ttlOf(4), ttlOf(4, 3)]).toEqual([5, 4, 4])
  const contradictory = message({ rcode: 3, answers: [a(NAME)], authorities: [soa] })
  expect(read(contradictory, queryFor(1))).toMatchObject({ rcode: 3, negativeTtl: 0 })
})

test('FORMERR refuses EDNS, also with records that cannot be read', () => {
  const reply = message({ rcode: 1 })
  reply.writeUInt16BE(1, 10)
  expect(read(reply, queryFor(1))).toBe('edns')
})

const seeds: readonly Buffer[] = [
  message({ answers: [cname(NAME, 'b.example'), a('b.example'), text('192.0.2.9') as Answer] }),
  message({ rcode: 3, authorities: [soa] }),
  withAnswers(
    15,
    record(www, 15, `\x00\x0a\x04mail${pointer(AT.example)}`),
    record(www, 15, '\x00\x01\x00'),
  ),
  withAnswers(
    255,
    record(www, 35, `\x00\x01\x00\x02\x01x\x00\x00${www}`),
    record(www, 47, `${www}\x00\x01\x40`),
  ),
]

const mutation = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), at: fc.nat(300), byte: fc.nat(255) }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(300), byte: fc.nat(20) }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(300), byte: fc.nat(255) }),
)

test('mutated replies are read without an exception, as something that can be encoded', () => {
  const mutations = fc.array(mutation, { minLength: 1, maxLength: 6 })
  const seen = { answers: 0, faults: 0 }
  fc.assert(
    fc.property(fc.constantFrom(...seeds), mutations, (seed, changes) => {
      let bytes: Buffer = Buffer.from(seed)
      for (const { kind, at, byte } of changes) {
        // The header's id and question stay, so that the records are read.
        const offset = 33 + (at % (bytes.length - 33))
        if (kind === 'set') bytes[at < 20 ? 2 + (at % 10) : offset] = byte
        if (kind === 'cut')
          bytes = Buffer.concat([bytes.subarray(0, offset), bytes.subarray(offset + byte)])
        if (kind === 'insert')
          bytes = Buffer.concat([
            bytes.subarray(0, offset),
            Buffer.of(byte),
            bytes.subarray(offset),
          ])
      }
      const type = bytes.readUInt16BE(29)
      const query = queryOf({ name: NAME, type, klass: 1, dnssecOk: true, checkingDisabled: false })
      const reply = query && read(bytes, query)
      seen[typeof reply === 'object' ? 'answers' : 'faults']++
      if (typeof reply !== 'object') return
      const encoded = encode({ answers: [...reply.answers], authorities: [...reply.authorities] })
      expect(encoded).toHaveLength(12 + reply.wireBytes)
    }),
    { numRuns: 5000 },
  )
  expect(Math.min(seen.answers, seen.faults)).toBeGreaterThan(200)
})
