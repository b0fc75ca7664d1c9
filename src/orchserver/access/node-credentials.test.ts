import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { followNodeCredentials } from '../server.ts'
import { newFolder } from '../testing/new-folder.ts'

const DAY = 86_400_000
const START = Date.UTC(2030, 0, 1)

async function start(dataDir = newFolder()) {
  const clock = new FakeClock(START)
  const lines: string[] = []
  const log = {
    info: (_: object, message: string) => void lines.push(message),
    error: (_: object, message: string) => void lines.push(message),
  }
  const followed = await followNodeCredentials({ dataDir }, { clock, log: log as never })
  onTestFinished(() => followed.stop())
  return { dataDir, clock, lines, followed }
}

test('a client certificate of a user without groups, kept for this user only', async () => {
  const { dataDir, followed } = await start()
  const { cert, key, authority } = followed.current()
  const parsed = new X509Certificate(cert)
  expect(parsed.subject).toBe('CN=system:orch-server-node-client')
  expect(parsed.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
  expect(parsed.verify(new X509Certificate(authority).publicKey)).toBe(true)
  const pki = (name: string): string => join(dataDir, 'pki', name)
  expect(readFileSync(pki('ca.crt'), 'utf8')).toBe(authority)
  expect(readFileSync(pki('node-client.crt'), 'utf8')).toBe(cert)
  expect(readFileSync(pki('node-client.key'), 'utf8')).toBe(key)
  expect(statSync(pki('node-client.key')).mode & 0o777).toBe(0o600)
  expect((await start(dataDir)).followed.current()).toEqual(followed.current())
})

test('it is renewed while the server runs, before a third of its life is left', async () => {
  const { clock, followed, lines } = await start()
  const first = followed.current()
  clock.elapse(243 * DAY)
  await clock.advance(10_000)
  await expect.poll(() => clock.pending()).toEqual([10_000])
  expect(followed.current()).toBe(first)
  clock.elapse(DAY)
  await clock.advance(10_000)
  await expect.poll(() => followed.current().cert).not.toBe(first.cert)
  expect(followed.current().authority).toBe(first.authority)
  expect(lines).toEqual(['changed files were taken over'])
})
