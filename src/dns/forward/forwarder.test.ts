import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  a,
  type Behaviour,
  openFakeUpstream,
  replying,
  response,
  soa,
} from './testing/fake-upstream.ts'
import { openForwarder, question, summary } from './testing/forward-fixtures.ts'

const NAME = 'www.example.com'
const address = '192.0.2.1'

/** Replies to every question with an A record of its name. */
const answering =
  (ttl = 300, data = address): Behaviour =>
  (query) =>
    query.reply(
      response(query, { answers: [a(query.packet.questions?.[0]?.name ?? '', data, ttl)] }),
    )

test('an answer is cached for its TTL, which decreases', async () => {
  await using upstream = await openFakeUpstream(answering(300))
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(['upstream', 0, ['A', address, 300]])
  await setup.clock.advance(100_999)
  expect(summary(await setup.query(NAME))).toEqual(['cache', 0, ['A', address, 200]])
  await setup.clock.advance(199_000)
  expect(summary(await setup.query(NAME))).toEqual(['cache', 0, ['A', address, 1]])
  expect(upstream.queries).toHaveLength(1)
  await setup.clock.advance(1)
  expect(summary(await setup.query(NAME))).toEqual(['upstream', 0, ['A', address, 300]])
  expect(setup.results).toEqual(['upstream', 'cache', 'cache', 'upstream'])
})

test('a TTL is at most an hour, and 0 when its first bit is set', async () => {
  await using upstream = await openFakeUpstream(answering(100_000))
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))[2]).toEqual(['A', address, 3600])
  upstream.behave(answering(2 ** 31))
  expect(summary(await setup.query('b.example.com'))[2]).toEqual(['A', address, 0])
})

test('an answer with TTL 0 is not cached', async () => {
  await using upstream = await openFakeUpstream(answering(0))
  await using setup = openForwarder([upstream])
  await setup.query(NAME)
  expect(summary(await setup.query(NAME))).toEqual(['upstream', 0, ['A', address, 0]])
  expect([upstream.queries.length, setup.forwarder.usage().entries]).toEqual([2, 0])
})

test('the least TTL of all records decides', async () => {
  const cname = { name: NAME, type: 'CNAME', class: 'IN', ttl: 10, data: 'b.example.com' } as const
  await using upstream = await openFakeUpstream(
    replying({ answers: [cname, a('b.example.com', address)] }),
  )
  await using setup = openForwarder([upstream])
  await setup.query(NAME)
  await setup.clock.advance(9999)
  const left = [
    ['CNAME', 'b.example.com', 1],
    ['A', address, 291],
  ]
  expect(summary(await setup.query(NAME))).toEqual(['cache', 0, ...left])
  await setup.clock.advance(1)
  await setup.query(NAME)
  expect(upstream.queries).toHaveLength(2)
})

test('names that differ in case are one question, and each client sees its own case', async () => {
  await using upstream = await openFakeUpstream(answering())
  await using setup = openForwarder([upstream])
  const answers = [await setup.query('WWW.Example.com'), await setup.query('www.eXample.COM')]
  const names = answers.map((each) => (each.fault === undefined ? each.answers[0]?.name : ''))
  expect(names).toEqual(['WWW.Example.com', 'www.eXample.COM'])
  expect(upstream.queries).toHaveLength(1)
})

test('type, class, DO and CD make a question another one', async () => {
  await using upstream = await openFakeUpstream(answering())
  await using setup = openForwarder([upstream])
  const others = [{ type: 28 }, { klass: 3 }, { dnssecOk: true }, { checkingDisabled: true }]
  for (const other of [{}, ...others, {}, ...others]) await setup.query(NAME, other)
  // The A record is no answer to AAAA or class CH, and without an SOA record that is not cached.
  expect(setup.results.filter((result) => result === 'cache')).toHaveLength(3)
  expect(upstream.queries).toHaveLength(7)
})

test.each<[string, number, number, number]>([
  ['the MINIMUM of the SOA record', 5, 3600, 5],
  ['its TTL', 3600, 7, 7],
  ['30 s', 3600, 3600, 30],
])('a negative answer is cached for %s', async (_, minimum, ttl, seconds) => {
  const authorities = [soa('example.com', minimum, ttl)]
  await using upstream = await openFakeUpstream(replying({ rcode: 3, authorities }))
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toMatchObject(['upstream', 3, ['SOA', {}, seconds]])
  await setup.clock.advance(seconds * 1000 - 1)
  expect(summary(await setup.query(NAME))).toMatchObject(['cache', 3, ['SOA', {}, 1]])
  await setup.clock.advance(1)
  await setup.query(NAME)
  expect(upstream.queries).toHaveLength(2)
})

test.each([
  ['NODATA', 0, 'example.com', 'cache'],
  ['NODATA of another zone', 0, 'example.org', 'upstream'],
  ['NXDOMAIN of another zone', 3, 'ww.example.com', 'upstream'],
])('%s is cached by an SOA record that covers the name alone', async (_, rcode, zone, source) => {
  await using upstream = await openFakeUpstream(replying({ rcode, authorities: [soa(zone, 60)] }))
  await using setup = openForwarder([upstream])
  await setup.query(NAME)
  await setup.query(NAME)
  expect(setup.results).toEqual(['upstream', source])
})

test('a hundred clients with one question cause one query', async () => {
  await using upstream = await openFakeUpstream()
  await using setup = openForwarder([upstream])
  const answers = Array.from({ length: 100 }, () => setup.query(NAME))
  await upstream.received(1)
  expect(setup.forwarder.usage().inFlight).toBe(1)
  answering()(upstream.queries[0]!)
  for (const answer of await Promise.all(answers)) {
    expect(summary(answer)).toEqual(['upstream', 0, ['A', address, 300]])
  }
  expect([upstream.queries.length, setup.forwarder.usage().inFlight]).toEqual([1, 0])
})

test('more questions in flight than allowed fail at once', async () => {
  await using upstream = await openFakeUpstream()
  await using setup = openForwarder([upstream], { maxInFlight: 2 })
  const pending = ['a', 'b', 'a'].map((name) => setup.query(name))
  expect(summary(await setup.query('c'))).toEqual(['overloaded'])
  await upstream.received(2)
  for (const query of upstream.queries) answering()(query)
  await Promise.all(pending)
  upstream.behave(answering())
  expect(summary(await setup.query('c'))).toEqual(['upstream', 0, ['A', address, 300]])
  expect(setup.results[0]).toBe('overloaded')
})

test('a question that no upstream answered is not forwarded again for two seconds', async () => {
  await using upstream = await openFakeUpstream(replying({ rcode: 2 }))
  await using setup = openForwarder([upstream])
  expect(summary(await setup.query(NAME))).toEqual(['unanswered'])
  await setup.clock.advance(1999)
  expect(summary(await setup.query(NAME))).toEqual(['unanswered'])
  expect(upstream.queries).toHaveLength(1)
  await setup.clock.advance(1)
  upstream.behave(answering())
  expect(summary(await setup.query(NAME))).toEqual(['upstream', 0, ['A', address, 300]])
})

const stale = ['stale', 0, ['A', address, 30]]

test('an expired answer is used when the upstreams fail, for an hour', async () => {
  await using upstream = await openFakeUpstream(answering(10))
  await using setup = openForwarder([upstream])
  await setup.query(NAME)
  upstream.behave(replying({ rcode: 2 }))
  await setup.clock.advance(10_000)
  expect(summary(await setup.query(NAME))).toEqual(stale)
  expect(summary(await setup.query(NAME))).toEqual(stale)
  expect(upstream.queries).toHaveLength(2)
  await setup.clock.advance(3_599_999)
  expect(summary(await setup.query(NAME))).toEqual(stale)
  await setup.clock.advance(2000)
  expect(summary(await setup.query(NAME))).toEqual(['unanswered'])
})

test('an expired answer is used while the upstreams are slow, and their answer is cached', async () => {
  await using upstream = await openFakeUpstream(answering(10))
  await using setup = openForwarder([upstream])
  await setup.query(NAME)
  upstream.behave(() => undefined)
  await setup.clock.advance(10_000)
  const answers = [setup.query(NAME), setup.query(NAME)]
  await upstream.received(2)
  await setup.clock.advance(1799)
  expect(setup.results).toEqual(['upstream'])
  await setup.clock.advance(1)
  expect((await Promise.all(answers)).map(summary)).toEqual([stale, stale])
  // Upstreams that were silent are known to be away now: the client does not wait for them.
  expect(summary(await setup.query(NAME))).toEqual(stale)
  await upstream.received(4)
  answering(20, '192.0.2.2')(upstream.queries[3]!)
  while (setup.forwarder.usage().inFlight > 0) await setImmediate()
  const fresh = await setup.query(NAME)
  expect(summary(fresh)).toEqual(['cache', 0, ['A', '192.0.2.2', 20]])
})

test('while no upstream is expected to answer, an expired answer is used at once', async () => {
  await using upstream = await openFakeUpstream(answering(10))
  await using setup = openForwarder([upstream])
  await setup.query(NAME)
  upstream.behave(() => undefined)
  const silent = setup.query('b.example.com')
  for (let count = 2; count <= 5; count++) {
    await upstream.received(count)
    await setup.clock.advance(800)
  }
  await setup.clock.advance(10_000)
  await silent
  expect(summary(await setup.query(NAME))).toEqual(stale)
  expect(setup.forwarder.usage().inFlight).toBe(1)
})

test('an answer that can no longer be used is removed', async () => {
  await using upstream = await openFakeUpstream(answering(10))
  await using setup = openForwarder([upstream], { staleMs: 0 })
  await setup.query(NAME)
  upstream.behave(() => undefined)
  await setup.clock.advance(10_000)
  expect(setup.forwarder.usage().entries).toBe(1)
  const pending = setup.query(NAME)
  expect(setup.forwarder.usage()).toMatchObject({ entries: 0, bytes: 0 })
  await setup.forwarder.close()
  expect(setup.forwarder.usage().inFlight).toBe(0)
  await pending
})

test('an answer that arrives in time is preferred to an expired one', async () => {
  await using upstream = await openFakeUpstream(answering(10))
  await using setup = openForwarder([upstream])
  await setup.query(NAME)
  await setup.clock.advance(10_000)
  upstream.behave(replying({ rcode: 3 }))
  expect(summary(await setup.query(NAME))).toEqual(['upstream', 3])
  // NXDOMAIN without an SOA record is not cached, but the name no longer exists: nothing stale is left.
  upstream.behave(replying({ rcode: 2 }))
  expect(summary(await setup.query(NAME))).toEqual(['unanswered'])
})

test('an expired answer is used when too many questions are in flight', async () => {
  await using upstream = await openFakeUpstream(answering(10))
  await using setup = openForwarder([upstream], { maxInFlight: 1 })
  await setup.query(NAME)
  await setup.clock.advance(10_000)
  upstream.behave(() => undefined)
  const pending = setup.query('b.example.com')
  expect(summary(await setup.query(NAME))).toEqual(stale)
  await setup.forwarder.close()
  await pending
})

test('the cache keeps the entries that were used last, and no more than allowed', async () => {
  await using upstream = await openFakeUpstream(answering())
  await using setup = openForwarder([upstream], { maxEntries: 3 })
  for (const name of ['a', 'b', 'c', 'a', 'd']) await setup.query(name)
  expect([setup.forwarder.usage().entries, setup.counts.evicted]).toEqual([3, 1])
  for (const name of ['a', 'c', 'd', 'b']) await setup.query(name)
  expect(setup.results.slice(5)).toEqual(['cache', 'cache', 'cache', 'upstream'])
})

test('the cache keeps no more bytes than allowed', async () => {
  const many = Array.from({ length: 20 }, (_, index) => a('large', `192.0.2.${index}`))
  await using upstream = await openFakeUpstream(answering())
  await using setup = openForwarder([upstream], { maxBytes: 8000 })
  for (let index = 0; index < 50; index++) {
    await setup.query(`${index}.example.com`)
    expect(setup.forwarder.usage().bytes).toBeLessThanOrEqual(8000)
  }
  const { entries } = setup.forwarder.usage()
  expect(entries).toBeGreaterThan(2)
  expect(entries).toBeLessThan(20)
  upstream.behave(replying({ answers: many }))
  expect(summary(await setup.query('large'))).toHaveLength(22)
  expect(setup.forwarder.usage()).toMatchObject({ entries: 0, bytes: 0 })
})

test.each([
  ['an empty label', { name: 'a..b' }],
  ['a label of 64 bytes', { name: 'a'.repeat(64) }],
  ['a name of 256 bytes', { name: Array(128).fill('a').join('.') }],
  ['a transfer', { type: 252 }],
  ['a TSIG record', { type: 250 }],
  ['an unknown class', { klass: 77 }],
])('%s is not forwarded', async (_, rest) => {
  await using upstream = await openFakeUpstream()
  await using setup = openForwarder([upstream])
  expect(summary(await setup.forwarder.query(question(NAME, rest)))).toEqual(['unsupported'])
})

test('the root and names with a final dot are forwarded', async () => {
  await using upstream = await openFakeUpstream(replying())
  await using setup = openForwarder([upstream])
  for (const name of ['', '.', 'b.example.com.']) await setup.query(name)
  const names = upstream.queries.map(({ packet }) => packet.questions?.[0]?.name)
  expect(names).toEqual(['.', '.', 'b.example.com'])
})
