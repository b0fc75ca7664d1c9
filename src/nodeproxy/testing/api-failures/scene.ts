import { onTestFinished } from 'vitest'
import type { Connection } from '../../../client/connection/connection.ts'
import { type ApiClient, createApiClient } from '../../../client/http/api-client.ts'
import { ApiFailures } from '../../../client/http/api-failures.ts'
import type { ListStream } from '../../../client/http/list-stream.ts'
import { eventually } from '../../../client/testing/eventually.ts'
import {
  type Arrival,
  type ScriptedServer,
  startScriptedServer,
} from '../../../client/testing/scripted-server.ts'
import { certificates } from '../../../client/testing/test-certificates.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { assessReadiness } from '../../../telemetry/health/readiness.ts'
import { createMetrics } from '../../../telemetry/metrics/metrics.ts'
import { type ClusterWatcher, createClusterWatcher } from '../../../watch/cluster-watcher.ts'
import { ModelCluster } from '../../../watch/testing/model-cluster.ts'
import { watchReadiness } from '../../wiring/run-node.ts'
import { type FailureCase, resolveName } from './failures.ts'

export interface LogRecord {
  /** Milliseconds since the scene began. */
  readonly at: number
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A daemon's watches on a real TLS server that fails on command, by a clock of the test. */
export class Scene {
  readonly records: LogRecord[] = []
  readonly clock = new FakeClock()
  readonly metrics = createMetrics()
  readonly #failure: FailureCase
  readonly #cluster = new ModelCluster()
  readonly #startedAt = this.clock.now()
  #server!: ScriptedServer
  #watcher!: ClusterWatcher
  #failures!: ApiFailures
  #isFailing = false
  #end: () => void = () => undefined
  /** Requests whose answer, a list with all its items, has not arrived. */
  #open = 0
  /** Those of them that have reached a server that does not answer. */
  #unanswered = 0

  constructor(failure: FailureCase) {
    this.#failure = failure
  }

  get server(): string {
    return `https://${this.#failure.host ?? '127.0.0.1'}:${this.#server.port}`
  }

  /** Starts the server and the watches; `isFailing`: it fails from the beginning. */
  async start(isFailing: boolean): Promise<void> {
    this.#server = await this.#listen(0)
    await this.#fail(isFailing)
    const client = createApiClient({
      connection: this.#connection(),
      clock: this.clock,
      userAgent: 'test',
    })
    const { clock, metrics, server } = this
    const [info, warn, error] = ['info', 'warn', 'error'].map((level) => this.#writer(level))
    const log = { info, warn, error } as never
    this.#failures = new ApiFailures({ clock, metrics, server, log })
    this.#watcher = createClusterWatcher({
      client: this.#counting(client),
      clock,
      random: { below: () => 0 },
      nodeName: 'node-1',
      reporter: this.#failures,
      onEvents: () => undefined,
      onSynced: () => undefined,
      onProblem: () => undefined,
    })
    const stop = new AbortController()
    const watching = this.#watcher.run(stop.signal)
    onTestFinished(async () => {
      stop.abort()
      await watching
      this.#end()
      await client.close()
      await this.#server.close()
    })
  }

  /** Begins or ends the failure, and breaks what is connected. */
  async turn(isFailing: boolean): Promise<void> {
    await this.#idle()
    await this.#fail(isFailing)
  }

  /** Lets `ms` pass on the clock, with time for the sockets between two timers. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.now() + ms
    for (;;) {
      await this.#idle()
      const [next = ms] = this.clock.pending()
      const rest = end - this.clock.now()
      await this.clock.advance(Math.min(next, rest))
      if (next >= rest) break
    }
    await this.#idle()
  }

  /** What /readyz reports of the API server. */
  reasons(): readonly string[] {
    const watch = watchReadiness(this.#watcher.state(), this.#failures)
    const kernel = { now: 0, healthy: true, status: new Map(), failure: undefined }
    return assessReadiness({ ...watch, applied: true, kernel, conditions: [] }).reasons.map(
      ({ message }) => message,
    )
  }

  /** Lines of /metrics about failures. */
  async counts(): Promise<readonly string[]> {
    const text = await this.metrics.text()
    return text.split('\n').filter((line) => line.startsWith('nodeproxy_api_fail'))
  }

  async #fail(isFailing: boolean): Promise<void> {
    const { absent, begin, host } = this.#failure
    this.#isFailing = isFailing
    this.#end()
    const { port } = this.#server
    if (isFailing || absent) await this.#server.close()
    if (isFailing ? !absent : absent) this.#server = await this.#listen(port)
    if (isFailing) this.#end = begin?.() ?? (() => undefined)
    else this.#end = host === undefined ? () => undefined : resolveName(true)
  }

  #listen(port: number): Promise<ScriptedServer> {
    return startScriptedServer((arrival) => this.#answer(arrival), {
      tls: certificates.server,
      port,
    })
  }

  #answer(arrival: Arrival): void {
    const { answer } = this.#failure
    if (!this.#isFailing || answer === undefined) return this.#cluster.answer(arrival)
    if (answer !== 'none') return answer(arrival)
    this.#unanswered++
    arrival.response.on('close', () => this.#unanswered--)
  }

  #connection(): Connection {
    const { ca, credential } = this.#failure
    const material = () => {
      const trusted = this.#isFailing ? (ca ?? certificates.ca) : certificates.ca
      return Promise.resolve({ ca: trusted, cert: undefined, key: undefined })
    }
    const current = () =>
      this.#isFailing && credential ? Promise.reject(credential) : Promise.resolve({})
    return {
      origin: this.server,
      basePath: '',
      tls: { material, serverName: undefined, insecureSkipVerify: false },
      credentials: { kind: 'exec', current, reject: () => false },
      source: 'the test',
    }
  }

  /** Waits until nothing happens any more before time passes. */
  async #idle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    await eventually(() => this.#open === this.#unanswered && this.#isListed())
  }

  /** Whether every resource with an open watch has been listed. */
  #isListed(): boolean {
    const { services, endpoints, node } = this.#watcher.state()
    return [services, endpoints, node].every(
      (state) => state?.connected !== true || state.resourceVersion !== undefined,
    )
  }

  #writer(level: string) {
    return (fields: Readonly<Record<string, unknown>>, message: string): void => {
      this.records.push({ at: this.clock.now() - this.#startedAt, level, message, fields })
    }
  }

  #counting(client: ApiClient): ApiClient {
    const count = async <T>(request: () => Promise<T>): Promise<T> => {
      this.#open++
      return request().finally(() => this.#open--)
    }
    return {
      ...client,
      get: (path, options) => count(() => client.get(path, options)),
      watch: (path, options) => count(() => client.watch(path, options)),
      list: async (path, options) => {
        const opened = await count(() => client.list(path, options))
        return opened.ok ? { ok: true, value: this.#countingPage(opened.value) } : opened
      },
    }
  }

  #countingPage(page: ListStream): ListStream {
    this.#open++
    const finish = (): number => this.#open--
    async function* batches() {
      try {
        yield* page.batches
      } finally {
        finish()
      }
    }
    return { batches: batches(), result: () => page.result() }
  }
}
