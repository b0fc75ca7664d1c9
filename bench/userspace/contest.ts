import { availableParallelism } from 'node:os'
import { BACKENDS, CLIENT, SERVICE_PORT, TARGET_PORT } from '../lab/plan.ts'
import type { UserspaceCell } from '../report/userspace/results.ts'
import type { Load } from './load/load.ts'
import type { LoadOrder, LoadReports } from './load/order.ts'
import { descriptorLimit } from './machine.ts'
import { buildPath, type Path } from './path.ts'
import { appendSample, type Sample } from './sample.ts'
import type { ProxySetup, Running, Subject } from './subjects/subject.ts'

/** One subject of the comparison: its setup, its process and its results. */
export class Contestant {
  readonly subject: Subject
  readonly path: Path
  readonly #setup: ProxySetup
  readonly #load: Load
  #running: Running | undefined
  #measured: Sample = {}
  #unfinished: string | undefined

  constructor(subject: Subject, load: Load, folder: string) {
    this.subject = subject
    this.path = buildPath(subject.name)
    this.#load = load
    this.#setup = {
      node: this.path.node,
      folder,
      listen: { ip: CLIENT.node, port: SERVICE_PORT },
      backend: { ip: BACKENDS.host, port: TARGET_PORT },
      workers: availableParallelism(),
      descriptors: Math.min(descriptorLimit(), 1 << 20),
    }
  }

  get cell(): UserspaceCell {
    const cell = { subject: this.subject.name, measured: this.#measured }
    return this.#unfinished === undefined ? cell : { ...cell, unfinished: this.#unfinished }
  }

  /** Its processes; empty if the kernel does everything. */
  get pids(): readonly number[] {
    return this.#running?.pids ?? []
  }

  /** Makes the load generator send load to the running subject. */
  request<What extends keyof LoadReports>(
    what: What,
    { connections = 1, ms = 0 }: Partial<LoadOrder> = {},
  ): Promise<LoadReports[What]> {
    if (this.#running === undefined) throw new Error(`${this.subject.name} does not run`)
    const { client } = this.path
    const order = { what, client, ...this.#running.address, connections, ms, pids: this.pids }
    return this.#load.request(order)
  }

  /** Measures one sample. A failure keeps the earlier samples of the subject, and ends its measurements. */
  async attempt(act: () => Promise<Sample>): Promise<void> {
    if (this.#unfinished !== undefined) return
    try {
      this.#measured = appendSample(this.#measured, await act())
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      process.stderr.write(`bench: ${this.subject.name} stopped: ${problem}\n`)
      this.#unfinished = problem.slice(0, 300)
      await this.stop()
    }
  }

  async start(): Promise<Sample> {
    this.#running = await this.subject.start(this.#setup)
    return {}
  }

  async stop(): Promise<void> {
    await this.#running?.stop()
    this.#running = undefined
  }
}
