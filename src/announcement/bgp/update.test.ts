import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Family, familyOf, formatIp, type IpAddress } from '../../lib/ip.ts'
import { MAX_BODY } from './messages.ts'
import { type Routes, updatesBetween } from './routes.ts'
import { FakeRoutes, readUpdate } from './testing/fake-peer.ts'
import { checkUpdate, parseCommunity, type UpdateContext } from './update.ts'

const EXTERNAL: UpdateContext = { localASN: 64_512, isInternal: false, hasLongASN: true }
const V4 = '192.0.2.50' as IpAddress
const V6 = '2001:db8::50' as IpAddress
const NEXT = { 4: '10.0.0.1' as IpAddress, 6: '2001:db8::1' as IpAddress }

/** The attributes with which a route of this family is announced, in hexadecimal. */
function attributesOf(family: Family, context: UpdateContext, communities: readonly string[] = []) {
  const ip = family === 4 ? V4 : V6
  const routes: Routes = new Map([[ip, { nextHop: NEXT[family], communities }]])
  const [body, ...more] = updatesBetween(new Map(), routes, context)
  expect([more, checkUpdate(body!)]).toEqual([[], undefined])
  const read = readUpdate(body!)
  expect([read.announced, read.nextHop]).toEqual([[ip], NEXT[family]])
  const hex = [...read.attributes].map(([type, value]) => [
    type,
    Buffer.from(value).toString('hex'),
  ])
  return Object.fromEntries(hex) as Readonly<Record<number, string>>
}

test.each<Family>([4, 6])('IPv%i: the AS path of each kind of session', (family) => {
  const path = (context: Partial<UpdateContext>) => {
    const attributes = attributesOf(family, { ...EXTERNAL, ...context })
    return [attributes[2], attributes[17], attributes[5]]
  }
  expect(path({})).toEqual(['02010000fc00', undefined, undefined])
  expect(path({ hasLongASN: false })).toEqual(['0201fc00', undefined, undefined])
  expect(path({ localASN: 65_537 })).toEqual(['020100010001', undefined, undefined])
  const translated = { localASN: 65_537, hasLongASN: false }
  expect(path(translated)).toEqual(['02015ba0', '020100010001', undefined])
  expect(path({ isInternal: true })).toEqual(['', undefined, '00000064'])
  expect(path({ ...translated, isInternal: true })).toEqual(['', undefined, '00000064'])
})

test('communities of both sizes, each once; a list longer than 255 octets', () => {
  const some = ['64512:100', 'no-export', '64512:1:2', '64512:100']
  const attributes = attributesOf(4, EXTERNAL, some)
  expect([attributes[8], attributes[32]]).toEqual(['fc000064ffffff01', '0000fc000000000100000002'])
  const many = Array.from({ length: 100 }, (_, at) => `1:${at}`)
  expect(attributesOf(6, EXTERNAL, many)[8]).toHaveLength(800)
})

test('the attributes of IPv4 routes are in the order of their types, as RFC 4271 recommends', () => {
  const route = { nextHop: NEXT[4], communities: ['1:2', '1:2:3'] }
  const contexts = [
    { ...EXTERNAL, localASN: 65_537, hasLongASN: false },
    { ...EXTERNAL, isInternal: true },
  ]
  for (const context of contexts) {
    const [body] = updatesBetween(new Map(), new Map([[V4, route]]), context)
    const types = [...readUpdate(body!).attributes.keys()]
    expect(types).toEqual(types.toSorted((a, b) => a - b))
  }
})

test('what is a community', () => {
  const texts = [
    '0:0',
    '65535:65535',
    '65536:1',
    '1:2:4294967295',
    '1:2:4294967296',
    '1',
    '01:2',
    'x',
    '1:2:3:4',
    'no-export',
    'constructor',
    '__defineGetter__',
  ]
  expect(texts.map((text) => parseCommunity(text) !== undefined)).toEqual([
    true,
    true,
    false,
    true,
    false,
    false,
    false,
    false,
    false,
    true,
    false,
    false,
  ])
})

const v4 = fc.nat(80).map((at) => `10.1.${at >> 8}.${at & 0xff}` as IpAddress)
const v6 = fc
  .nat(80)
  .map((at) =>
    formatIp(
      Uint8Array.from([0x20, 1, 0xd, 0xb8, ...Array<number>(10).fill(0), at >> 8, at & 0xff]),
    ),
  )
const communities = fc.constantFrom<readonly string[]>([], ['1:2'], ['1:2', '1:2:3'])
const routes: fc.Arbitrary<Routes> = fc
  .tuple(fc.uniqueArray(fc.oneof(v4, v6), { maxLength: 60 }), communities, communities, fc.nat(4))
  .map(([ips, one, other, turn]) => {
    const attributes = (ip: IpAddress, at: number) => ({
      nextHop: NEXT[familyOf(ip)],
      communities: at % 5 === turn ? other : one,
    })
    return new Map(ips.map((ip, at) => [ip, attributes(ip, at)]))
  })

test('after any changes a peer holds what it should, and nothing is sent without a change', () => {
  const check = (history: readonly Routes[]) => {
    const peer = new FakeRoutes()
    let before: Routes = new Map()
    for (const next of history) {
      for (const body of updatesBetween(before, next, EXTERNAL)) {
        expect(checkUpdate(body)).toBe(undefined)
        peer.take(body)
      }
      expect([...peer.routes.keys()].toSorted()).toEqual([...next.keys()].toSorted())
      const hops = [...peer.routes].every(([ip, { nextHop }]) => nextHop === NEXT[familyOf(ip)])
      expect([hops, updatesBetween(next, next, EXTERNAL).length]).toEqual([true, 0])
      before = next
    }
    for (const [ip, { communities: wanted }] of before) {
      expect(peer.routes.get(ip)!.communities.length).toBe(
        wanted.length === 0 ? 1 : wanted.length === 1 ? 9 : 33,
      )
    }
  }
  fc.assert(fc.property(fc.array(routes, { maxLength: 6 }), check), { numRuns: 300 })
})

test('five thousand routes of each family need few UPDATEs, none longer than a message', () => {
  const ips = [
    ...Array.from({ length: 5_000 }, (_, at) => `10.1.${at >> 8}.${at & 0xff}` as IpAddress),
    ...Array.from({ length: 5_000 }, (_, at) => `2001:db8::${(at + 1).toString(16)}` as IpAddress),
  ]
  const all: Routes = new Map(
    ips.map((ip) => [ip, { nextHop: NEXT[familyOf(ip)], communities: ['1:2'] }]),
  )
  const peer = new FakeRoutes()
  const announced = updatesBetween(new Map(), all, EXTERNAL)
  for (const body of announced) peer.take(body)
  expect(peer.routes.size).toBe(10_000)
  const withdrawn = updatesBetween(all, new Map(), EXTERNAL)
  for (const body of withdrawn) peer.take(body)
  expect(peer.routes.size).toBe(0)
  const longest = Math.max(...[...announced, ...withdrawn].map(({ length }) => length))
  expect([longest <= MAX_BODY, longest > MAX_BODY - 17]).toEqual([true, true])
  expect([announced.length, withdrawn.length]).toEqual([29, 28])
})
