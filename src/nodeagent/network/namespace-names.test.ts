import { expect, test } from 'vitest'
import { NamespaceNames } from './pod-network.ts'

test('names that people find, and never one for two', () => {
  const names = new NamespaceNames('orch-pod')
  const give = (uid: string, namespace: string, name: string) =>
    names.give({ uid, namespace, name })
  expect(give('1', 'default', 'web')).toBe('orch-pod-default-web')
  expect(give('2', 'default', 'web')).toMatch(/^orch-pod-default-web-[0-9a-f]{10}$/)
  expect(give('3', 'a-b', 'c')).toBe('orch-pod-a-b-c')
  expect(give('4', 'a', 'b-c')).toMatch(/^orch-pod-a-b-c-[0-9a-f]{10}$/)
  expect(give('1', 'default', 'web')).toBe('orch-pod-default-web')
  names.release('1')
  expect(names.of('1')).toBeUndefined()
  expect(give('5', 'default', 'web')).toBe('orch-pod-default-web')
})

test('the longest name is still the name of a file', () => {
  const names = new NamespaceNames('p'.repeat(63))
  const long = { namespace: 'n'.repeat(63), name: 'x'.repeat(253) }
  const given = ['1', '2'].map((uid) => names.give({ uid, ...long }))
  expect(new Set(given).size).toBe(2)
  expect(Math.max(...given.map((name) => name.length))).toBeLessThanOrEqual(255)
})
