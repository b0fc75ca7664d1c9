import type { Serves } from '../stub-api/route.ts'
import type { OrchServerKind } from './orch-server.ts'
import { API_PORT, WORLD } from './plan.ts'
import { type LabProcess, startProcess } from './process.ts'
import type { Site } from './site.ts'

const STUB = new URL('../stub-api/main.ts', import.meta.url).pathname
const REAL = new URL('../../../src/apiserver/main.ts', import.meta.url).pathname

/**
 * `real`: the project's own API server; `orch-server`: the program around it, with its controllers,
 * in the node's namespace because it serves the loopback only; `kube-apiserver`: Kubernetes' own, also
 * there. Otherwise a permissive stand-in that offers Endpoints only, or EndpointSlices of one version.
 */
export type ApiKind = 'real' | 'kube-apiserver' | OrchServerKind | Serves

/** The API server of labs that do not name one: `NP_API_SERVER`, the stand-in unless set. */
export function defaultApiKind(): ApiKind {
  return process.env['NP_API_SERVER'] === 'real' ? 'real' : 'slices-v1'
}

/** Wide enough for the addresses and ports of every test. */
export const RANGES = [
  '--service-cluster-ip-range=172.16.0.0/12,fd00:172:30::/64',
  '--service-node-port-range=1-32767',
]

/** An API server on a fixed address. */
export interface ApiServer {
  readonly url: string
  /** PEM of its authority, once it runs, where it has one. */
  ca(): string | undefined
  start(): Promise<void>
  /** `SIGSTOP` freezes it, `SIGCONT` resumes it, `SIGKILL` ends it. */
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
  /** Ends every connection and refuses new ones; its state stays. Of orch-server: kill -9. */
  hangUp(): Promise<void>
  /** Ends `hangUp`. */
  answerAgain(): Promise<void>
  output(): string
}

export function createApiServer(world: Site, kind: 'real' | Serves): ApiServer {
  const url = `http://${WORLD.v4}:${API_PORT}`
  let running: LabProcess | undefined
  return {
    url,
    ca: () => undefined,
    async start() {
      const program = kind === 'real' ? [REAL, ...RANGES] : [STUB, `--serves=${kind}`]
      const place = [`--host=${WORLD.v4}`, `--port=${API_PORT}`]
      running = startProcess(world.namespace, [process.execPath, ...program, ...place])
      await running.said('http://')
    },
    signal: (name) => running?.signal(name),
    async stop() {
      running?.signal('SIGKILL')
      await running?.ended
      running = undefined
    },
    async hangUp() {
      running?.signal('SIGUSR2')
      await running?.said('closed', { times: times(running, 'closed') + 1 })
    },
    async answerAgain() {
      running?.signal('SIGUSR2')
      await running?.said('http://', { times: times(running, 'http://') + 1 })
    },
    output: () => running?.output() ?? '',
  }
}

function times(process: LabProcess, text: string): number {
  return process.output().split(text).length - 1
}
