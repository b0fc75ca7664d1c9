import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { METRIC_TABLE } from '../../telemetry/metrics/registry.ts'
import type { Connection } from '../connection/connection.ts'
import { anonymous } from '../connection/credential/credential.ts'
import { startScriptedServer } from '../testing/scripted-server.ts'
import { createApiClient } from './api-client.ts'
import { type ApiFailure, localFailure, statusFailure } from './failure.ts'
import { REASONS, reasonOf } from './failure-reason.ts'

function status(code: number): ApiFailure {
  return statusFailure(code, { kind: 'Status', reason: 'Because', message: 'because' })
}

test.each<[string | undefined, ApiFailure]>([
  ['unauthorized', status(401)],
  ['forbidden', status(403)],
  ['throttled', status(429)],
  ['server_error', status(500)],
  ['server_error', statusFailure(0, { kind: 'Status', message: 'an event without a code' })],
  ['rejected', status(404)],
  ['not_an_api_server', statusFailure(404, undefined)],
  ['credential', localFailure('NP_CLIENT_CREDENTIAL', 'Credential', 'no token')],
  ['rewound', localFailure('NP_CLIENT_REWOUND', 'Rewound', 'back')],
  ['watch_ended', localFailure('NP_CLIENT_WATCH_ENDED', 'WatchEnded', 'ended')],
  ['unreachable', localFailure('NP_CLIENT_UNREACHABLE', 'Unreachable', 'EHOSTUNREACH')],
  [undefined, status(410)],
  [undefined, localFailure('NP_CLIENT_ABORTED', 'Aborted', 'stopping')],
])('is %s', (reason, failure) => {
  expect(reasonOf(failure)).toBe(reason)
})

test('the help of the metric lists exactly the reasons', () => {
  const listed = /by reason: (.*)\.$/.exec(METRIC_TABLE.apiFailures.help)?.[1]
  expect(listed?.split(/, | or /)).toEqual(Object.keys(REASONS))
})

async function reasonAt(port: number, secure: boolean): Promise<string | undefined> {
  const material = () => Promise.resolve({ ca: undefined, cert: undefined, key: undefined })
  const connection: Connection = {
    origin: `${secure ? 'https' : 'http'}://127.0.0.1:${port}`,
    basePath: '',
    tls: secure ? { material, serverName: undefined, insecureSkipVerify: true } : undefined,
    credentials: anonymous,
    source: 'the test',
  }
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  const answer = await client.get('/api/v1/services')
  await client.close()
  return answer.ok ? 'none' : reasonOf(answer.failure)
}

test('a server that answers TLS with plain HTTP is not_an_api_server', async () => {
  const server = await startScriptedServer(({ response }) => void response.end())
  onTestFinished(() => server.close())
  expect(await reasonAt(server.port, true)).toBe('not_an_api_server')
})

test('a server that answers HTTP with another protocol is not_an_api_server', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('SSH-2.0-OpenSSH_9.2\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  expect(await reasonAt(port, false)).toBe('not_an_api_server')
})
