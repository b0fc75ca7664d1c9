import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { arbitraryAction, arbitraryRule } from '../testing/arbitrary-rbac.ts'
import { naivelyPermitted } from '../testing/naive-rbac.ts'
import { rulesOfRole } from './policy-rule.ts'
import { uncoveredRules } from './uncovered-rules.ts'

const READ = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'services'] }
const rules = (...of: object[]) => rulesOfRole({ rules: of as never })

test.each([
  ['the same', [READ], [READ], 0],
  ['less', [{ ...READ, verbs: ['get'] }], [READ], 0],
  ['more', [{ ...READ, verbs: ['get', 'delete'] }], [READ], 2],
  [
    'parts of two rules',
    [READ],
    [
      { ...READ, verbs: ['get'] },
      { ...READ, verbs: ['list'] },
    ],
    0,
  ],
  ['every verb', [{ ...READ, verbs: ['*'] }], [READ], 2],
  ['one object of all', [{ ...READ, resourceNames: ['a'] }], [READ], 0],
  ['all objects of one', [READ], [{ ...READ, resourceNames: ['a'] }], 4],
  ['a subresource of a resource', [{ ...READ, resources: ['pods/log'] }], [READ], 2],
  [
    'a subresource of all',
    [{ ...READ, resources: ['pods/log'] }],
    [{ ...READ, resources: ['*/log'] }],
    0,
  ],
  [
    'another name of a group',
    [{ ...READ, apiGroups: ['networking.orch.io'] }],
    [{ ...READ, apiGroups: ['networking.k8s.io'] }],
    0,
  ],
  [
    'all paths below',
    [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
    [{ verbs: ['get'], nonResourceURLs: ['/a*'] }],
    0,
  ],
  [
    'more paths',
    [{ verbs: ['get'], nonResourceURLs: ['/a*'] }],
    [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
    1,
  ],
  [
    'paths with all resources',
    [{ verbs: ['get'], nonResourceURLs: ['/a'] }],
    [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    1,
  ],
  ['nothing', [], [], 0],
] as const)('%s: %j of %j leaves %d parts', (_what, granted, held, expected) => {
  expect(uncoveredRules(rules(...granted), rules(...held))).toHaveLength(expected)
})

test('rules too large to compare are said to be so, unless one held rule has them all', () => {
  const many = Array.from({ length: 300 }, (_, index) => `r${index}`)
  const huge = rules({ verbs: many, apiGroups: [''], resources: many })
  expect(uncoveredRules(huge, rules(READ))).toBe('tooMany')
  expect(uncoveredRules(huge, rules({ verbs: ['*'], apiGroups: [''], resources: ['*'] }))).toEqual(
    [],
  )
})

const names = (count: number, letter: string) =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`)
const each = (count: number, resource: string) =>
  rules(...names(count, resource).map((one) => ({ ...READ, resources: [one] })))
const NAMES = names(50_000, 'a')
const ALL_BUT_ONE = NAMES.slice(0, -1)

test.each([
  ['many rules by many', each(20_000, 'a'), each(2000, 'b')],
  ['rules of few combinations by many', each(9000, 'a'), each(2000, 'b')],
  [
    'many paths of one rule by many of another',
    rules({ verbs: ['get'], nonResourceURLs: names(15_000, '/a') }),
    rules({ verbs: ['get'], nonResourceURLs: names(2000, '/b') }),
  ],
  [
    'one rule by many with long lists',
    rules(READ),
    rules(
      ...names(100, 'v').map((verb) => ({ ...READ, verbs: [verb], resourceNames: ALL_BUT_ONE })),
    ),
  ],
  ['many equal rules by many', rules(...names(40_000, 'a').map(() => READ)), each(2000, 'b')],
  [
    'many names by many rules that hold them, but one',
    rules({ ...READ, resources: ['x'], resourceNames: NAMES }),
    rules(
      ...names(2000, 'a').map(() => ({ ...READ, resources: ['x'], resourceNames: ALL_BUT_ONE })),
    ),
  ],
])('one question compares no more than a bound: %s', (_what, granted, held) => {
  expect(uncoveredRules(granted, held)).toBe('tooMany')
})

test('long lists of one rule are compared at once, in whichever order they are', () => {
  const verbs = names(50_000, 'v')
  const held = rules({ ...READ, verbs: verbs.toReversed() })
  expect(uncoveredRules(rules({ ...READ, verbs }), held)).toEqual([])
})

test('who holds all that is granted can do all that the grant permits', () => {
  const list = fc.array(arbitraryRule, { maxLength: 3 })
  fc.assert(
    fc.property(list, list, arbitraryAction, (granted, held, action) => {
      const uncovered = uncoveredRules(rules(...granted), rules(...held))
      const permits = (rule: JsonObject): boolean => naivelyPermitted(rule, action)
      if (uncovered === 'tooMany' || !granted.some(permits) || held.some(permits)) return
      expect(uncovered).not.toEqual([])
    }),
    { numRuns: 2000 },
  )
})
