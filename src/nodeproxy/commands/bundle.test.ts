import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBundle, writeBundle } from './bundle-file.ts'
import { redact } from './record-command.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'np-bundle-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const FILES = new Map([
  ['README.txt', 'words'],
  ['kernel/01-ip.txt', 'ä'.repeat(300_000)],
  ['empty.txt', ''],
])

test('the files of a bundle read back as they were; only its owner may read it', async () => {
  const path = join(folder, 'node.tar.gz')
  await writeBundle(path, FILES, new Date(0))
  expect(await readBundle(path)).toEqual(FILES)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a present file is not overwritten', async () => {
  const path = join(folder, 'node.tar.gz')
  writeFileSync(path, 'precious')
  await expect(writeBundle(path, FILES, new Date(0))).rejects.toMatchObject({
    code: 'NP_NODEPROXY_BUNDLE',
    message: expect.stringContaining('EEXIST'),
  })
  expect(readFileSync(path, 'utf8')).toBe('precious')
})

test.each([
  ['absent', undefined],
  ['no archive', Buffer.from('words')],
  ['compressed words', gzipSync('words '.repeat(1000))],
])('%s is not a bundle', async (_, content) => {
  const path = join(folder, 'file')
  if (content !== undefined) writeFileSync(path, content)
  await expect(readBundle(path)).rejects.toMatchObject({ code: 'NP_NODEPROXY_BUNDLE' })
})

test('a bundle that was cut is not a bundle', async () => {
  const path = join(folder, 'node.tar.gz')
  await writeBundle(path, FILES, new Date(0))
  writeFileSync(path, readFileSync(path).subarray(0, -30))
  await expect(readBundle(path)).rejects.toMatchObject({ code: 'NP_NODEPROXY_BUNDLE' })
})

test.each([
  [
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nrest',
    '[redacted]\nrest',
  ],
  ['a eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln b', 'a [redacted] b'],
  ['Authorization: Bearer abcdefgh12345', 'Authorization: Bearer [redacted]'],
  ['https://user:pass@host/', 'https://[redacted]@host/'],
  ['{"password": "abc", "port": 1}', '{"password": "[redacted]", "port": 1}'],
  ['token: abc', 'token: "[redacted]"'],
])('%j becomes %j', (text, expected) => {
  expect(redact(text)).toBe(expected)
})

test.each([
  '-A INPUT -p tcp -m comment --comment "bearer of news" -j ACCEPT',
  '{"tokenFile":"/var/run/token","kubeconfig":"/etc/x"}',
  'tcp LISTEN 0 128 127.0.0.1:8080 0.0.0.0:*',
  'add element inet node-proxy map { 10.0.0.1 . tcp . 80 : goto service-1 }',
])('%j stays', (text) => {
  expect(redact(text)).toBe(text)
})
