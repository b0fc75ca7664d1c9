import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startIdentityApi } from '../../../src/apiserver/testing/identity-api.ts'
import { startApi, type TestApi } from '../../../src/apiserver/testing/test-api.ts'
import { bearer, fixedCredential } from '../../../src/client/connection/credential/credential.ts'
import { connectionBySocket, connectionTo } from '../../../src/client/connection/load-connection.ts'
import { createApiClient } from '../../../src/client/http/api-client.ts'
import { silentReporter } from '../../../src/client/testing/silent-reporter.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Cidr, IpAddress } from '../../../src/lib/ip.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { systemRandom } from '../../../src/lib/random.ts'
import { createNodeAgent } from '../../../src/nodeagent/node-agent.ts'
import { runCommand } from '../../../src/nodeagent/system/run-command.ts'

/** An API server of this process, and a node in a network namespace of its own. */
export interface Stage {
  readonly api: TestApi
  readonly node: string
  readonly prefix: string
  readonly logFolder: string
  readonly volumeFolder: string
  /** Errors that the agents reported. */
  readonly errors: readonly unknown[]
  /** Starts a node agent; the returned function ends it. */
  startAgent(): () => Promise<void>
  /** A request from the node to a Pod. */
  fetch(url: string, method?: string): Promise<JsonObject>
  /** Namespaces of Pods. */
  namespaces(): Promise<readonly string[]>
  /** What the watch of a collection says next of an object, until `wanted`. */
  until(path: string, wanted: (object: JsonObject | undefined) => boolean): Promise<JsonObject>
}

export const NODE_NAME = 'node-a'
const AGENT = `system:node:${NODE_NAME}`

/** `hasUsers`: the server knows its users, and the agent is that of its node, with its rights. */
export async function setStage({ hasUsers = false } = {}): Promise<Stage> {
  const run = `np-agent-${process.pid}`
  const [node, prefix] = [`${run}-node`, `${run}-pod`]
  const logFolder = await mkdtemp(join(tmpdir(), `${run}-`))
  await runCommand(['ip', 'netns', 'add', node])
  onTestFinished(async () => {
    await runCommand(['ip', 'netns', 'del', node])
    await rm(logFolder, { recursive: true })
  })
  const volumeFolder = join(logFolder, '..', `${basename(logFolder)}-volumes`)
  onTestFinished(() => rm(volumeFolder, { recursive: true, force: true }))
  const api = hasUsers ? await apiWithUsers() : await startApi()
  const socket = hasUsers
    ? await relayTo(api.port, join(volumeFolder, '..', `${run}.sock`))
    : undefined
  const parts = { api, node, prefix, logFolder, volumeFolder, socket }
  const errors: unknown[] = []
  return {
    ...parts,
    errors,
    startAgent: () => startAgent(parts, (error) => errors.push(error)),
    fetch: async (url, method = 'GET') => {
      const script = `fetch(${JSON.stringify(url)}, { method: ${JSON.stringify(method)} }).then((r) => r.text()).then(console.log)`
      const command = ['ip', 'netns', 'exec', node, process.execPath, '-e', script]
      return JSON.parse(await runCommand(command)) as JsonObject
    },
    namespaces: async () => {
      return (await readdir('/run/netns')).filter((name) => name.startsWith(prefix))
    },
    until: (path, wanted) => until(api, path, wanted),
  }
}

interface StageParts extends Pick<Stage, 'api' | 'node' | 'prefix' | 'logFolder' | 'volumeFolder'> {
  /** Where the server takes credentials; undefined: it knows no users. */
  readonly socket: string | undefined
}

/** Credentials are sent over TLS or a Unix socket only: one that leads to the server. */
async function relayTo(port: number, path: string): Promise<string> {
  const open = new Set<Socket>()
  const relay = createServer((incoming) => {
    const outgoing = connect(port, '127.0.0.1')
    for (const one of [incoming, outgoing]) {
      open.add(one)
      one.on('error', () => one.destroy())
      one.on('close', () => open.delete(one))
    }
    incoming.pipe(outgoing).pipe(incoming)
  })
  relay.listen(path)
  await once(relay, 'listening')
  onTestFinished(() => {
    for (const one of open) one.destroy()
    relay.close()
  })
  return path
}

/** Its calls and watches are those of the administrator. */
async function apiWithUsers(): Promise<TestApi> {
  const api = await startIdentityApi([{ name: AGENT, groups: ['system:nodes'] }])
  return {
    ...api,
    call: (method, path, options) => api.as('root', method, path, options),
    watch: (path) => api.watch(path, { authorization: 'Bearer root' }),
  }
}

function startAgent(
  { api, node, prefix, logFolder, volumeFolder, socket }: StageParts,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const clock = systemClock
  const clientOf = (token: string) => {
    const connection =
      socket === undefined
        ? connectionTo(api.url)
        : connectionBySocket(socket, fixedCredential(bearer(token)))
    return createApiClient({ connection, clock, userAgent: 'test' })
  }
  const client = clientOf(AGENT)
  const stop = new AbortController()
  const running = createNodeAgent({
    client,
    clock,
    random: systemRandom,
    logFolder,
    volumeFolder,
    onError,
    reporter: silentReporter,
    logger: { info: () => undefined, warn: (record: unknown) => onError(record) },
    nodeName: NODE_NAME,
    networkNamespace: node,
    addresses: ['192.0.2.10' as IpAddress],
    podCIDRs: ['10.77.0.0/24' as Cidr, 'fd77::/64' as Cidr],
    labels: { disk: 'fast' },
    bridge: 'cbr0',
    namespacePrefix: prefix,
    stopGraceMs: 200,
    refreshMs: 200,
  }).run(stop.signal)
  const end = async (): Promise<void> => {
    stop.abort()
    await running
    await client.close()
  }
  onTestFinished(end)
  return end
}

async function until(
  api: TestApi,
  path: string,
  wanted: (object: JsonObject | undefined) => boolean,
): Promise<JsonObject> {
  const [, collection = '', name = ''] = /^(.*)\/([^/]+)$/.exec(path) ?? []
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const watch = await api.watch(
    `${collection}?${query}&allowWatchBookmarks=true&fieldSelector=metadata.name%3D${name}`,
  )
  let object: JsonObject | undefined
  for (;;) {
    const event = await watch.next()
    if (event === undefined) throw new Error(`the watch of ${path} ended`)
    if (event.type !== 'BOOKMARK') object = event.type === 'DELETED' ? undefined : event.object
    if (!wanted(object)) continue
    watch.close()
    return object ?? {}
  }
}
