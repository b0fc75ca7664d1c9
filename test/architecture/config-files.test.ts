import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { isExplained, METRIC_PREFIX } from './explained-metrics.ts'
import { root } from './source-file.ts'

const files = readdirSync(join(root, 'config'), { recursive: true, encoding: 'utf8' })
const alerts = files.filter((file) => /^prometheus\/.*alerts\.yaml$/.test(file))
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
  const metric = new RegExp(`\\b${METRIC_PREFIX}\\w+`, 'g')
  const used = [...textOf(join('config', file)).matchAll(metric)].map(([name]) => name)
  expect(used).not.toEqual([])
  expect(used.filter((name) => !isExplained(name))).toEqual([])
})

test.each(units)('config/%s starts a program and names a page that exist', (file) => {
  const installed = textOf(join('config', file)).matchAll(/\/opt\/node-proxy\/([\w/.-]+)/g)
  const missing = [...installed].filter(([, path = '']) => !existsSync(join(root, path)))
  expect(missing).toEqual([])
})

/** Of ten times the number that systemd-analyze prints: what a daemon with CAP_NET_ADMIN can reach. */
const MAX_EXPOSURE = 35
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0

test.runIf(hasAnalyze).each(units.filter((file) => file.endsWith('.service')))(
  'config/%s is sandboxed',
  (file) => {
    const limit = ['--offline=true', `--threshold=${MAX_EXPOSURE}`]
    const words = ['security', ...limit, join(root, 'config', file)]
    const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' })
    expect({ status, exposure: stdout.split('\n').at(-2) }).toMatchObject({ status: 0 })
  },
)

test.each(units)('docs/operate says what config/%s is for', (file) => {
  const pages = ['install.md', 'orch-server.md'].map((page) => textOf(`docs/operate/${page}`))
  expect(pages.join('')).toContain(`config/${file}`)
})
