import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { stringify } from 'yaml'
import { CLUSTER_CIDR, CONTROL, METRICS_PORT, NODE_NAME } from '../lab/plan.ts'
import type { Backend } from '../report/results.ts'
import { parseMetrics, type Samples } from './metrics.ts'

const LAUNCHER = new URL('../../bin/node-proxy', import.meta.url).pathname
const LISTED = 'the cluster is listed'
const POLL_MS = 20
const STOP_MS = 10_000
const RECORD_LENGTH = 400

/** A mode, or the iptables mode with one iptables variant. */
export type Proxy = 'ipvs' | 'nftables' | 'userspace' | Backend

/** How the daemon is started. */
export interface Launched {
  /** The path of its launcher, instead of the checkout's. */
  readonly launcher?: string
  /** Variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface DaemonOptions extends Launched {
  readonly namespace: string
  readonly url: string
  readonly proxy: Proxy
  /** The folder for the configuration file. */
  readonly folder: string
  /** Fields of the configuration, in place of their defaults. */
  readonly settings?: object
}

/** The daemon in the node's namespace, by its launcher, as an operator starts it. */
export interface Daemon {
  readonly pid: number
  /** `performance.now()` when it was started. */
  readonly startedAt: number
  /** `performance.now()` of the log record that reports that the cluster is listed. */
  listedAt(): number | undefined
  /** The time of the first record with these words that is not older than `since`. */
  loggedAt(words: string, since: number): number | undefined
  /** The first record of each warning and error, shortened. */
  complaints(): readonly string[]
  metrics(): Promise<Samples>
  /** Waits until `condition` holds; false after the timeout. */
  until(condition: (samples: Samples) => boolean, timeoutMs: number): Promise<boolean>
  /** Waits until the daemon reports that it is ready, which is after its first full sync; cheap for the daemon. */
  untilReady(timeoutMs: number): Promise<boolean>
  stop(): Promise<void>
}

export function startDaemon(options: DaemonOptions): Daemon {
  const configFile = join(options.folder, 'config.yaml')
  writeFileSync(configFile, configText(options))
  const flags = [`--config=${configFile}`, `--master=${options.url}`]
  const command = ['netns', 'exec', options.namespace, options.launcher ?? LAUNCHER, ...flags]
  const startedAt = performance.now()
  const env = { ...process.env, ...options.environment }
  const child = spawn('ip', command, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const log = collect(child.stdout, child.stderr)
  const ended = once(child, 'exit')
  const metrics = () => readMetrics()
  const poll = async (holds: () => Promise<boolean>, timeoutMs: number) => {
    const deadline = performance.now() + timeoutMs
    while (performance.now() < deadline) {
      if (await holds()) return true
      if (child.exitCode !== null) throw new Error(`the daemon ended\n${log().slice(-3_000)}`)
      await delay(POLL_MS)
    }
    return false
  }
  return {
    pid: child.pid ?? 0,
    startedAt,
    listedAt: () => timeOf(log(), LISTED, 0),
    loggedAt: (words, since) => timeOf(log(), words, since),
    complaints: () => complaintsIn(log()),
    metrics,
    until: (condition, timeoutMs) => poll(async () => condition(await metrics()), timeoutMs),
    untilReady: (timeoutMs) => poll(isReady, timeoutMs),
    async stop() {
      child.kill('SIGTERM')
      const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await ended
      clearTimeout(killing)
    },
  }
}

/** The default configuration, except for what the lab needs. */
function configText({ proxy, settings }: DaemonOptions): string {
  return stringify({
    apiVersion: 'proxy.config.orch.io/v1alpha1',
    kind: 'NodeProxyConfiguration',
    hostnameOverride: NODE_NAME,
    clusterCIDR: CLUSTER_CIDR,
    detectLocalMode: 'ClusterCIDR',
    metricsBindAddress: `${CONTROL.node}:${METRICS_PORT}`,
    ...modeOf(proxy),
    ...settings,
  })
}

function modeOf(proxy: Proxy): object {
  if (proxy === 'nft' || proxy === 'legacy') {
    return { mode: 'iptables', iptables: { backend: proxy } }
  }
  return { mode: proxy }
}

async function isReady(): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`http://${CONTROL.node}:${METRICS_PORT}/readyz`)
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}

/** Empty while it does not serve metrics. */
async function readMetrics(): Promise<Samples> {
  try {
    const { body } = await request(`http://${CONTROL.node}:${METRICS_PORT}/metrics`)
    return parseMetrics(await body.text())
  } catch {
    return new Map()
  }
}

function collect(...streams: readonly NodeJS.ReadableStream[]): () => string {
  let text = ''
  for (const stream of streams) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  }
  return () => text
}

function complaintsIn(log: string): readonly string[] {
  const records = log.split('\n').filter((line) => /^\{"level":"(warn|error|fatal)"/.test(line))
  const byMessage = new Map<string, string>()
  for (const record of records) {
    const message = /"msg":"([^"]*)"/.exec(record)?.[1] ?? record
    if (!byMessage.has(message)) byMessage.set(message, record.slice(0, RECORD_LENGTH))
  }
  return [...byMessage.values()]
}

/** `performance.now()` of a log record; its `time` is ISO 8601 or milliseconds since 1970. */
function timeOf(log: string, words: string, since: number): number | undefined {
  return log
    .split('\n')
    .filter((line) => line.includes(words))
    .flatMap((line) => {
      const time = /"time":(?:"([^"]+)"|(\d+))/.exec(line)
      if (time === null) return []
      return [(time[1] ? Date.parse(time[1]) : Number(time[2])) - performance.timeOrigin]
    })
    .find((at) => at >= Math.floor(since))
}
