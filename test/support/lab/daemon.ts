import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpReply } from '../agent/protocol.ts'
import { asUser } from '../other-user.ts'
import { launcherOf } from '../programs.ts'
import type { Api } from './api.ts'
import { backendFlags, daemonConfigText, type ProxyConfig } from './daemon-config.ts'
import { parseMetrics, type Samples, sumOf } from './metrics.ts'
import { type LabProcess, startProcess } from './process.ts'
import type { Site } from './site.ts'

/** The program under test; `NP_DAEMON` names another one that takes the same flags. */
const LAUNCHER = process.env['NP_DAEMON'] ?? launcherOf('node-proxy')

export interface DaemonStart {
  readonly config?: ProxyConfig
  /** Further flags, which take precedence over the file. */
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Another program that takes the same flags. */
  readonly launcher?: string
  /** A folder of programs that the daemon, and no other process, finds instead of those of the machine. */
  readonly programs?: string
  /** The number of an unprivileged user; root unless given. */
  readonly user?: number
}

/** Exit status, or the signal that ended it; undefined: it did not run. */
export type Ended = number | NodeJS.Signals | undefined

/** The program under test, as a child process in the node's namespace. */
export interface Daemon {
  /** Starts it and waits until it serves metrics. */
  start(options?: DaemonStart): Promise<void>
  /**
   * Ends it by SIGTERM and starts the next one without waiting for the end: after the signal, or
   * before it as a surge upgrade does. Resolves to its exit status when the next one serves metrics
   * and it has ended.
   */
  replace(options: DaemonStart & { readonly surge: boolean }): Promise<Ended>
  isRunning(): boolean
  /** Waits until everything written at the API so far is in the kernel. */
  synced(): Promise<void>
  /** Waits until `condition` holds for what it exports. */
  until(what: string, condition: (samples: Samples) => boolean): Promise<void>
  metrics(): Promise<Samples>
  /** GET of one of its own ports, from the node. */
  http(port: number, path: string): Promise<HttpReply>
  /** SIGTERM, and waits for the end; its exit status. */
  stop(): Promise<Ended>
  /** SIGKILL to it and its children, and waits for the end. */
  kill(): Promise<void>
  /** To the daemon alone, as an operator would. */
  signal(name: NodeJS.Signals): void
  logs(): string
  readonly configFile: string
  /** Rewrites the configuration file of the running daemon. */
  writeConfig(config: ProxyConfig): void
  /** Runs the launcher to its end, for example with `--cleanup`. */
  once(flags: readonly string[]): Promise<string>
}

const METRICS_PORT = 10249
const POLL_MS = 15
const MAX_POLL_MS = 500
const TIMEOUT_MS = 200_000

/** The parts of a lab that the daemon uses. */
export interface DaemonParts {
  readonly node: Site
  readonly api: Api
  readonly folder: string
  /** Makes the text of its kubeconfig; called at each start. */
  readonly kubeconfigText: () => Promise<string>
}

export function createDaemon({ node, api, folder, kubeconfigText }: DaemonParts): Daemon {
  const kubeconfig = join(folder, 'kubeconfig')
  const configFile = join(folder, 'config.yaml')
  let running: LabProcess | undefined
  let pastLogs = ''

  const logs = (): string => pastLogs + (running?.output() ?? '')
  const http = (port: number, path: string): Promise<HttpReply> =>
    node.agent.call('http', { url: `http://127.0.0.1:${port}${path}` })
  const metrics = async (): Promise<Samples> =>
    parseMetrics((await http(METRICS_PORT, '/metrics')).body)
  const writeConfig = (config: ProxyConfig): void => {
    writeFileSync(configFile, daemonConfigText(config, kubeconfig))
  }

  async function until(what: string, condition: (samples: Samples) => boolean): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS
    let last: Samples = new Map()
    while (performance.now() < deadline) {
      const asked = performance.now()
      last = await metrics().catch((): Samples => new Map())
      if (condition(last)) return
      await Promise.race([delay(pauseAfter(performance.now() - asked)), failIfEnded(running)])
    }
    throw new Error(`daemon: not ${what} within ${TIMEOUT_MS} ms\n${tail(logs())}`)
  }

  function launch(start: DaemonStart): LabProcess {
    const { config = {}, flags = [], env = {}, launcher = LAUNCHER, programs, user } = start
    writeConfig(config)
    if (user !== undefined) chmodSync(folder, 0o755)
    const command = [launcher, `--config=${configFile}`, ...backendFlags(), ...flags]
    const own = user === undefined ? command : asUser(user, command, { hasNoRights: true })
    const entire = withPrograms(own, programs)
    return startProcess(node.namespace, entire, { env })
  }

  const serving = () => until('serving metrics', (samples) => samples.size > 0)

  async function end(name: NodeJS.Signals): Promise<Ended> {
    if (running === undefined) return undefined
    running.signal(name)
    const how = await running.ended
    pastLogs = logs()
    running = undefined
    return how
  }

  return {
    configFile,
    logs,
    metrics,
    http,
    until,
    writeConfig,
    async start(options = {}) {
      writeFileSync(kubeconfig, await kubeconfigText())
      running = launch(options)
      await serving()
    },
    async replace({ surge, ...options }) {
      const before = running
      if (!surge) before?.signalAlone('SIGTERM')
      running = launch(options)
      if (surge) await running.said('"msg"').finally(() => before?.signalAlone('SIGTERM'))
      const how = await before?.ended
      pastLogs += before?.output() ?? ''
      await serving()
      return how
    },
    isRunning: () => running !== undefined,
    async synced() {
      await api.fence()
      await until('synced', (samples) => isApplied(api, samples))
    },
    stop: () => end('SIGTERM'),
    async kill() {
      await end('SIGKILL')
    },
    signal: (name) => running?.signalAlone(name),
    once: (flags) =>
      node.namespace.exec([LAUNCHER, ...backendFlags(), ...flags], { timeoutMs: TIMEOUT_MS }),
  }
}

/**
 * Mounts the folder over the programs of the machine. `ip netns exec` makes a mount namespace, so only the daemon sees
 * it.
 */
function withPrograms(command: readonly string[], folder: string | undefined): readonly string[] {
  if (folder === undefined) return command
  const script = 'mount --bind "$1" /usr/local/sbin && shift && exec "$@"'
  return ['sh', '-c', script, 'sh', folder, ...command]
}

/**
 * Whether everything written is applied. Ignores Nodes, because a change of a Node has no effect that can be awaited.
 */
function isApplied(api: Api, samples: Samples): boolean {
  if (samples.size === 0) return false
  return [...api.written]
    .filter(([resource]) => resource !== 'nodes')
    .every(
      ([resource, revision]) =>
        sumOf(samples, 'nodeproxy_applied_resource_version', { resource }) >= revision,
    )
}

/** Twice as long as the answer took, so that a slow machine has time for what is waited for. */
function pauseAfter(answerMs: number): number {
  return Math.min(Math.max(POLL_MS, 2 * answerMs), MAX_POLL_MS)
}

async function failIfEnded(running: LabProcess | undefined): Promise<never> {
  const how = await running?.ended
  throw new Error(
    `daemon: ended (${String(how)}) while it was waited for\n${running?.output() ?? ''}`,
  )
}

function tail(text: string): string {
  return text.split('\n').slice(-40).join('\n')
}
