import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { applyObject } from './apply-object.ts'
import { fieldChanges, fieldsOfValue } from './field-changes.ts'
import { difference, type FieldSet, intersection, membersOf, pathText, union } from './field-set.ts'
import type { Owner } from './owner.ts'
import { structureOf } from './structure.ts'

const structure = structureOf('core.v1.Service')

interface State {
  readonly object: JsonObject
  readonly owners: readonly Owner[]
}

const EMPTY: State = { object: {}, owners: [] }

function apply(state: State, name: string, applied: JsonObject): State {
  const writer = { name, operation: 'Apply', subresource: '', apiVersion: 'v1', time: '' } as const
  const { object: live, owners } = state
  const result = applyObject({ structure, live, applied, owners, writer, force: true })
  if ('conflicts' in result) throw new Error('a forced apply met a conflict')
  return result
}

function fieldsIn(state: State): FieldSet {
  return fieldsOfValue(structure, state.object)
}

const few = ['a', 'b', 'c', 'd']

/** Objects of one half of the names and port numbers. */
function objects(half: 0 | 1): fc.Arbitrary<JsonObject> {
  const names = fc.constantFrom(...few.map((name) => `${name}${half}`))
  const text = fc.constantFrom('1', '2')
  const port = fc.record(
    {
      port: fc.integer({ min: 1, max: 4 }).map((number) => 2 * number + half),
      protocol: fc.constantFrom('TCP', 'UDP'),
      name: text,
      targetPort: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: ['port'], noNullPrototype: true },
  )
  const identity = (one: { port: number; protocol?: string }) =>
    `${one.port}/${one.protocol ?? 'TCP'}`
  const metadata = fc.record(
    {
      labels: fc.dictionary(names, text, { minKeys: 1, noNullPrototype: true }),
      finalizers: fc.uniqueArray(names, { minLength: 1 }),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  const ports = fc.uniqueArray(port, { minLength: 1, selector: identity })
  const spec = fc.record({ ports }, { requiredKeys: [], noNullPrototype: true })
  return fc
    .record({ metadata, spec }, { noNullPrototype: true })
    .map((object) => filled(structuredClone(object) as unknown as JsonObject))
}

/** Without empty parts, which would be owned as such. */
function filled(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([, part]) => Object.keys(part as JsonObject).length > 0),
  )
}

function texts(set: FieldSet): readonly string[] {
  return [...membersOf(set)].map(pathText)
}

/** A port that stays keeps these, whichever owner has them. */
const isKey = (path: readonly string[]): boolean =>
  path.at(-2)?.startsWith('k:') === true && ['f:port', 'f:protocol'].includes(path.at(-1)!)

const any = fc.oneof(objects(0), objects(1))
const history = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), any), { maxLength: 5 })

function after(steps: readonly (readonly [string, JsonObject])[]): State {
  return steps.reduce((state, [name, applied]) => apply(state, name, applied), EMPTY)
}

test('applying twice is applying once', () => {
  fc.assert(
    fc.property(history, any, (steps, applied) => {
      const once = apply(after(steps), 'a', applied)
      expect(apply(once, 'a', applied)).toEqual(once)
    }),
  )
})

test('what was applied is there, and its writer owns exactly that', () => {
  fc.assert(
    fc.property(history, any, (steps, applied) => {
      const state = apply(after(steps), 'a', applied)
      const own = fieldsOfValue(structure, applied)
      expect(state.owners.find(({ name }) => name === 'a')?.fields ?? {}).toEqual(own)
      expect(fieldChanges(structure, state.object, applied).changed).toEqual({})
    }),
  )
})

test('two appliers of disjoint fields both get theirs, in either order', () => {
  fc.assert(
    fc.property(objects(0), objects(1), (a, b) => {
      const ab = fieldsIn(apply(apply(EMPTY, 'a', a), 'b', b))
      expect(ab).toEqual(fieldsIn(apply(apply(EMPTY, 'b', b), 'a', a)))
      expect(ab).toEqual(union(fieldsOfValue(structure, a), fieldsOfValue(structure, b)))
    }),
  )
})

test('an applier that drops everything removes exactly what it owned alone', () => {
  fc.assert(
    fc.property(history, any, (steps, applied) => {
      const before = apply(after(steps), 'a', applied)
      const left = apply(before, 'a', {})
      const others = before.owners.filter(({ name }) => name !== 'a')
      const kept = others.reduce((all, { fields }) => union(all, fields), {} as FieldSet)
      const own = fieldsOfValue(structure, applied)
      const lost = difference(fieldsIn(before), fieldsIn(left))
      expect(fieldChanges(structure, before.object, left.object).changed).toEqual({})
      expect(texts(difference(kept, fieldsIn(left)))).toEqual([])
      const survivors = intersection(difference(own, kept), fieldsIn(left))
      expect([...membersOf(survivors)].filter((path) => !isKey(path))).toEqual([])
      for (const path of membersOf(difference(lost, own))) {
        expect(texts(own)).toContain(pathText(path.slice(0, -1)))
      }
    }),
  )
})
