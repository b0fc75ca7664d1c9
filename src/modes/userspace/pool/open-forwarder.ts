import type { EntryId } from '../../../forwarding/entry.ts'
import { ProcListeners } from '../../../kernel/listeners.ts'
import { openSyscalls } from '../../../kernel/sockets/syscalls.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { hostPort } from '../../../lib/ip.ts'
import { Mutex } from '../../../lib/mutex.ts'
import type { KernelError, TrafficCounts } from '../../mode.ts'
import type { Forwarder, ForwarderOptions } from '../forwarder.ts'
import type { RouteTraffic } from '../read-traffic.ts'
import type { Route } from '../route.ts'
import { type ListenerAddress, listenerKey } from '../worker/route-table.ts'
import { QUIET_MS, successorCheck } from './successor.ts'
import { untilIdle } from './until-idle.ts'
import { WantedListeners } from './wanted-listeners.ts'
import { WorkerGroup } from './worker-group.ts'
import { WorkerPool } from './worker-pool.ts'

/**
 * Starts the workers. Throws NP_KERNEL_SOCKET if it cannot listen as configured, and NP_USERSPACE_DATA_PATH if the
 * data path is not available.
 */
export async function openForwarder(options: ForwarderOptions): Promise<Forwarder> {
  if (options.dataPath === 'javascript') return new JavascriptPool(options)
  const sys = openSyscalls()
  if (sys === undefined) throw noSystemCalls()
  return new WorkerGroup(sys, options)
}

function noSystemCalls(): NodeProxyError {
  const message = 'the data path "native" needs node:ffi, which this Node does not offer'
  const hint = 'start it without --no-experimental-ffi, or use the data path "javascript"'
  return new NodeProxyError('NP_USERSPACE_DATA_PATH', message, { hint })
}

/** JavaScript workers; each listens at every listener. */
class JavascriptPool implements Forwarder {
  readonly dataPath = 'javascript'
  readonly ports = new Map<never, never>()
  readonly ownPorts = new Set<number>()
  readonly #listeners = new WantedListeners()
  readonly #pool: WorkerPool
  readonly #mutex = new Mutex()

  /** Throws NP_USERSPACE_DATA_PATH for options that Node's own sockets do not support. */
  constructor(options: ForwarderOptions) {
    if (options.listening === 'transparent') throw notTransparent()
    this.#pool = new WorkerPool(options)
  }

  get workers(): number {
    return this.#pool.size
  }

  apply(
    changes: ReadonlyMap<EntryId, Route | undefined>,
  ): Promise<ReadonlyMap<EntryId, KernelError>> {
    return this.#mutex.run(async () => {
      const { open, close } = this.#listeners.plan(changes)
      const listeners = { open, close }
      const answers = await this.#pool.applyRoutes(changes, () => ({ listeners }))
      const reasons = new Map(answers.flatMap((answer) => answer?.refused ?? []))
      const refused = open.filter((at) => reasons.has(listenerKey(at)))
      await this.#close(refused)
      return new Map(refused.flatMap((at) => this.#refusals(at, reasons.get(listenerKey(at)))))
    })
  }

  counts(): TrafficCounts {
    return this.#pool.counts()
  }

  routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]> {
    return this.#pool.routeTraffic(withBackends)
  }

  untilIdle(signal: AbortSignal): Promise<void> {
    const open = () => new Map([...this.#listeners.open].map((key) => [key, this.workers]))
    const hasSuccessor = successorCheck(open, new ProcListeners())
    return untilIdle({ counts: () => this.counts(), hasSuccessor, quietMs: QUIET_MS }, signal)
  }

  async drain(signal: AbortSignal): Promise<void> {
    await this.#mutex.run(() => this.#close(this.#listeners.closeAll()))
    await untilIdle({ counts: () => this.counts() }, signal)
  }

  close(): Promise<void> {
    return this.#mutex.run(() => this.#pool.end())
  }

  /** If one worker cannot listen, the others must not listen either. */
  async #close(close: readonly ListenerAddress[]): Promise<void> {
    if (close.length === 0) return
    await this.#pool.give(() => ({ listeners: { open: [], close } }))
  }

  #refusals(at: ListenerAddress, reason = ''): readonly (readonly [EntryId, KernelError])[] {
    const message = `cannot listen on ${hostPort(at.ip, at.port)}: ${reason}`
    return this.#listeners.refuse(at).map((id) => [id, { code: 'NP_USERSPACE_LISTEN', message }])
  }
}

function notTransparent(): NodeProxyError {
  const message = 'the data path "javascript" cannot take redirected packets'
  const hint = 'use the data path "native", or listen at addresses of this machine'
  return new NodeProxyError('NP_USERSPACE_DATA_PATH', message, { hint })
}
