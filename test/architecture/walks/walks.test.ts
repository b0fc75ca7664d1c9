import { expect, test } from 'vitest'
import { instrument } from './instrument.ts'
import { walkCount } from './walk-count.ts'

test.each([
  ['function a() { return 1 }', 'function a() {E(); return 1 }'],
  ['const a = () => 1', 'const a = () => (E(),1)'],
  ['const a = () => ({ b: 1 })', 'const a = () => (E(),({ b: 1 }))'],
  ['class A { b() {} }', 'class A { b() {E();} }'],
  [
    'const a = async () => { await b(() => c) }',
    'const a = async () => {E(); await b(() => (E(),c)) }',
  ],
  ['interface A { b(): void }', 'interface A { b(): void }'],
])('%s reports its entry', (text, expected) => {
  expect(instrument('a.ts', text, 'E()')).toBe(expected)
})

test('returns are entries into a file that the walk had entered', () => {
  const walk = ['src/a/x.ts', 'src/b/y.ts', 'src/lib/z.ts', 'src/b/y.ts', 'src/a/x.ts']
  expect(walkCount(walk)).toEqual({
    files: 2,
    entries: 3,
    returns: 1,
    folders: 2,
    order: ['src/a/x.ts', 'src/b/y.ts'],
  })
  expect(walkCount(walk, /^src\/b\//).files).toBe(1)
})
