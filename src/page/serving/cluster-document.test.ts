import { beforeAll, expect, test } from 'vitest'
import { type PageFiles, readPageFiles } from './page-files.ts'

let [node, cluster]: readonly PageFiles[] = []
beforeAll(async () => {
  ;[node, cluster] = await Promise.all([
    readPageFiles(),
    readPageFiles({ document: 'cluster.html' }),
  ])
})

function textOf(pages: PageFiles | undefined): string {
  return new TextDecoder().decode(pages?.files.get('')?.bytes)
}

function importMapOf(pages: PageFiles | undefined): string {
  const [, map = ''] = /<script type="importmap">([^]*?)<\/script>/.exec(textOf(pages)) ?? []
  return map
}

test('the document of the cluster names its own start, and everything that it names is served', () => {
  const names = [...textOf(cluster).matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, name = '']) => name,
  )
  expect(names).toContain('assets/main-cluster.ts')
  expect(names.length).toBeGreaterThan(6)
  for (const name of names) expect(cluster?.files.has(name)).toBe(true)
  expect(textOf(node)).toContain('assets/main.ts')
})

test('both documents have the same import map, so the same policy, and nothing inline beside it', () => {
  expect(importMapOf(cluster)).toBe(importMapOf(node))
  expect(cluster?.policy).toBe(node?.policy)
  expect(textOf(cluster)).not.toMatch(/ style=| on\w+=|<style|https?:/)
})
