import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Element, Rule, SetSpec } from '../objects.ts'
import {
  digestOf,
  digestOfChain,
  digestOfElement,
  digestOfSet,
  type PlacedElement,
  sumOf,
} from './digest.ts'

const bytes = fc.uint8Array({ minLength: 0, maxLength: 24 }).map((one) => Buffer.from(one))
const verdict = fc.constantFrom(
  { kind: 'drop' } as const,
  { kind: 'goto', chain: 'choose-1' } as const,
  { kind: 'jump', chain: 'choose-1' } as const,
)
const element: fc.Arbitrary<PlacedElement> = fc.record({
  set: fc.constantFrom('services', 'endpoints'),
  element: fc.record(
    {
      key: bytes,
      keyEnd: bytes,
      data: fc.oneof(bytes, verdict),
      timeout: fc.integer({ min: 1, max: 90_000_000 }),
      comment: fc.string({ minLength: 1, maxLength: 10 }),
    },
    { requiredKeys: ['key'] },
  ),
})

test('the digest of elements does not depend on their order, and parts can be added up', () => {
  fc.assert(
    fc.property(fc.array(element), fc.nat(), (elements, at) => {
      const cut = elements.length === 0 ? 0 : at % elements.length
      const [first, rest] = [elements.slice(0, cut), elements.slice(cut)]
      expect(digestOf([...rest, ...first])).toBe(digestOf(elements))
      expect(sumOf([digestOf(first), digestOf(rest)])).toBe(digestOf(elements))
    }),
  )
})

test('different elements have different digests', () => {
  fc.assert(
    fc.property(element, element, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other)
      expect(digestOfElement(one) === digestOfElement(other)).toBe(isSame)
    }),
  )
})

const key = Buffer.from('0a000001060000000050000000000000', 'hex')
const data = Buffer.from('0ab400011f900000', 'hex')
const given: Element = { key, data, comment: 'a/b:c/TCP/4' }
const place = (one: Element, set = 'endpoints') => ({ set, element: one })

test.each<[string, PlacedElement]>([
  ['set', place(given, 'inside-endpoints')],
  ['key', place({ ...given, key: Buffer.from(key).fill(1, 12, 13) })],
  ['data', place({ ...given, data: Buffer.from(data).fill(1, 7) })],
  ['end of a range', place({ ...given, keyEnd: key })],
  ['timeout', place({ ...given, timeout: 1 })],
  ['comment', place({ ...given, comment: 'a/b:c/TCP/6' })],
  ['no data', place({ key, comment: 'a/b:c/TCP/4' })],
  ['a verdict', place({ ...given, data: { kind: 'drop' } })],
])('it depends on: %s', (_what, other) => {
  expect(digestOfElement(other)).not.toBe(digestOfElement(place(given)))
})

test('verdicts differ by kind and by chain', () => {
  const digests = [
    { kind: 'goto', chain: 'a' } as const,
    { kind: 'jump', chain: 'a' } as const,
    { kind: 'goto', chain: 'b' } as const,
    { kind: 'drop' } as const,
    { kind: 'return' } as const,
  ].map((one) => digestOfElement(place({ key, data: one })))
  expect(new Set(digests).size).toBe(5)
})

test('two keys that exchange their data are another digest', () => {
  const other = { key: Buffer.from(key).fill(1, 12, 13), data: Buffer.from(data).fill(2, 3, 4) }
  const exchanged = [
    { key, data: other.data },
    { key: other.key, data },
  ]
  const digest = (elements: readonly Element[]) => digestOf(elements.map((one) => place(one)))
  expect(digest(exchanged)).not.toBe(digest([{ key, data }, other]))
})

test('what only reading shows does not count', () => {
  const read = { ...given, timeout: 0, expires: 5, counter: { packets: 1n, bytes: 2n } }
  expect(digestOfElement(place(read))).toBe(digestOfElement(place(given)))
})

test('100,000 elements have as many digests', () => {
  const digests = Array.from({ length: 100_000 }, (_, n) => {
    const its = Buffer.from(key)
    its.writeUInt32LE(n, 12)
    return digestOfElement(place({ key: its, data }))
  })
  expect(new Set(digests).size).toBe(100_000)
})

const set: SetSpec = { key: ['ipv4_addr', 'inet_proto'], data: 'verdict', comment: 'x' }
const rule: Rule = { expressions: [{ type: 'meta', key: 'mark', to: 8 }], comment: 'x' }
const hook = { type: 'nat', hook: 'prerouting', priority: -100 } as const

test('descriptions and rules: the order of fields does not count, nor undefined ones', () => {
  const again = { comment: 'x', data: 'verdict', key: ['ipv4_addr', 'inet_proto'] } as const
  expect(digestOfSet(again)).toBe(digestOfSet(set))
  const read = { comment: 'x', expressions: [{ to: 8, key: 'mark', type: 'meta' }] } as const
  expect(digestOfChain({ hook }, [read])).toBe(digestOfChain({ hook }, [rule]))
  const absent = { hook: undefined } as unknown as { hook: typeof hook }
  expect(digestOfChain(absent, [])).toBe(digestOfChain({}, []))
})

test.each<[string, SetSpec]>([
  ['key', { ...set, key: ['inet_proto', 'ipv4_addr'] }],
  ['data', { ...set, data: ['ipv4_addr'] }],
  ['flag', { ...set, isInterval: true }],
  ['other flag', { ...set, isDynamic: true }],
  ['size', { ...set, size: 1 }],
  ['comment', { ...set, comment: 'y' }],
])('the digest of a set depends on its %s', (_what, other) => {
  expect(digestOfSet(other)).not.toBe(digestOfSet(set))
})

test('the digest of a chain depends on its hook, its rules and their order', () => {
  const other: Rule = { expressions: [{ type: 'meta', key: 'mark', to: 9 }], comment: 'x' }
  const value: Rule = { expressions: [{ type: 'cmp', from: 8, is: 'equal', value: key }] }
  const longer: Rule = {
    expressions: [{ type: 'cmp', from: 8, is: 'equal', value: Buffer.concat([key, key]) }],
  }
  const digests = [
    digestOfChain({ hook }, [rule]),
    digestOfChain({ hook: { ...hook, priority: 100 } }, [rule]),
    digestOfChain({}, [rule]),
    digestOfChain({}, [rule, other]),
    digestOfChain({}, [other, rule]),
    digestOfChain({}, [rule, rule]),
    digestOfChain({}, [{ ...rule, comment: 'y' }]),
    digestOfChain({}, [value]),
    digestOfChain({}, [longer]),
    digestOfChain({}, []),
  ]
  expect(new Set(digests).size).toBe(digests.length)
})
