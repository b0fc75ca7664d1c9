import { expect, test } from 'vitest'
import { COMMANDS } from './commands.ts'
import { runCommand } from './run-command.ts'

async function run(...args: readonly string[]) {
  const entry = COMMANDS.find(({ name }) => name === 'plan')!
  const printed = { out: '', err: '' }
  const code = await runCommand(entry, args, {
    stdout: { write: (text) => (printed.out += text) },
    stderr: { write: (text) => (printed.err += text) },
    version: '1.2.3',
    signal: new AbortController().signal,
  })
  return { code, ...printed }
}

test('the help names its own flags and those of the daemon', async () => {
  const { code, out } = await run('--help')
  expect(code).toBe(0)
  expect(out).toContain('--exit-code')
  expect(out).toContain('--proxy-mode')
})

test.each([
  [['--nonsense'], "unknown option '--nonsense'; see node-proxy plan --help"],
  [['--proxy-mode'], '--proxy-mode'],
  [['--cleanup'], '--cleanup is not a flag of plan; leave it out'],
  [['--write-config-to', 'x'], '--write-config-to is not a flag of plan'],
  [['--delete', 'service/web'], '--delete "service/web": write KIND/NAMESPACE/NAME'],
  [['-f', '/nonexistent', '--cluster-cidr', '10.0.0.0/8'], 'cannot be read: ENOENT'],
  [['-o', 'xml'], 'write text or json, not "xml"'],
])('%j: wrong usage, exit code 2', async (args, message) => {
  const { code, err, out } = await run(...args)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(message)
})

test('without an API server: exit code 3, and what to check', async () => {
  const { code, err } = await run('--master', 'http://127.0.0.1:1', '--proxy-mode', 'nftables')
  // Where this process has no right to read rules, that is found first.
  if (process.getuid?.() !== 0) return expect(code).toBe(1)
  expect(err).toMatch(/could not be listed from http:.*ECONNREFUSED.*NP_NODEPROXY_API_UNREACHABLE/)
  expect(code).toBe(3)
}, 30_000)
