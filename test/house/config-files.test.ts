import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { root } from './source-file.ts'

const files = readdirSync(join(root, 'config'), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.yaml'),
)

test.each(files)('config/%s is valid YAML without duplicate keys', (file) => {
  const documents = parseAllDocuments(readFileSync(join(root, 'config', file), 'utf8'))
  expect([...documents].flatMap(({ errors }) => errors)).toEqual([])
  expect([...documents].length).toBeGreaterThan(0)
})

test('the alerts use no metric that docs/metrics.md does not explain', () => {
  const alerts = readFileSync(join(root, 'config/prometheus/alerts.yaml'), 'utf8')
  const explained = readFileSync(join(root, 'docs/metrics.md'), 'utf8')
  const used = [...alerts.matchAll(/\bnodeproxy_\w+/g)].map(([name]) =>
    name.replace(/_bucket$/, ''),
  )
  expect(used).not.toEqual([])
  expect(used.filter((name) => !explained.includes(`\`${name}\``))).toEqual([])
})
