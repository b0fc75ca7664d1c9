import { expect, test } from 'vitest'
import { touches } from './touches.ts'

const texts = [
  { path: 'src/kinds/config-map.ts', text: '' },
  { path: 'src/a.ts', text: "import { configMaps } from './kinds/config-map/resource.ts'" },
  { path: 'src/b.ts', text: '/** Not a ConfigMap. */\nconst map = config' },
  { path: 'src/c.ts', text: "const KIND = 'ConfigMap'" },
]

test('files that name a kind in their path or code are found, those that describe it are not', () => {
  expect(touches('ConfigMap', texts)).toEqual(['src/kinds/config-map.ts', 'src/a.ts', 'src/c.ts'])
})
