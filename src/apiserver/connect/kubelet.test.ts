import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { stringAt } from '../../lib/json.ts'
import { openUpgraded, openWebSocket } from '../../streams/open-web-socket.ts'
import { createForwardingClient, TUNNELLED_PORT_FORWARD } from '../../streams/port-forward.ts'
import { COMMAND_V4, COMMAND_V5 } from '../../streams/remote-command/channels.ts'
import {
  createRemoteCommand,
  createSpdyCommand,
  type RemoteCommand,
} from '../../streams/remote-command/command-client.ts'
import type { TestApi } from '../testing/test-api.ts'
import { PODS } from '../testing/test-api.ts'
import { startKubelet } from './testing/kubelet.ts'

const authority = await newTestAuthority('cluster')
const stranger = await newTestAuthority('n1-ca@1764000000')

const WEB = `${PODS}/web`
const NODE = '/api/v1/nodes/n1'
const PROXY = `${NODE}/proxy`
const MERGE = { 'content-type': 'application/merge-patch+json' }
const PIN = 'orch.io/kubelet-certificate'
const STREAMS = 'stdin=true&stdout=true&stderr=true&container=main'
const SPDY = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1' }

const bearer = (token = 'root') => ({ Authorization: `Bearer ${token}` })

async function overWebSocket(api: TestApi, path: string): Promise<RemoteCommand> {
  const url = new URL(`${api.url}${path}`)
  const opened = await openWebSocket({ url, headers: bearer(), protocols: [COMMAND_V5] })
  if (!('messages' in opened)) throw new Error(opened.message)
  return createRemoteCommand(opened.messages)
}

/** POST of an upgrade to SPDY, as kubectl before 1.31 sends it. */
function spdy(
  api: TestApi,
  path: string,
  { method = 'POST', token = 'root' }: { method?: 'GET' | 'POST'; token?: string } = {},
) {
  const headers = { ...bearer(token), ...SPDY, 'X-Stream-Protocol-Version': COMMAND_V4 }
  return openUpgraded({ url: new URL(`${api.url}${path}`), method, headers })
}

async function overSpdy(api: TestApi, path: string): Promise<RemoteCommand> {
  const opened = await spdy(api, path)
  if (!('channel' in opened)) throw new Error(opened.message)
  return createSpdyCommand(opened.channel, { stdin: true, stdout: true, stderr: true, tty: false })
}

async function resultOf(command: RemoteCommand, input: string) {
  command.stdin.end(input)
  const outputs = await Promise.all([text(command.stdout), text(command.stderr)])
  return [...outputs, await command.ended]
}

test.each([
  ['a WebSocket', overWebSocket],
  ['SPDY', overSpdy],
])('a command over %s runs in the container, by the kubelet of its node', async (_, open) => {
  const { api, received, dialled } = await startKubelet({ authority })
  const command = await open(api, `${WEB}/exec?command=sh&command=-c&command=a%26b%3Dc&${STREAMS}`)
  const big = 'x'.repeat(300_000)
  expect(await resultOf(command, big)).toEqual([big.toUpperCase(), 'problem', { exitCode: 5 }])
  expect(dialled).toEqual(['192.0.2.7:10250'])
  expect(received).toMatchObject([
    {
      method: 'POST',
      url: '/exec/default/web/main?input=1&output=1&error=1&command=sh&command=-c&command=a%26b%3Dc',
      user: 'system:orch-server-kubelet-client',
      headers: { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
    },
  ])
  expect(received[0]?.headers).not.toHaveProperty('authorization')
})

test('a terminal has one output, and sizes', async () => {
  const { api, received, sizes } = await startKubelet({ authority })
  const command = await overWebSocket(api, `${WEB}/exec?command=sh&tty=true&${STREAMS}`)
  command.resize({ width: 132, height: 50 })
  await expect.poll(() => sizes).toEqual([{ width: 132, height: 50 }])
  expect(await resultOf(command, 'a')).toEqual(['A', '', { exitCode: 5 }])
  expect(received[0]?.url).toBe('/exec/default/web/main?input=1&output=1&tty=1&command=sh')
})

test('attach connects to the container', async () => {
  const { api, received } = await startKubelet({ authority })
  const command = await overWebSocket(api, `${WEB}/attach?${STREAMS}`)
  expect(await resultOf(command, 'a')).toEqual(['A', 'problem', { exitCode: 5 }])
  expect(received[0]?.url).toBe('/attach/default/web/main?input=1&output=1&error=1')
})

test('a command that cannot be run, and a kubelet that refuses, are reported', async () => {
  const { api } = await startKubelet({ authority })
  const absent = await overWebSocket(api, `${WEB}/exec?command=absent&${STREAMS}`)
  const problem = 'Internal error occurred: error executing command in container: no such file'
  expect(await absent.ended).toEqual({ problem })
  const refusing = await startKubelet({ authority, refuses: [404, 'pod\u001bnot found'] })
  const refused = await overWebSocket(refusing.api, `${WEB}/exec?command=sh&${STREAMS}`)
  expect(await refused.ended).toEqual({
    problem: 'Internal error occurred: error executing command in container: pod not found',
  })
})

test('the kubelet loses its client, and so ends the command', async () => {
  const { api, node } = await startKubelet({ authority })
  const closed = once(node, 'upgrade').then(([, socket]) => once(socket as Duplex, 'close'))
  const command = await overWebSocket(api, `${WEB}/exec?command=sh&${STREAMS}`)
  command.stdin.write('a')
  await once(command.stdout, 'data')
  command.close()
  expect(await closed).toHaveLength(1)
})

test('a kubelet that breaks off ends the command of its client', async () => {
  const { api, node } = await startKubelet({ authority })
  const upgraded = once(node, 'upgrade')
  const command = await overWebSocket(api, `${WEB}/exec?command=sh&${STREAMS}`)
  command.stdin.write('a')
  await once(command.stdout, 'data')
  const [, socket] = (await upgraded) as [unknown, Duplex]
  socket.destroy()
  expect(await command.ended).toMatchObject({ problem: expect.any(String) })
})

test('a log is read from the kubelet, from the requested time', async () => {
  const { api, received } = await startKubelet({ authority })
  const path = `${WEB}/log?container=side&follow=true&previous=true&timestamps=true&tailLines=5`
  const since = 'sinceTime=2026-01-02T03:04:05Z&limitBytes=5'
  const answer = await api.as('root', 'GET', `${path}&${since}`)
  expect([answer.status, answer.text]).toEqual([200, 'one\nt'])
  const [, query = ''] = received[0]?.url?.split('?') ?? []
  expect(received[0]?.url).toMatch(/^\/containerLogs\/default\/web\/side\?/)
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
    follow: 'true',
    previous: 'true',
    timestamps: 'true',
    tailLines: '5',
    sinceTime: '2026-01-02T03:04:05Z',
  })
})

test.each([
  [400, 400, 'previous terminated container not found'],
  [404, 400, 'previous terminated container not found'],
  [500, 500, 'previous terminated container not found'],
  [401, 503, 'it does not accept the certificate of this server (401)'],
  [403, 503, 'refuses user "system:orch-server-kubelet-client" (403)'],
])('a log that the kubelet answers with %i is answered with %i', async (code, expected, why) => {
  const { api } = await startKubelet({
    authority,
    handler: (_, response) => {
      response.writeHead(code).end('previous terminated container not found\n')
    },
  })
  const { body } = await api.as('root', 'GET', `${WEB}/log?container=main`)
  expect(body).toMatchObject({ code: expected, message: expect.stringContaining(why) })
})

test('ports of a Pod are forwarded by the kubelet', async () => {
  const { api, received } = await startKubelet({ authority })
  const url = new URL(`${api.url}${WEB}/portforward`)
  const protocols = [TUNNELLED_PORT_FORWARD]
  const opened = await openWebSocket({ url, headers: bearer(), protocols })
  if (!('messages' in opened)) throw new Error(opened.message)
  const client = createForwardingClient(opened.messages)
  const connection = await client.connect(80)
  connection.end('echo')
  expect(await text(connection)).toBe('echo')
  const refused = await client.connect(1).catch((error: Error) => error)
  const why = refused instanceof Error ? refused : (await once(refused, 'error'))[0]
  expect(why).toMatchObject({ code: 'NP_STREAMS_FORWARD', message: 'nothing listens there' })
  client.close()
  expect(received.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
    'POST /portForward/default/web',
  ])
})

const pinOf = async (api: Awaited<ReturnType<typeof startKubelet>>['api']) =>
  stringAt((await api.as('root', 'GET', NODE)).body, 'metadata', 'annotations', PIN)

const logOf = async (api: Awaited<ReturnType<typeof startKubelet>>['api']) =>
  (await api.as('root', 'GET', `${WEB}/log?container=main`)).body

test('a certificate of no known authority is pinned at the first use, and no other is accepted then', async () => {
  const { api, received } = await startKubelet({ authority, issuer: stranger })
  expect(await pinOf(api)).toBe('')
  expect(await logOf(api)).toEqual({})
  const pinned = await pinOf(api)
  expect(pinned).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(await logOf(api)).toEqual({})
  expect(received).toHaveLength(2)
  const body = { metadata: { annotations: { [PIN]: pinned.replace(/.$/, 'x') } } }
  await api.as('root', 'PATCH', NODE, { body, headers: MERGE })
  expect(await logOf(api)).toMatchObject({
    code: 503,
    message: expect.stringMatching(
      /^the kubelet of node "n1" cannot be reached at 192\.0\.2\.7:10250: its certificate is neither signed .* first connection; .*kubectl annotate node NAME orch\.io\/kubelet-certificate-$/,
    ),
  })
  expect(received).toHaveLength(2)
  const none = { metadata: { annotations: { [PIN]: null } } }
  await api.as('root', 'PATCH', NODE, { body: none, headers: MERGE })
  expect(await logOf(api)).toEqual({})
  expect(await pinOf(api)).toBe(pinned)
})

test('a certificate of the authority is not pinned, and is accepted whatever is pinned', async () => {
  const { api } = await startKubelet({ authority })
  expect(await logOf(api)).toEqual({})
  expect(await pinOf(api)).toBe('')
  const body = { metadata: { annotations: { [PIN]: 'sha256:00' } } }
  await api.as('root', 'PATCH', NODE, { body, headers: MERGE })
  expect(await logOf(api)).toEqual({})
})

test('with an authority that is set, no other certificate is accepted, and none pinned', async () => {
  const { api, received } = await startKubelet({ authority, issuer: stranger, isPinning: false })
  expect(await logOf(api)).toMatchObject({
    code: 503,
    message: expect.stringContaining('not signed by the authority of this server'),
  })
  expect([received, await pinOf(api)]).toEqual([[], ''])
})

test.each([
  [
    { addresses: [{ type: 'Hostname', address: '192.0.2.7' }] },
    503,
    'has no InternalIP or ExternalIP',
  ],
  [{ addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] }, 400, 'it is loopback'],
  [
    { daemonEndpoints: {} },
    503,
    'no connection to the agent of node "n1", and its Node names no kubelet',
  ],
  [{ daemonEndpoints: { kubeletEndpoint: { Port: 70_000 } } }, 503, 'its Node names no kubelet'],
])('a Node with %j has no kubelet that is dialled', async (status, code, why) => {
  const { api, dialled } = await startKubelet({ authority, status })
  expect(await logOf(api)).toMatchObject({ code, message: expect.stringContaining(why) })
  expect(dialled).toEqual([])
})

test('the ExternalIP follows the InternalIP', async () => {
  const addresses = [
    { type: 'ExternalIP', address: '203.0.113.7' },
    { type: 'InternalIP', address: '192.0.2.7' },
  ]
  const { api, dialled } = await startKubelet({ authority, status: { addresses } })
  expect(await logOf(api)).toEqual({})
  expect(dialled).toEqual(['192.0.2.7:10250'])
})

test('below nodes/proxy the kubelet answers any method, with nothing of the client but content and Accept', async () => {
  const { api, received } = await startKubelet({
    authority,
    handler: (request, response) => void request.pipe(response.writeHead(202)),
  })
  const headers = { cookie: 'a=b', accept: 'text/html' }
  const answer = await api.as('root', 'POST', `${PROXY}/run/default/web/main?cmd=ls`, {
    body: { a: 1 },
    headers,
  })
  expect([answer.status, answer.text]).toEqual([202, '{"a":1}'])
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
    expect(
      (await api.as('root', method, `${NODE.replace('n1', 'n1:10250')}/proxy/pods`)).status,
    ).toBe(202)
  }
  expect(received.map(({ method }) => method)).toEqual([
    'POST',
    'GET',
    'HEAD',
    'PUT',
    'PATCH',
    'DELETE',
  ])
  expect(received[0]).toEqual({
    method: 'POST',
    url: '/run/default/web/main?cmd=ls',
    user: 'system:orch-server-kubelet-client',
    headers: {
      host: '192.0.2.7:10250',
      accept: 'text/html',
      'content-type': 'application/json',
      'content-length': '7',
      'user-agent': 'orch-server',
      connection: 'close',
    },
  })
})

test('below nodes/proxy no other port of the node is dialled', async () => {
  const { api, dialled } = await startKubelet({ authority })
  const { body } = await api.as('root', 'GET', '/api/v1/nodes/n1:22/proxy/pods')
  expect(body).toMatchObject({
    code: 400,
    message: 'port 22 of node "n1" is not that of its kubelet; write 10250, or leave it out',
  })
  expect(dialled).toEqual([])
})

test('an upgrade below nodes/proxy takes the permission to create, also by GET', async () => {
  const { api, received } = await startKubelet({ authority })
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const apiGroup = 'rbac.authorization.k8s.io'
  const rules = [{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }]
  await api.make(`${rbac}/clusterroles`, { metadata: { name: 'r' }, rules })
  await api.make(`${rbac}/clusterrolebindings`, {
    metadata: { name: 'r' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'r' },
    subjects: [{ apiGroup, kind: 'User', name: 'alice' }],
  })
  await expect.poll(async () => (await api.as('alice', 'GET', `${PROXY}/pods`)).status).toBe(200)
  const path = `${PROXY}/exec/default/web/main?command=sh&input=1&output=1&error=1`
  for (const method of ['GET', 'POST'] as const) {
    expect(await spdy(api, path, { method, token: 'alice' })).toMatchObject({ statusCode: 403 })
  }
  expect(received).toHaveLength(1)
  expect(await resultOf(await overSpdy(api, path), 'a')).toEqual(['A', 'problem', { exitCode: 5 }])
})

test('a kubelet that refuses an upgrade below nodes/proxy says why', async () => {
  const { api } = await startKubelet({ authority, refuses: [400, 'unknown protocol'] })
  expect(await spdy(api, `${PROXY}/exec/default/web/main`)).toMatchObject({
    statusCode: 400,
    message: 'unknown protocol',
  })
})
