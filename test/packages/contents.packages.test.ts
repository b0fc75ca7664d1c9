import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nodeProgram, ownProcessor } from '../../packaging/node-program.ts'
import { root } from '../support/on-demand/root.ts'
import { PROGRAMS, packageFile, VERSIONS } from './built-packages.ts'

/** The highest exposure that is accepted, times ten. */
const THRESHOLD = '35'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'np-contents-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function say(program: string, ...words: readonly string[]): string {
  return execFileSync(program, words, { encoding: 'utf8' })
}

describe.each(PROGRAMS)('the package %s', (name) => {
  const file = packageFile('new', name)

  test('says what it is and needs', () => {
    const fields = say('dpkg-deb', '--field', file)
    expect(fields).toContain(`Package: ${name}\nVersion: ${VERSIONS.new}\n`)
    expect(fields).toContain('Depends: libc6 (>= ')
    expect(fields).toMatch(/^Description: \S.*\n \S/m)
  })

  test('has files of root that everybody may read, in places of its own', () => {
    const lines = say('dpkg-deb', '--contents', file).trim().split('\n')
    const entry = /^(?:[d-]rw.r-.r-.|lrwxrwxrwx) root\/root +\d+ \S+ \S+ \.(\/\S*)/
    expect(lines.filter((line) => !entry.test(line))).toEqual([])
    const all = lines.map((line) => entry.exec(line)?.[1] ?? '')
    const paths = all.filter((path) => !path.endsWith('/'))
    const own = new RegExp(
      `^/(?:usr/lib/${name}/package/|usr/bin/${name}$|usr/share/doc/${name}/|etc/${name}/)`,
    )
    const others = paths.filter((path) => !own.test(path)).map((path) => basename(path))
    const expected = {
      'node-proxy': ['node-proxy.service'],
      'orch-server': [
        'orch-server-backup.service',
        'orch-server-backup.timer',
        'orch-server.service',
      ],
      orchctl: ['orchctl', 'orchctl.fish', '_orchctl'],
    }
    expect(others).toEqual(expected[name])
  })

  test('has Node without its symbols, as images do', () => {
    const { stripped } = nodeProgram(root, ownProcessor())
    const [, bytes] =
      new RegExp(` root/root +(\\d+) .* \\./usr/lib/${name}/package/bin/node$`, 'm').exec(
        say('dpkg-deb', '--contents', file),
      ) ?? []
    expect(Number(bytes)).toBe(stripped.length)
  })

  test('has hardened units', () => {
    say('dpkg-deb', '--extract', file, folder)
    const units = say('find', folder, '-name', '*.service').split('\n').filter(Boolean)
    expect(units).toHaveLength(name === 'orchctl' ? 0 : name === 'node-proxy' ? 1 : 2)
    for (const unit of units) {
      const words = ['security', '--offline=true', `--threshold=${THRESHOLD}`, unit]
      expect(say('systemd-analyze', ...words)).toContain('Overall exposure level')
    }
  })
})

test('equal inputs give equal bytes', { timeout: 120_000 }, () => {
  const program = join(root, 'packaging/main.ts')
  const options = ['--version', VERSIONS.new, '--compression', 'none', '--output', folder]
  execFileSync(
    'sh',
    ['-c', 'umask 077; exec "$0" "$@"', process.execPath, program, ...options, 'orchctl'],
    {
      env: { ...process.env, SOURCE_DATE_EPOCH: '1767225600', TZ: 'Asia/Tokyo' },
    },
  )
  const file = packageFile('new', 'orchctl')
  expect(digest(join(folder, basename(file)))).toBe(digest(file))
})

function digest(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
