import { flushCommand, otherTerminal, showCommand } from '../by-hand-programs.ts'
import { follow } from '../cluster/follow.ts'
import type { Sandbox } from '../sandbox.ts'
import { type BackendsRow, backendsRow, type ServiceRow, serviceRow } from './cluster-view.ts'
import { Tally } from './tally.ts'
import type { View } from './view.ts'

const LOG_LINES = 3

/** What is known for the screen: the cluster as the API server says, the requests, the last notice. */
export class Model {
  readonly tally = new Tally()
  notice = ''
  readonly #sandbox: Sandbox
  readonly #began = Date.now()
  readonly #services = new Map<string, ServiceRow>()
  readonly #backends = new Map<string, BackendsRow>()

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox
  }

  /** Follows Services and EndpointSlices until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const client = this.#sandbox.cluster.controlPlane.api
    const services = {
      ...{ client, path: '/api/v1/services', decode: serviceRow },
      onChange: (key: string, row: ServiceRow | undefined) => put(this.#services, key, row),
    }
    const backends = {
      ...{ client, path: '/apis/discovery.k8s.io/v1/endpointslices', decode: backendsRow },
      onChange: (key: string, row: BackendsRow | undefined) => put(this.#backends, key, row),
    }
    await Promise.all([follow(services, signal), follow(backends, signal)])
  }

  /** How many pods are behind a Service, ready or not. */
  replicas(service: string): number {
    const own = [...this.#backends.values()].filter((row) => row.service === service)
    return own.reduce((sum, row) => sum + row.ready.length + row.notReady.length, 0)
  }

  view(): View {
    const { run, options, cluster, daemon } = this.#sandbox
    const { asked, answers, kinds } = this.tally
    return {
      ...{ asked, answers, kinds, notice: this.notice },
      run: run.name,
      mode: options.mode,
      socket: cluster.controlPlane.socket,
      terminal: otherTerminal(process.env),
      show: showCommand(options).join(' '),
      flush: flushCommand(options).join(' '),
      upMs: Date.now() - this.#began,
      services: sorted(this.#services),
      backends: sorted(this.#backends),
      pods: cluster.pods.states(),
      daemonPid: daemon.pid,
      daemonLog: daemon.lastLines(LOG_LINES),
    }
  }
}

function put<T>(rows: Map<string, T>, key: string, row: T | undefined): void {
  if (row === undefined) rows.delete(key)
  else rows.set(key, row)
}

function sorted<T>(rows: ReadonlyMap<string, T>): readonly T[] {
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
