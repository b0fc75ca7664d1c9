import { type ApiClient, createApiClient } from '../../../src/client/http/api-client.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { freePort } from '../../../src/lib/testing/free-port.ts'
import { type OrchctlShell, openOrchctlShell } from '../orchctl/orchctl-shell.ts'
import { type OrchServerProcess, startOrchServer } from '../orchserver/orch-server-process.ts'
import { untilObject } from './until-object.ts'

/** A finding of `orchctl doctor -o json`. */
export interface ShownFinding {
  readonly check: string
  readonly object: string
  readonly cause: string
}

/** A real orch-server with its controllers, pools of a load balancer and DNS without an upstream; and orchctl. */
export interface DoctorCluster extends AsyncDisposable {
  readonly api: ApiClient
  readonly shell: OrchctlShell
  readonly server: OrchServerProcess
  /** `127.64.x.y:PORT` */
  readonly dns: string
  /** Creates an object. @returns it as stored */
  make(path: string, object: JsonObject): Promise<JsonObject>
  patch(path: string, change: JsonObject): Promise<void>
  remove(path: string): Promise<void>
  /** Watches a collection until one of its objects meets the condition. */
  until(path: string, condition: (object: JsonObject) => boolean): Promise<void>
  /** What `orchctl doctor` finds. */
  doctor(namespace: string, args: readonly string[]): Promise<readonly ShownFinding[]>
}

/** The flag of a DNS whose upstream refuses. */
export async function deadUpstream(): Promise<string> {
  return `--dns-upstream=127.0.0.1:${await freePort()}`
}

/** `flags` are further ones of orch-server. */
export async function startDoctorCluster(flags: readonly string[] = []): Promise<DoctorCluster> {
  // An address of its own, because at 127.0.0.1 a client of another test may get the port before the server does.
  const dns = `127.64.${(process.pid >> 8) & 255}.${process.pid & 255}:${await freePort()}`
  const server = await startOrchServer({
    flags: ['--load-balancer-pool=192.0.2.0/26', `--dns-address=${dns}`, ...flags],
  })
  const shell = await openOrchctlShell(server.kubeconfig)
  const { connection } = server
  const api = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  return {
    api,
    shell,
    server,
    dns,
    make: async (path, object) => (await must(path, api.create(path, object))) as JsonObject,
    patch: async (path, change) =>
      void (await must(path, api.patch(path, change, { type: 'application/merge-patch+json' }))),
    remove: async (path) => void (await must(path, api.remove(path, {}))),
    until: (path, condition) => untilObject(api, path, condition),
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
