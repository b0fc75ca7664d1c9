import { once } from 'node:events'
import { duplexPair, PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import {
  type CommandOptions,
  type LogOptions,
  type NodeStreams,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import { openUpgraded, openWebSocket, type UpgradeRefused } from '../../streams/open-web-socket.ts'
import {
  createForwardingClient,
  type ForwardingClient,
  TUNNELLED_PORT_FORWARD,
} from '../../streams/port-forward.ts'
import { COMMAND_V5 } from '../../streams/remote-command/channels.ts'
import {
  createRemoteCommand,
  type RemoteCommand,
} from '../../streams/remote-command/command-client.ts'
import { startIdentityApi } from '../testing/identity-api.ts'
import { PODS } from '../testing/test-api.ts'

const OWN = '192.0.2.1' as IpAddress
const SPEC = { nodeName: 'n1', containers: [{ name: 'main', image: 'none' }] }
const STATUS = { phase: 'Running', podIP: '10.1.0.1', podIPs: [{ ip: '10.1.0.1' }] }
const ALL = 'stdin=true&stdout=true&stderr=true'

/** A node whose commands return their input in capitals and exit with 5, and whose Pods echo. */
function fakeNode() {
  const seen: (LogOptions | CommandOptions)[] = []
  const killed: true[] = []
  const node: NodeStreams = {
    logs: async (_, options) => {
      seen.push(options)
      if (options.previous) return new StreamRefusal('invalid', 'there was none')
      return (async function* () {
        yield Buffer.from('one\n')
        yield Buffer.from('two\n')
      })()
    },
    run: async (_, options) => {
      seen.push(options)
      if (options.command[0] === 'absent') return new StreamRefusal('failed', 'there is none')
      const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
      const ended = once(stdin, 'end').then(() => ({ exitCode: 5 }))
      stdin.on('data', (chunk: Buffer) => stdout.write(chunk.toString().toUpperCase()))
      stdin.once('end', () => stdout.end())
      stderr.end('problem')
      const kill = (): void => {
        killed.push(true)
        stdin.end()
      }
      return { stdin, stdout, stderr, ended, kill, resize: () => undefined }
    },
    dialer: async () => ({
      connect: async (port) => {
        if (port === 1) return new StreamRefusal('failed', 'nothing listens')
        const [near, far] = duplexPair()
        far.pipe(far)
        return near
      },
      ended: new Promise(() => undefined),
      close: () => undefined,
    }),
  }
  return { node, seen, killed }
}

async function scene(pod: JsonObject = {}, status: JsonObject = {}) {
  const { node, seen, killed } = fakeNode()
  const api = await startIdentityApi([{ name: 'alice' }], {
    nodeStreams: (name) => (name === 'n1' ? node : undefined),
    ownAddresses: () => [OWN],
  })
  await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  const { status: _, ...made } = await api.make(PODS, {
    metadata: { name: 'web' },
    spec: { ...SPEC, ...pod },
  })
  const body = { ...made, status: { ...STATUS, ...status } }
  await api.as('root', 'PUT', `${PODS}/web/status`, { body })
  const open = (path: string, protocols: readonly string[], token = 'root') =>
    openWebSocket({
      url: new URL(`${api.url}${PODS}/web/${path}`),
      headers: { Authorization: `Bearer ${token}` },
      protocols,
    })
  const run = async (query: string, token?: string): Promise<RemoteCommand | UpgradeRefused> => {
    const opened = await open(`exec?${query}`, [COMMAND_V5], token)
    return 'messages' in opened ? createRemoteCommand(opened.messages) : opened
  }
  const forward = async (): Promise<ForwardingClient | UpgradeRefused> => {
    const opened = await open('portforward', [TUNNELLED_PORT_FORWARD])
    return 'messages' in opened ? createForwardingClient(opened.messages) : opened
  }
  const permit = async (...verbs: readonly string[]): Promise<void> => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    const rules = [{ apiGroups: [''], resources: ['pods/exec'], verbs: [...verbs] }]
    await api.make(`${rbac}/roles`, { metadata: { name: verbs.join('-') }, rules })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: verbs.join('-') }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }]
    await api.make(`${rbac}/rolebindings`, {
      metadata: { name: verbs.join('-') },
      roleRef,
      subjects,
    })
  }
  return { api, seen, killed, open, run, forward, permit }
}

function command(opened: RemoteCommand | UpgradeRefused): RemoteCommand {
  if ('statusCode' in opened) throw new Error(opened.message)
  return opened
}

/** Why a connection to a port is none: at once, or a moment later. */
async function refusal(client: ForwardingClient, port: number): Promise<string> {
  try {
    const connection = await client.connect(port)
    const [error] = (await once(connection.resume(), 'error')) as Error[]
    return error?.message ?? ''
  } catch (error) {
    return (error as Error).message
  }
}

test('a command runs over a WebSocket', async () => {
  const { run, seen } = await scene()
  const remote = command(await run(`command=a&command=b&${ALL}`))
  remote.stdin.end('words')
  expect(await Promise.all([text(remote.stdout), text(remote.stderr), remote.ended])).toEqual([
    'WORDS',
    'problem',
    { exitCode: 5 },
  ])
  expect(seen).toMatchObject([{ command: ['a', 'b'], tty: false, stdin: true }])
})

test('a command that cannot be started says why; one whose client is gone is killed', async () => {
  const { run, killed } = await scene()
  const absent = command(await run(`command=absent&${ALL}`))
  expect(await absent.ended).toEqual({
    problem: 'Internal error occurred: error executing command in container: there is none',
  })
  const remote = command(await run(`command=a&${ALL}`))
  await once(remote.stderr, 'readable')
  remote.close()
  await expect.poll(() => killed.length).toBe(1)
})

test('a WebSocket that runs commands needs the permissions to get and to create', async () => {
  const { run, permit } = await scene()
  const query = `command=a&${ALL}`
  expect(await run(query, 'alice')).toMatchObject({
    statusCode: 403,
    message: /cannot get/ as never,
  })
  await permit('get')
  await expect
    .poll(() => run(query, 'alice'))
    .toMatchObject({ statusCode: 403, message: expect.stringContaining('cannot create') as string })
  await permit('create')
  await expect.poll(async () => 'stdin' in (await run(query, 'alice'))).toBe(true)
})

test.each([
  ['exec?stdout=true', 'you must specify a command'],
  ['exec?command=a', 'at least 1 of stdin, stdout, stderr'],
  [`exec?command=a%00b&${ALL}`, 'NUL'],
  [`exec?command=a&container=other&${ALL}`, 'container "other" is not valid for pod web'],
  [`attach?${ALL}`, 'attach is not supported'],
])('%s is refused', async (path, why) => {
  const { open } = await scene()
  const refused = await open(path, [COMMAND_V5])
  expect(refused).toMatchObject({
    statusCode: 400,
    message: expect.stringContaining(why) as string,
  })
})

test('protocols that the server does not have are refused, and requests for none', async () => {
  const { open, api } = await scene()
  expect(await open(`exec?command=a&${ALL}`, ['channel.k8s.io'])).toMatchObject({ statusCode: 400 })
  const url = new URL(`${api.url}${PODS}/web/exec?command=a&${ALL}`)
  const headers = { Authorization: 'Bearer root', Connection: 'Upgrade', Upgrade: 'SPDY/3.1' }
  const refused = {
    statusCode: 400,
    message: expect.stringContaining('v4.channel.k8s.io') as string,
  }
  expect(await openUpgraded({ url, headers, method: 'POST' })).toMatchObject(refused)
  const plain = await api.as('root', 'POST', `${PODS}/web/exec?command=a&${ALL}`)
  expect([plain.status, plain.body['message']]).toEqual([400, 'Upgrade request required'])
  const upgraded = { headers: { Connection: 'Upgrade', Upgrade: 'websocket' } }
  expect((await api.as('root', 'GET', `${PODS}/web`, upgraded)).status).toBe(200)
})

test('ports are forwarded, and a refusal of the node is reported', async () => {
  const { forward } = await scene()
  const client = await forward()
  if (!('connect' in client)) throw new Error(client.message)
  const connection = await client.connect(80)
  connection.end('through')
  expect(await text(connection)).toBe('through')
  expect(await refusal(client, 1)).toBe('nothing listens')
  client.close()
})

test.each<[string, JsonObject, JsonObject]>([
  ['is not running', {}, { phase: 'Pending' }],
  ['has the network of its node', { hostNetwork: true }, {}],
  ['addresses are not those of a pod', {}, { podIPs: [{ ip: OWN }] }],
  ['addresses are not those of a pod', {}, { podIP: '', podIPs: [] }],
])('ports of a Pod that %s are not forwarded: %j %j', async (why, spec, status) => {
  const { forward } = await scene(spec, status)
  expect(await forward()).toMatchObject({
    statusCode: 400,
    message: expect.stringContaining(why) as string,
  })
})

test('a Pod whose addresses changed gets no more connections', async () => {
  const { forward, api } = await scene()
  const client = await forward()
  if (!('connect' in client)) throw new Error(client.message)
  const { body } = await api.as('root', 'GET', `${PODS}/web`)
  const status = { ...STATUS, podIP: OWN, podIPs: [{ ip: OWN }] }
  await api.as('root', 'PUT', `${PODS}/web/status`, { body: { ...body, status } })
  expect(await refusal(client, 80)).toContain('addresses are not those of a pod')
})

test('logs: what is wanted of them, and what is refused', async () => {
  const { api, seen } = await scene({ initContainers: [{ name: 'first', image: 'none' }] })
  const get = (query: string) => api.as('root', 'GET', `${PODS}/web/log?${query}`)
  const { status, text: said, headers } = await get('tailLines=3&timestamps=true&sinceSeconds=60')
  expect([status, said, headers['content-type']]).toEqual([200, 'one\ntwo\n', 'text/plain'])
  expect(seen).toMatchObject([{ tailLines: 3, timestamps: true, follow: false, previous: false }])
  expect((await get('limitBytes=5')).text).toBe('one\nt')
  expect((await get('container=first')).text).toBe('one\ntwo\n')
  for (const query of [
    'tailLines=-1',
    'tailLines=x',
    'sinceTime=yesterday',
    'limitBytes=0',
    'container=x',
    'sinceTime=2026-01-01T00:00:00Z&sinceSeconds=1',
    'previous=true',
  ]) {
    expect([query, (await get(query)).status]).toEqual([query, 400])
  }
  expect((await api.as('alice', 'GET', `${PODS}/web/log`)).status).toBe(403)
})

test('a Pod of a node that is not here is 503', async () => {
  const { api } = await scene({ nodeName: 'n2' })
  const { status, body } = await api.as('root', 'GET', `${PODS}/web/log`)
  expect([status, body['message']]).toEqual([
    503,
    'this server has no connection to the agent of node "n2", and its Node names no kubelet',
  ])
})

test('streams end with the server', async () => {
  const { run, api } = await scene()
  const remote = command(await run(`command=a&${ALL}`))
  await once(remote.stderr, 'readable')
  await api.server.close()
  expect(await remote.ended).toHaveProperty('problem')
})
