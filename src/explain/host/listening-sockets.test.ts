import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { readListening } from './listening-sockets.ts'
import type { RunCommand } from './run-command.ts'

const DETAILED = `
udp UNCONN 0 0 *:53 *:* inet-sockopt: ( mc_loop transparent)
tcp LISTEN 0 128 127.0.0.1:8080 0.0.0.0:* inet-sockopt: ( is_icsk mc_loop transparent mc_all)
tcp LISTEN 0 128 0.0.0.0:8080 0.0.0.0:* inet-sockopt: ( is_icsk mc_loop mc_all)
tcp LISTEN 0 128 [fe80::1]%eth0:81 [::]:* inet-sockopt: ( is_icsk mc_loop mc_all)
tcp LISTEN 0 100 [::ffff:192.0.2.1]:8005 *:* inet-sockopt: ( is_icsk mc_loop mc_all)`

const PLAIN = 'tcp LISTEN 0 128 0.0.0.0:8080 0.0.0.0:*'

/** An `ss` that fails with options that it has no output for. */
function ss(outputs: Readonly<Record<string, string>>): RunCommand {
  return async (_, words) => {
    const stdout = outputs[words.join(' ')]
    return { status: stdout === undefined ? 255 : 0, stdout: stdout ?? '', stderr: '' }
  }
}

async function listens(
  run: RunCommand,
  protocol: 'TCP' | 'UDP' | 'SCTP',
  ip: string,
  port: number,
) {
  return (await readListening(run))(protocol, { ip: ip as IpAddress, port })
}

test.each([
  ['TCP', '127.0.0.1', 8080, 'transparent'],
  ['TCP', '192.0.2.1', 8080, 'usual'],
  ['TCP', '2001:db8::1', 8080, 'none'],
  ['TCP', 'fe80::1', 81, 'usual'],
  ['TCP', '192.0.2.1', 8005, 'usual'],
  ['TCP', '192.0.2.2', 8005, 'none'],
  ['UDP', '2001:db8::1', 53, 'transparent'],
  ['UDP', '192.0.2.1', 53, 'transparent'],
  ['TCP', '192.0.2.1', 53, 'none'],
  ['SCTP', '192.0.2.1', 8080, undefined],
] as const)('%s to %s port %d: %s', async (protocol, ip, port, expected) => {
  const run = ss({ '-HOlntu --inet-sockopt': DETAILED })
  expect(await listens(run, protocol, ip, port)).toBe(expected)
})

test('of an ss that shows no options a socket is of a kind that is not known', async () => {
  const run = ss({ '-Hlntu': PLAIN })
  expect(await listens(run, 'TCP', '192.0.2.1', 8080)).toBeUndefined()
  expect(await listens(run, 'TCP', '192.0.2.1', 8081)).toBe('none')
})

test('without ss nothing is known; an ss that fails is an error', async () => {
  const absent: RunCommand = async () => ({ status: 127, stdout: '', stderr: '' })
  expect(await listens(absent, 'TCP', '192.0.2.1', 80)).toBeUndefined()
  await expect(readListening(ss({}))).rejects.toMatchObject({ code: 'NP_EXPLAIN_READ' })
})
