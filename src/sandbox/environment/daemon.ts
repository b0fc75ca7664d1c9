import { setTimeout as delay } from 'node:timers/promises'
import { NodeProxyError } from '../../lib/error.ts'
import type { Agent } from '../agent/agent.ts'
import type { Namespace } from '../network/namespace.ts'
import { Program } from '../network/program.ts'
import { CHANGE_MS } from '../run/run.ts'

const LAUNCHER = new URL('../../../bin/node-proxy', import.meta.url).pathname
const METRICS = 'http://127.0.0.1:10249/metrics'
const POLL_MS = 20

export interface DaemonOptions {
  readonly node: Namespace
  /** Fetches the metrics from inside the node. */
  readonly agent: Agent
  readonly flags: readonly string[]
  readonly logFile: string
}

/** node-proxy as a child process inside the node. */
export class Daemon {
  readonly #agent: Agent
  readonly #program: Program

  constructor({ node, agent, flags, logFile }: DaemonOptions) {
    this.#agent = agent
    this.#program = new Program({ command: node.inside([LAUNCHER, ...flags]), logFile })
  }

  get pid(): number | undefined {
    return this.#program.pid
  }

  lastLines(count: number): readonly string[] {
    return this.#program.lastLines(count)
  }

  /** Its metrics as text; empty while it does not serve them. */
  async metrics(): Promise<string> {
    const answer = await this.#agent.send({ url: METRICS, timeoutMs: 2000 })
    return answer.kind === 'answered' && answer.status === 200 ? answer.body : ''
  }

  /** Resolves once the kernel holds everything up to these revisions, by resource. */
  applied(versions: ReadonlyMap<string, number>): Promise<void> {
    return this.until('has written its rules', (text) => isApplied(text, versions))
  }

  /** Waits until its metrics meet a condition. Throws NP_SANDBOX_DAEMON when it ends or takes too long. */
  async until(what: string, holds: (metrics: string) => boolean): Promise<void> {
    const deadline = performance.now() + CHANGE_MS
    const { ended } = this.#program
    while (performance.now() < deadline) {
      if (this.pid === undefined) throw this.#failure(`ended (${await ended})`)
      if (holds(await this.metrics())) return
      await Promise.race([delay(POLL_MS), ended])
    }
    throw this.#failure(`not yet: ${what} (waited ${CHANGE_MS / 1000} s)`)
  }

  stop(signal: NodeJS.Signals): Promise<void> {
    return this.#program.stop(signal)
  }

  #failure(how: string): NodeProxyError {
    const output = this.lastLines(15).map((line) => `    ${line}`)
    return new NodeProxyError('NP_SANDBOX_DAEMON', [`node-proxy ${how}`, ...output].join('\n'), {
      hint: 'its own log is above; npm start -- --help',
    })
  }
}

/** Runs node-proxy once to its end, for example with `--cleanup`. */
export async function runDaemonOnce(node: Namespace, flags: readonly string[]): Promise<string> {
  return node.exec([LAUNCHER, ...flags])
}

/** Sum of all samples of one metric in a Prometheus text whose labels include `labels`. */
export function sumOf(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  let sum = 0
  for (const line of text.split('\n')) {
    const [, metric, set = '', value] = /^([^\s{#]+)(\{.*\})? (\S+)/.exec(line) ?? []
    if (metric === name && wanted.every((pair) => set.includes(pair))) sum += Number(value)
  }
  return sum
}

/** Whether the kernel holds everything up to these revisions, by resource. */
export function isApplied(text: string, versions: ReadonlyMap<string, number>): boolean {
  return [...versions].every(
    ([resource, version]) =>
      sumOf(text, 'nodeproxy_applied_resource_version', { resource }) >= version,
  )
}
