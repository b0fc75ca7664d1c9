import { beforeEach, expect, test } from 'vitest'
import { isUserspace } from '../support/lab/daemon-config.ts'
import { logged } from '../support/lab/log-lines.ts'
import { useLab } from '../support/lab/use-lab.ts'

const lab = useLab()
beforeEach(() => lab().reset())

/** The daemon reports within half a minute; the rest is for a loaded machine. */
const REPORTED = { timeout: 45_000 }

function reasonsInLog(): readonly unknown[] {
  return logged(lab().daemon).flatMap(({ level, reason }) => (level === 'warn' ? [reason] : []))
}

test('the daemon reports a server that hangs behind open watches, and its recovery', async () => {
  const readyz = async () => (await lab().daemon.http(10256, '/readyz')).body
  await expect.poll(readyz, { timeout: 15_000 }).toContain('"ready":true')
  const before = reasonsInLog().length
  lab().apiServer.signal('SIGSTOP')
  try {
    const silence = 'the API server is silent: no answer from '
    await expect.poll(readyz, REPORTED).toContain(silence)
    expect(reasonsInLog().slice(before)).toEqual(['timeout'])
  } finally {
    lab().apiServer.signal('SIGCONT')
  }
  await expect.poll(readyz, REPORTED).toContain('"ready":true')
  const messages = () => logged(lab().daemon).map(({ msg }) => msg)
  await expect.poll(messages, REPORTED).toContainEqual(expect.stringContaining('succeed again'))
})

test.skipIf(isUserspace())(
  'a daemon that is started while the server hangs reports it',
  async () => {
    await lab().daemon.kill()
    const before = reasonsInLog().length
    lab().apiServer.signal('SIGSTOP')
    try {
      await lab().daemon.start()
      await expect.poll(() => reasonsInLog().slice(before), REPORTED).toContain('timeout')
      const readyz = (await lab().daemon.http(10256, '/readyz')).body
      expect(readyz).toMatch(/no watch on endpointslices is open: no answer from \S+ within 25 s; /)
    } finally {
      lab().apiServer.signal('SIGCONT')
    }
  },
)
