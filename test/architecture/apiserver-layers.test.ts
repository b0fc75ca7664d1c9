import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiserverEdges, apiserverLayers, layerFault } from './apiserver-layers.ts'
import { isTest, readSources, root } from './source-file.ts'
import { circles, type Edge, mutualFolders } from './structure.ts'

const sources = await readSources('src/apiserver')
const edges = apiserverEdges(sources)

test('imports inside the API server go down the order of its layers', () => {
  expect(edges.length).toBeGreaterThan(500)
  expect(edges.map(layerFault).filter(Boolean)).toEqual([])
})

test('no files of the API server import each other in a circle, types included', () => {
  expect(circles(edges)).toEqual([])
  expect(mutualFolders(edges)).toEqual([])
})

test('the order names the folders that exist, and marks those that do not exist yet', () => {
  const missing = apiserverLayers.filter(
    ({ folder }) => !existsSync(join(root, 'src/apiserver', folder)),
  )
  expect(missing).toEqual(apiserverLayers.filter(({ planned }) => planned))
})

test('beside the folders there are only the composition and the process', () => {
  const beside = sources.map(({ path }) => path).filter((path) => path.split('/').length === 3)
  expect(beside.filter((path) => !isTest(path))).toEqual([
    'src/apiserver/api-server.ts',
    'src/apiserver/main.ts',
  ])
})

test('the README of the API server names every layer', () => {
  const text = readFileSync(join(root, 'src/apiserver/README.md'), 'utf8')
  const folders = apiserverLayers.map(({ folder }) => folder).filter((folder) => folder !== '')
  expect(folders.filter((folder) => !text.includes(`${folder}/`))).toEqual([])
})

const faulty: readonly (readonly [from: string, to: string, fault: string])[] = [
  ['verbs/get.ts', 'http/send.ts', 'imports upward'],
  ['api-server.ts', 'cellar/wine.ts', 'without a layer'],
  ['cellar/wine.ts', 'verbs/get.ts', 'without a layer'],
  ['background/allocation-repair/repair.ts', 'api-server.ts', 'imports upward'],
  ['kinds/service/resource.ts', 'background/service-cidr.ts', 'imports upward'],
  ['verbs/get.ts', 'testing/test-api.ts', 'only tests may'],
  ['verbs/get.ts', 'kinds/testing/rules-by-kind.ts', 'only tests may'],
]

test.each(faulty)('%s → %s: %s', (from, to, fault) => {
  expect(layerFault(edge(from, to))).toContain(fault)
})

test('a circle is found in whatever it hangs on, and so are folders that import each other', () => {
  const ring = [edge('a/1.ts', 'b/1.ts'), edge('b/1.ts', 'c/1.ts'), edge('c/1.ts', 'a/1.ts')]
  const tail = [edge('d/1.ts', 'a/1.ts'), edge('c/1.ts', 'e/1.ts')]
  expect(circles([...tail, ...ring])).toEqual([
    ['a', 'b', 'c'].map((folder) => `src/apiserver/${folder}/1.ts`),
  ])
  expect(circles([...tail, ...ring.slice(1)])).toEqual([])
  expect(mutualFolders([...tail, edge('a/2.ts', 'd/2.ts')])).toEqual([
    'src/apiserver/a ↔ src/apiserver/d',
  ])
})

function edge(from: string, to: string): Edge {
  return { from: `src/apiserver/${from}`, to: `src/apiserver/${to}` }
}
