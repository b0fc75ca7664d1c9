import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programOf } from '../../packaging/checkout.ts'
import { debianVersion, packagedUnit } from '../../packaging/debian-package.ts'
import { root } from '../support/on-demand/root.ts'

const UNITS = join(root, 'config/systemd')

test('a launcher without a program is refused', () => {
  expect(() => programOf(root, 'scripts/setup')).toThrow('scripts/setup starts no src/…/main.ts')
})

test.each(readdirSync(UNITS))('the packaged %s names files of packages only', (unit) => {
  const text = readFileSync(join(UNITS, unit), 'utf8')
  const packaged = packagedUnit(text, 'some-package')
  expect(packaged).not.toMatch(/\/opt\/|NODE_COMPILE_CACHE|CacheDirectory/)
  expect(packaged.includes('ExecStart=')).toBe(text.includes('ExecStart='))
  expect(packaged.match(/\/usr\/bin\/(?:node-proxy|orch-server) /g)?.length).toBe(
    text.match(/\/opt\/node-proxy\/bin\//g)?.length,
  )
})

test('a unit with another file below /opt is refused', () => {
  const text = 'ExecStart=/opt/node-proxy/scripts/node x.ts'
  expect(() => packagedUnit(text, 'node-proxy')).toThrow(
    'a unit of node-proxy names a file below /opt',
  )
})

test.each([
  ['0.1.0', '0.1.0'],
  ['0.2.0-rc.1', '0.2.0~rc.1'],
])('version %s is %s for Debian, which sorts it before its release', (version, expected) => {
  expect(debianVersion(version)).toBe(expected)
  if (version === expected) return
  const compared = spawnSync('dpkg', ['--compare-versions', expected, 'lt', '0.2.0'])
  expect(compared.status ?? 0).toBe(0)
})

test.each([
  [['--compression', 'lz4'], '--compression: "lz4" is unknown: write one of xz, zstd, gzip, none'],
  [['kubectl'], 'NAME: "kubectl" is unknown: write one of node-proxy, orch-server, orchctl, npm'],
  [
    ['--version', 'new'],
    '--version: "new" is no semantic version: write one as 0.1.0 or 0.2.0-rc.1',
  ],
  [
    ['--checkout', '/usr'],
    '--checkout: /usr has no package.json: name a checkout in which npm ci ran',
  ],
])('npm run packages -- %j is refused', (words, message) => {
  const said = spawnSync(process.execPath, [join(root, 'packaging/main.ts'), ...words], {
    encoding: 'utf8',
  })
  expect(said).toMatchObject({ status: 2, stdout: '', stderr: `packages: ${message}\n` })
})
