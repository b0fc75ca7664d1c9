import { expect, test } from 'vitest'
import * as labelNames from '../../src/resources/label-names.ts'
import { isTest, readSources, type SourceFile } from './source-file.ts'
import { nameOf, parse, walk } from './syntax.ts'

const HOME = 'src/resources/label-names.ts'
/** What tests are made of: it stands for what clients send. */
const FIXTURES = /(?:^|\/)(?:testing\/|fixtures\.ts$)/

/** Names that mean nothing else: those with a brand, and those of several words. */
const names = new Set<string>(
  Object.values(labelNames)
    .flat()
    .filter((name) => /[./]|[a-z][A-Z]/.test(name)),
)

function writtenTwice(file: SourceFile): readonly string[] {
  if (file.path === HOME || isTest(file.path) || FIXTURES.test(file.path)) return []
  if (![...names].some((name) => file.text.includes(name))) return []
  const literals = [...walk(parse(file))].filter(([node]) => node.type === 'Literal')
  const written = literals.flatMap(([node]) => nameOf(node) ?? [])
  return written.filter((text) => names.has(text)).map((name) => `${file.path}: ${name}`)
}

test('names by which the modules understand each other are written in one place', async () => {
  expect((await readSources('src')).flatMap(writtenTwice)).toEqual([])
})

test.each([
  "const KEY = 'topology.kubernetes.io/zone'",
  "const labels = { 'kubernetes.io/hostname': 'a' }",
  "const gone = finalizers.includes('foregroundDeletion')",
])('%s is found', (text) => {
  expect(writtenTwice({ path: 'src/watch/a.ts', text })).toHaveLength(1)
})
