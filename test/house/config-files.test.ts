import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { root } from './source-file.ts'

const files = readdirSync(join(root, 'config'), { recursive: true, encoding: 'utf8' })
const alerts = files.filter((file) => file.startsWith('prometheus/'))
const units = files.filter((file) => file.startsWith('systemd/'))

function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

test.each(files.filter((file) => file.endsWith('.yaml')))(
  'config/%s is valid YAML without duplicate keys',
  (file) => {
    const documents = parseAllDocuments(textOf(join('config', file)))
    expect([...documents].flatMap(({ errors }) => errors)).toEqual([])
    expect([...documents].length).toBeGreaterThan(0)
  },
)

test.each(alerts)('config/%s uses no metric that the documentation does not explain', (file) => {
  const pages = readdirSync(join(root, 'docs')).filter((page) => page.endsWith('metrics.md'))
  const explained = pages.map((page) => textOf(join('docs', page))).join('')
  const metric = /\b(?:nodeproxy|apiserver|workqueue|controller|orchserver)_\w+/g
  const used = [...textOf(join('config', file)).matchAll(metric)].map(([name]) =>
    name.replace(/_(?:bucket|count|sum)$/, ''),
  )
  expect(used).not.toEqual([])
  expect(used.filter((name) => !explained.includes(`\`${name}\``))).toEqual([])
})

test.each(units)('config/%s starts a program and names a page that exist', (file) => {
  const installed = textOf(join('config', file)).matchAll(/\/opt\/node-proxy\/([\w/.-]+)/g)
  const missing = [...installed].filter(([, path = '']) => !existsSync(join(root, path)))
  expect(missing).toEqual([])
})

test.each(units)('docs/operate says what config/%s is for', (file) => {
  const pages = ['install.md', 'orch-server.md'].map((page) => textOf(`docs/operate/${page}`))
  expect(pages.join('')).toContain(`config/${file}`)
})
