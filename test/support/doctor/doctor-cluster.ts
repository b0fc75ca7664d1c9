import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type ApiClient, createApiClient } from '../../../src/client/http/api-client.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { type OrchctlShell, openOrchctlShell } from '../orchctl/orchctl-shell.ts'
import { type OrchServerProcess, startOrchServer } from '../orchserver/orch-server-process.ts'

/** A finding of `orchctl doctor -o json`. */
export interface ShownFinding {
  readonly check: string
  readonly object: string
  readonly cause: string
}

/** A real orch-server with its controllers, pools of a load balancer and DNS whose upstream refuses; and orchctl. */
export interface DoctorCluster extends AsyncDisposable {
  readonly api: ApiClient
  readonly shell: OrchctlShell
  readonly server: OrchServerProcess
  /** `127.0.0.1:PORT` */
  readonly dns: string
  /** Creates an object. @returns it as stored */
  make(path: string, object: JsonObject): Promise<JsonObject>
  patch(path: string, change: JsonObject): Promise<void>
  remove(path: string): Promise<void>
  /** Watches a collection until an object of it fulfils the condition. */
  until(path: string, condition: (object: JsonObject) => boolean): Promise<void>
  /** What `orchctl doctor` finds. */
  doctor(namespace: string, args: readonly string[]): Promise<readonly ShownFinding[]>
}

export async function startDoctorCluster(): Promise<DoctorCluster> {
  const dns = `127.0.0.1:${await freePort()}`
  const server = await startOrchServer({
    flags: [
      '--load-balancer-pool=192.0.2.0/26',
      ...[`--dns-address=${dns}`, `--dns-upstream=127.0.0.1:${await freePort()}`],
    ],
  })
  const shell = await openOrchctlShell(server.kubeconfig)
  const { connection } = server
  const api = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  return {
    ...{ api, shell, server, dns },
    make: async (path, object) => (await must(path, api.create(path, object))) as JsonObject,
    patch: async (path, change) =>
      void (await must(path, api.patch(path, change, { type: 'application/merge-patch+json' }))),
    remove: async (path) => void (await must(path, api.remove(path, {}))),
    until: (path, condition) => until(api, path, condition),
    async doctor(namespace, args) {
      const { stdout, stderr } = await shell.run(['doctor', '-n', namespace, '-o', 'json', ...args])
      if (stdout === '') throw new Error(`doctor ${args.join(' ')}: ${stderr}`)
      return JSON.parse(stdout) as readonly ShownFinding[]
    },
    async [Symbol.asyncDispose]() {
      await api.close()
      await shell[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

type Answer = Awaited<ReturnType<ApiClient['create']>>

async function must(path: string, sent: Promise<Answer>): Promise<unknown> {
  const answer = await sent
  if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(answer.failure)}`)
  return answer.value
}

const LIFETIME_MS = 20_000

async function until(
  api: ApiClient,
  path: string,
  condition: (object: JsonObject) => boolean,
): Promise<void> {
  const aborter = new AbortController()
  const { signal } = aborter
  const watch = await api.watch(path, { query: { watch: 'true' }, signal, lifetimeMs: LIFETIME_MS })
  if (!watch.ok) throw new Error(`${path}: ${JSON.stringify(watch.failure)}`)
  for await (const batch of watch.value.batches) {
    const objects = batch.map((line) => (JSON.parse(line ?? '{}') as JsonObject)['object'])
    if (objects.some((object) => condition((object ?? {}) as JsonObject))) {
      aborter.abort()
      return
    }
  }
  throw new Error(`${path}: no object fulfilled ${String(condition)} within ${LIFETIME_MS} ms`)
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}
