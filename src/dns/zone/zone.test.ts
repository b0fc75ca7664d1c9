import { describe, expect, test } from 'vitest'
import { endpoint, ip, key, service } from '../../cluster/testing/fixtures.ts'
import { MANY } from '../testing/golden-cluster.ts'
import { goldenQuestions } from '../testing/golden-questions.ts'
import { goldenZone } from '../testing/golden-zone.ts'
import { recordText } from './record.ts'
import type { ZoneAnswer } from './zone-answer.ts'

const STATUS = { found: 'NOERROR', empty: 'NOERROR', missing: 'NXDOMAIN', foreign: 'REFUSED' }

function summary(answer: ZoneAnswer) {
  const { answers, additionals } =
    answer.kind === 'found' ? answer : { answers: [], additionals: [] }
  const kind = (answer.kind === 'found' && answer.denied) || answer.kind
  return {
    status: STATUS[kind],
    answers: answers.map(recordText).toSorted(),
    additionals: additionals.map(recordText).toSorted(),
  }
}

describe('the golden questions', () => {
  const { zone } = goldenZone()

  test('are at least 150, each listed once', () => {
    const queried = goldenQuestions().map(({ type, name }) => `${type} ${name}`)
    expect(queried.length).toBeGreaterThanOrEqual(150)
    expect(new Set(queried).size).toBe(queried.length)
  })

  test.each(goldenQuestions())('$type $name', ({ type, name, ...expected }) => {
    expect(summary(zone.answer(name.toLowerCase(), type))).toEqual(expected)
  })
})

test('a headless Service has a record for each of many endpoints', () => {
  const answer = goldenZone().zone.answer('many.shop.svc.cluster.local', 'A')
  expect(answer).toMatchObject({ kind: 'found', service: 'shop/many' })
  expect(summary(answer).answers).toHaveLength(MANY)
})

test('the start of authority names the zone, and its serial grows with each change', () => {
  const { zone, store } = goldenZone()
  const serial = () => {
    const [record] = summary(zone.answer('cluster.local', 'SOA')).answers
    return record
  }
  expect(serial()).toBe('cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 2')
  const value = service('shop/new', { clusterIPs: [ip('10.96.0.77')] })
  zone.update(store.apply([{ kind: 'service', key: value.key, value }]).services)
  expect(serial()).toBe('cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 3')
  zone.update(new Set())
  expect(serial()).toBe('cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 3')
})

describe('a change', () => {
  test('of the address of a Service moves its reverse name', () => {
    const { zone, store } = goldenZone()
    const value = service('shop/web', { clusterIPs: [ip('10.96.0.99')] })
    zone.update(store.apply([{ kind: 'service', key: value.key, value }]).services)
    expect(summary(zone.answer('web.shop.svc.cluster.local', 'A')).answers).toEqual([
      'web.shop.svc.cluster.local A 10.96.0.99',
    ])
    expect(zone.answer('10.0.96.10.in-addr.arpa', 'PTR').kind).toBe('foreign')
    expect(summary(zone.answer('99.0.96.10.in-addr.arpa', 'PTR')).answers).toEqual([
      '99.0.96.10.in-addr.arpa PTR web.shop.svc.cluster.local',
    ])
  })

  test('that deletes the last Service of a namespace deletes the name of the namespace', () => {
    const { zone, store } = goldenZone()
    expect(zone.answer('test.svc.cluster.local', 'A').kind).toBe('empty')
    const event = { kind: 'service', key: key('test/web'), value: undefined } as const
    zone.update(store.apply([event]).services)
    expect(zone.answer('test.svc.cluster.local', 'A').kind).toBe('missing')
    expect(zone.answer('web.test.svc.cluster.local', 'A').kind).toBe('missing')
  })

  test('of endpoints changes the names below a headless Service', () => {
    const { zone, store } = goldenZone()
    const ports = [{ name: 'http', protocol: 'TCP', port: 80 }] as const
    const endpoints = [endpoint('10.244.3.1', { hostname: 'zzz' })]
    const groups = [{ family: 4, ports, endpoints }] as const
    const name = 'shop/asleep-a'
    const value = { name, service: key('shop/asleep'), groups, triggeredAt: undefined }
    zone.update(store.apply([{ kind: 'endpoints', name, value }]).services)
    expect(summary(zone.answer('zzz.asleep.shop.svc.cluster.local', 'A')).answers).toHaveLength(1)
    expect(zone.answer('1.3.244.10.in-addr.arpa', 'PTR').kind).toBe('found')
    zone.update(store.apply([{ kind: 'endpoints', name, value: undefined }]).services)
    expect(zone.answer('asleep.shop.svc.cluster.local', 'A').kind).toBe('missing')
    expect(zone.answer('1.3.244.10.in-addr.arpa', 'PTR').kind).toBe('foreign')
  })
})

test('an address that two Services have has both names', () => {
  const { zone, store } = goldenZone()
  const value = service('test/copy', { clusterIPs: [ip('10.96.0.10')] })
  zone.update(store.apply([{ kind: 'service', key: value.key, value }]).services)
  expect(summary(zone.answer('10.0.96.10.in-addr.arpa', 'PTR')).answers).toEqual([
    '10.0.96.10.in-addr.arpa PTR copy.test.svc.cluster.local',
    '10.0.96.10.in-addr.arpa PTR web.shop.svc.cluster.local',
  ])
})

test('a chain of more than eight aliases ends', () => {
  const { zone, store } = goldenZone()
  const aliases = Array.from({ length: 12 }, (_, index) =>
    service(`test/a${index}`, {
      type: 'ExternalName',
      clusterIPs: [],
      externalName: `a${index + 1}.test.svc.cluster.local`,
    }),
  )
  const events = aliases.map((value) => ({ kind: 'service', key: value.key, value }) as const)
  zone.update(store.apply(events).services)
  const { answers } = summary(zone.answer('a0.test.svc.cluster.local', 'A'))
  expect(answers).toHaveLength(9)
})
