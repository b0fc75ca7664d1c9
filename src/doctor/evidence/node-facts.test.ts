import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diagnoseNodes } from '../diagnose.ts'
import { healthyNode } from '../testing/healthy-node.ts'
import { decodeNodeFacts } from './node-facts.ts'

test('facts survive JSON', () => {
  const facts = healthyNode()
  expect(decodeNodeFacts(JSON.parse(JSON.stringify(facts)))).toEqual(facts)
})

test.each([
  [null],
  [[]],
  ['facts'],
  [{}],
  [{ format: 2, node: 'a' }],
  [{ format: 1, node: '' }],
  [{ format: 1, node: 7 }],
])('%j is no document of facts', (json) => {
  expect(decodeNodeFacts(json)).toBeUndefined()
})

test('what is missing or wrong becomes what an absent value is', () => {
  const json = {
    format: 1,
    node: 'a',
    at: 'now',
    daemon: null,
    modules: 7,
    walks: [{ purpose: 'x' }, 3],
    interfaces: 'all',
    settings: { a: 1, b: 'two' },
    conntrack: { count: Infinity },
  }
  expect(decodeNodeFacts(json)).toMatchObject({
    at: 0,
    daemon: undefined,
    modules: {},
    interfaces: [],
    settings: { a: '', b: 'two' },
    conntrack: { count: 0, max: 0 },
    counters: undefined,
    walks: [
      { purpose: 'fromPod', outcomes: [] },
      { purpose: 'fromPod', port: 0 },
    ],
  })
})

test('texts are bounded and have no control characters; lists are bounded', () => {
  const facts = decodeNodeFacts({
    format: 1,
    node: 'a\u001b[31mb\n',
    kernel: 'x'.repeat(10_000),
    walks: Array.from({ length: 10_000 }, () => ({})),
  })
  expect([facts?.node, facts?.kernel.length, facts?.walks.length]).toEqual(['a?[31mb?', 500, 200])
})

test('names of Object.prototype are no fields', () => {
  const json: unknown = JSON.parse('{"format":1,"node":"a","__proto__":{"version":"evil"}}')
  expect(decodeNodeFacts(json)?.version).toBe('')
})

test('whatever another machine sends, checks do not throw', () => {
  const anything = fc.record({
    ...Object.fromEntries(Object.keys(healthyNode()).map((key) => [key, fc.anything()])),
    format: fc.constant(1),
    node: fc.constant('a'),
  })
  fc.assert(
    fc.property(anything, (json) => {
      const facts = decodeNodeFacts(json)
      expect(facts).toBeDefined()
      diagnoseNodes(
        new Map([
          ['a', facts!],
          ['b', healthyNode()],
          ['c', healthyNode()],
        ]),
      )
    }),
    { numRuns: 300 },
  )
})
