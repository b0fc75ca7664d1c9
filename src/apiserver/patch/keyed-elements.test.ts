import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { KeyedElements } from './strategic-merge.ts'

const LIST: readonly Json[] = [{ port: 1, a: 1 }, 'x', { port: 1, a: 2 }, { port: 2 }]

test('of equal elements the first counts, the later ones stay', () => {
  const elements = new KeyedElements(LIST, 'port')
  expect(elements.get(1)).toEqual({ port: 1, a: 1 })
  elements.set(1, { port: 1, a: 3 })
  elements.set(3, { port: 3 })
  expect(elements.list()).toEqual([{ port: 1, a: 3 }, ...LIST.slice(1), { port: 3 }])
})

test('what was deleted comes back at the end', () => {
  const elements = new KeyedElements(LIST, 'port')
  elements.delete(2)
  elements.delete(7)
  expect([elements.get(2), elements.list()]).toEqual([undefined, LIST.slice(0, 3)])
  elements.set(2, { port: 2, b: 1 })
  expect(elements.list()).toEqual([...LIST.slice(0, 3), { port: 2, b: 1 }])
})
