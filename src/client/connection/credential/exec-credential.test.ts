import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { TemporaryFolder } from '../../testing/temporary-folder.ts'
import { createTemporaryFolder } from '../../testing/temporary-folder.ts'
import type { ExecPlugin } from './exec-credential.ts'
import { execCredential } from './exec-credential.ts'

let folder: TemporaryFolder
beforeEach(() => {
  folder = createTemporaryFolder()
})
afterEach(() => folder.remove())

const apiVersion = 'client.authentication.k8s.io/v1'

/** A plugin that runs `script` in a shell of its own; `$COUNT` counts its runs. */
function plugin(script: string, more: Partial<ExecPlugin> = {}): ExecPlugin {
  const count = `printf x >> ${folder.path}/runs; COUNT=$(wc -c < ${folder.path}/runs)\n`
  const command = folder.write('plugin', `#!/bin/sh\n${count}${script}\n`, 0o700)
  return {
    apiVersion,
    command,
    args: [],
    env: {},
    installHint: undefined,
    cluster: undefined,
    ...more,
  }
}

function answer(status: string, version: string = apiVersion): string {
  return `echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"${version}\\",\\"status\\":${status}}"`
}

const clock = new FakeClock(Date.parse('2030-01-01T00:00:00Z'))

async function failureOf(broken: ExecPlugin): Promise<string> {
  const error = await execCredential(broken, clock)
    .current()
    .catch((refusal: unknown) => refusal)
  expect(error).toMatchObject({ code: 'NP_CLIENT_CREDENTIAL', object: broken.command })
  return String(error)
}

test('runs the plugin once, with its arguments, environment and cluster, without a shell', async () => {
  const script = `printf '%s\\n' "$@" "$EXTRA" "$KUBERNETES_EXEC_INFO" > ${folder.path}/seen
${answer('{\\"token\\":\\"t$COUNT\\"}')}`
  const source = execCredential(
    plugin(script, {
      args: ['a b', '$(id)', ';'],
      env: { EXTRA: 'e' },
      cluster: { server: 'https://s' },
    }),
    clock,
  )
  const [first, second] = await Promise.all([source.current(), source.current()])
  expect([first, second, await source.current()]).toEqual(
    [1, 2, 3].map(() => ({ authorization: 'Bearer t1' })),
  )
  const [one, two, three, extra, info] = readFileSync(`${folder.path}/seen`, 'utf8').split('\n')
  expect([one, two, three, extra]).toEqual(['a b', '$(id)', ';', 'e'])
  expect(JSON.parse(info ?? '')).toEqual({
    kind: 'ExecCredential',
    apiVersion,
    spec: { cluster: { server: 'https://s' }, interactive: false },
  })
})

test('runs it again shortly before the expiry, and after a refusal', async () => {
  const expiry = '{\\"token\\":\\"t$COUNT\\",\\"expirationTimestamp\\":\\"2030-01-01T01:00:00Z\\"}'
  const now = new FakeClock(Date.parse('2030-01-01T00:00:00Z'))
  const source = execCredential(plugin(answer(expiry)), now)
  await source.current()
  await now.advance(59 * 60_000)
  const validity = { to: Date.parse('2030-01-01T01:00:00Z') }
  expect(await source.current()).toEqual({ authorization: 'Bearer t1', validity })
  await now.advance(31_000)
  expect(await source.current()).toEqual({ authorization: 'Bearer t2', validity })
  expect(source.reject()).toBe(true)
  expect(await source.current()).toEqual({ authorization: 'Bearer t3', validity })
})

test('takes a client certificate', async () => {
  const status = '{\\"clientCertificateData\\":\\"C\\",\\"clientKeyData\\":\\"K\\"}'
  const source = execCredential(plugin(answer(status)), clock)
  expect(await source.current()).toEqual({ certificate: { cert: 'C', key: 'K' } })
})

test.each([
  ['garbage', 'echo nonsense', /not an ExecCredential/],
  ['another version', answer('{}', 'client.authentication.k8s.io/v1beta1'), /not of apiVersion/],
  ['nothing', answer('{}'), /neither status.token nor/],
  ['a certificate alone', answer('{\\"clientCertificateData\\":\\"C\\"}'), /must come together/],
  ['a bad token', answer('{\\"token\\":\\"a b\\"}'), /characters that are not allowed in a token/],
  [
    'a bad expiry',
    answer('{\\"token\\":\\"t\\",\\"expirationTimestamp\\":\\"soon\\"}'),
    /not a time/,
  ],
  ['a signal', 'kill -KILL $$', /: SIGKILL ended it/],
  ['too much', 'yes', /its output is longer than 1048576 characters/],
  ['an exit code', 'echo "not logged in" >&2; exit 3', /exit code 3: not logged in/],
])('a plugin that answers %s is refused', async (_, script, message) => {
  expect(await failureOf(plugin(script))).toMatch(message)
})

test('a missing plugin is refused, with its hint', async () => {
  const missing = plugin('', { command: `${folder.path}/gone`, installHint: 'install gone' })
  const error = await execCredential(missing, clock)
    .current()
    .catch((refusal: unknown) => refusal)
  expect(error).toMatchObject({ code: 'NP_CLIENT_CREDENTIAL', hint: 'install gone' })
  expect(String(error)).toMatch(/did not run \(ENOENT\)/)
})

test('what a plugin prints is no part of the error where it looks like a secret', async () => {
  const secret = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2RlIn0.c2lnbmF0dXJl'
  const text = await failureOf(plugin(`echo ${secret}; echo "bad token ${secret}" >&2; exit 1`))
  expect(text).toContain('bad token …')
  expect(text).not.toContain('eyJ')
})
