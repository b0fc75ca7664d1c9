import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const FOLDER = new URL('../../kernel/explain/', import.meta.url)

/** Alterations by hand that explain has to name, of all modes; one that is removed needs another in its place. */
const AT_LEAST = 63

test.each([
  ['differences.test.ts', 20],
  ['nftables-differences.test.ts', 15],
  ['ipvs-differences.ipvs.test.ts', 10],
  ['userspace-differences.test.ts', 6],
])('%s runs at least %i alterations, and leaves none out', (name, least) => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8')
  expect(countOf(text)).toBeGreaterThanOrEqual(least)
  expect(text).toContain(
    "test.each(ALTERATIONS)('$name', async (alteration) => {\n  await expectNamed(",
  )
  expect(text).not.toMatch(/\b(?:skip|only|todo|fails|slice|filter)\b\(/)
})

test('explain has to name enough alterations in all', () => {
  const texts = globSync('*differences*.test.ts', { cwd: FOLDER }).map((name) =>
    readFileSync(new URL(name, FOLDER), 'utf8'),
  )
  expect(texts.reduce((sum, text) => sum + countOf(text), 0)).toBeGreaterThanOrEqual(AT_LEAST)
})

/** Every alteration has a name and what explain must say. */
function countOf(text: string): number {
  const [, table = ''] = text.split('const ALTERATIONS: readonly Alteration[] = [\n')
  const entries = table
    .slice(0, table.indexOf('\n]\n'))
    .split(/^ {2}\{$/m)
    .slice(1)
  return entries.filter(
    (one) => /^ {4}name: /m.test(one) && /^ {4}named:\s+(?:\/|[A-Z]+,$)/m.test(one),
  ).length
}
