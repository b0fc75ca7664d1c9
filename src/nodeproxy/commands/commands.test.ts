import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { StatusResponseSchema } from '../../inspection/generated/inspection_pb.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { CommandEntry } from './command-module.ts'
import { COMMANDS, commandOf } from './commands.ts'
import { parseQuery } from './parse-query.ts'
import { runCommand } from './run-command.ts'
import { statusText } from './status-command.ts'

async function run(entry: CommandEntry, ...args: string[]) {
  const written = { stdout: '', stderr: '' }
  const signal = new AbortController().signal
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text
    },
  })
  const host = { stdout: stream('stdout'), stderr: stream('stderr'), version: '1', signal }
  return { code: await runCommand(entry, args, host), ...written }
}

const failing = (code: string): CommandEntry => ({
  name: 'fail',
  summary: 'fail always',
  load: async () => ({
    define: (command) =>
      void command.action(() => {
        throw new NodeProxyError(code, 'no answer', { hint: 'try later' })
      }),
  }),
})

test('the first argument names a command; everything else is the daemon’s', () => {
  expect(commandOf(['status', '--socket=x'])?.name).toBe('status')
  expect(commandOf(['--proxy-mode=ipvs'])).toBeUndefined()
  expect(commandOf(['--config', 'status'])).toBeUndefined()
  expect(commandOf([])).toBeUndefined()
})

test.each(COMMANDS)('$name has help, with its exit codes', async (entry) => {
  const { code, stdout, stderr } = await run(entry, '--help')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(new RegExp(`^Usage: node-proxy ${entry.name} `))
  expect(stdout).toContain('Exit codes:')
})

test.each(COMMANDS)('$name refuses a flag that it does not know', async (entry) => {
  const { code, stderr } = await run(entry, '--unknown')
  expect(code).toBe(2)
  expect(stderr).toMatch(
    new RegExp(`unknown option '--unknown'; see node-proxy ${entry.name} --help`),
  )
})

test('status, entries and traffic refuse another output format', async () => {
  for (const name of ['status', 'entries', 'traffic']) {
    const { code, stderr } = await run(commandOf([name])!, '-o', 'xml')
    expect(code).toBe(2)
    expect(stderr).toContain('write text or json, not "xml"')
  }
})

test.each([
  ['NP_X_USAGE', 2],
  ['NP_X_UNREACHABLE', 3],
  ['NP_X_OTHER', 1],
])('%s ends with exit code %i', async (code, exit) => {
  const result = await run(failing(code))
  expect(result).toEqual({
    code: exit,
    stdout: '',
    stderr: `node-proxy: no answer; try later (${code})\n`,
  })
})

test('a status names what is wrong first', () => {
  const status = create(StatusResponseSchema, {
    version: '1',
    nodeName: 'a',
    mode: 'ipvs',
    startedAt: 0n,
    waitingMs: 700n,
    reasons: ['services are not listed yet'],
    warnings: ['a warning'],
    refusals: [{ object: '4/x', entries: ['ns/a:/TCP/4'], code: 'NP_X', message: 'No space' }],
    problems: [{ entry: 'ns/b:/TCP/4', code: 'NP_Y', message: 'taken' }],
  })
  expect(statusText(status, 61_000).split('\n').slice(0, 12)).toEqual([
    'not ready:',
    '  services are not listed yet',
    '  a warning',
    '  the kernel refuses "4/x" of ns/a:/TCP/4: No space (NP_X)',
    '  ns/b:/TCP/4: taken (NP_Y)',
    '',
    'node      a',
    'mode      ipvs',
    'version   1, running for 1m1s',
    'forwards  0 Services, 0 entries, 0 backends',
    'waiting   the oldest change for 700 ms',
    'latency   no change yet',
  ])
})

test('the status has a row for each router', () => {
  const routes = ['192.0.2.50', '2001:db8::50']
  const status = create(StatusResponseSchema, {
    bgp: {
      peers: [
        { peer: '10.0.0.1', asn: 64_512, state: 'Established', since: 1_000n, routes },
        { peer: '10.0.0.2', asn: 64_512, state: 'Idle', since: 1_000n, failure: 'it is away' },
        { peer: '10.0.0.3', asn: 64_512, state: 'Connect', since: 1_000n },
      ],
    },
  })
  const rows = statusText(status, 61_000).split('\n')
  expect(rows.filter((row) => row.startsWith('BGP'))).toEqual([
    'BGP       10.0.0.1 of AS 64512 Established for 1m, 2 routes: 192.0.2.50, 2001:db8::50',
    'BGP       10.0.0.2 of AS 64512 Idle: it is away',
    'BGP       10.0.0.3 of AS 64512 Connect',
  ])
})

test('an interface that cannot exist is refused', () => {
  const flags = { protocol: 'TCP', interface: 'a b;c' }
  expect(parseQuery('10.0.0.1', '10.0.0.2:80', flags)).toContain('--interface "a b;c"')
  expect(parseQuery('10.0.0.1', '10.0.0.2:80', { protocol: 'TCP' })).toMatchObject({
    protocol: 'TCP',
  })
})
