import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { Connection } from '../client/connection/connection.ts'
import { lateFrom } from '../client/connection/credential/validity.ts'
import { loadConnection } from '../client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../client/http/api-client.ts'
import type { ClientObserver } from '../client/http/client-observer.ts'
import { CredentialRenewal } from '../client/http/credential-renewal.ts'
import { SocketLocks } from '../kernel/owner-lock.ts'
import { steadyClock, systemClock } from '../lib/clock.ts'
import type { NodeProxyError } from '../lib/error.ts'
import { systemRandom } from '../lib/random.ts'
import type { ModeDriver } from '../modes/definition/mode-driver.ts'
import type { ExitCode } from '../settings/answers.ts'
import { Conditions } from '../telemetry/health/conditions.ts'
import { notifyServiceManager } from '../telemetry/health/sd-notify.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/metrics.ts'
import type { Launch } from './config/load.ts'
import { nodeNameOf } from './engine/this-node.ts'
import { type Kernel, logMissingFeatures } from './kernel/kernel.ts'
import { openKernel } from './kernel/open-kernel.ts'
import { readRights } from './kernel/rights.ts'
import { applySysctls } from './kernel/sysctls.ts'
import { isGuardedByMode, LoopbackRouting } from './loopback/loopback-routing.ts'
import { cleanUpKernel } from './modes/clean-up.ts'
import { type OpenModes, openModes } from './modes/open-modes.ts'
import { checkStart } from './process/check-start.ts'
import { applyProcessSettings, keepAlive } from './process/process-settings.ts'
import { listenForSignals, type Signals } from './process/signals.ts'
import {
  NO_OWNERSHIP,
  type Ownership,
  takeOwnership,
  thisProcess,
} from './process/take-ownership.ts'
import { runNode } from './wiring/run-node.ts'

/** Milliseconds to wait for the lock: a previous process may take as long to stop. `--cleanup` does not wait by default. */
const WAIT_MS = { daemon: 30_000, '--init-only': 30_000, '--cleanup': 0 } as const

/** Runs until a signal ends it; the kernel keeps what it has. */
export async function runDaemon(config: Launch['config'], launch: Launch): Promise<ExitCode> {
  const { log, line } = launch
  const signals = listenForSignals()
  const rights = readRights()
  const connect = line.initOnly ? undefined : () => connectionOf(config, line)
  const start = await checkStart(config, { rights, connect })
  if (!start.ok) return refuse(start.error, log)
  const { connection } = start
  const advertised = { mode: config.mode }
  const task = line.initOnly ? '--init-only' : 'daemon'
  const ownership = await acquireOwnership(launch, {
    task,
    mode: () => advertised.mode,
    stop: signals.stop,
  })
  if (ownership === undefined) return 0
  const { backend: variant } = config.iptables
  try {
    const kernel = await openKernel({ clock: steadyClock, variant, rights })
    logMissingFeatures(kernel, log)
    try {
      await work(launch, { kernel, connection, ownership, signals, advertised })
      return 0
    } finally {
      await kernel.close()
    }
  } finally {
    ownership.release()
  }
}

interface Started {
  readonly kernel: Kernel
  /** Undefined with --init-only. */
  readonly connection: Connection | undefined
  readonly ownership: Ownership
  readonly signals: Signals
  /** What the lock reports to other processes that want it. */
  readonly advertised: { mode: string }
}

async function work(launch: Launch, started: Started): Promise<void> {
  const { kernel, connection, ownership, signals, advertised } = started
  const { config, log } = launch
  const open = await openModes(kernel, config, { log })
  advertised.mode = open.modes.current.name
  try {
    applySysctls(config, kernel.sysctl, log)
    await applyProcessSettings(config, { log })
    const loopback = loopbackOf(kernel, log)
    if (connection === undefined) await initialise(open.modes.current, { config, loopback, log })
    else {
      const runtime = { ...open, kernel, connection, loopback, ownership }
      await keepAlive(() => serve(launch, runtime, signals))
    }
  } finally {
    await open.modes.close()
  }
}

/** The exit code of wrong flags and configuration files: nothing was touched. */
function refuse(error: NodeProxyError, log: Launch['log']): ExitCode {
  log.fatal({ err: error }, 'node-proxy cannot start; nothing was changed')
  return 2
}

interface DaemonRuntime extends OpenModes {
  readonly kernel: Kernel
  readonly connection: Connection
  readonly loopback: LoopbackRouting
  readonly ownership: Ownership
}

async function serve(launch: Launch, runtime: DaemonRuntime, signals: Signals): Promise<void> {
  const { config, log } = launch
  const metrics = createMetrics()
  const conditions = new Conditions({ log, metrics })
  const renewal = new CredentialRenewal({
    connection: runtime.connection,
    clock: systemClock,
    random: systemRandom,
    log,
    onProblems: (problems) => reviewCredentials(conditions, problems),
  })
  const client = openClient(runtime.connection, launch, observeClient(metrics, renewal))
  try {
    renewal.start(client)
    const shared = { client, metrics, conditions, nodeName: nodeName(config) }
    const node = await runNode({ ...runtime, ...shared, launch })
    signals.onHangup(() => node.reread())
    notifyServiceManager(['READY=1', `STATUS=follows ${client.server}`], { log })
    const signal = await signals.stop
    notifyServiceManager(['STOPPING=1', 'STATUS=stops; its rules stay in the kernel'], { log })
    log.info({ signal }, 'node-proxy stops; its rules stay in the kernel')
    await node.close()
    // This process writes no rules any more, so the next node-proxy may begin while connections drain.
    runtime.ownership.release()
  } finally {
    renewal.close()
    await client.close()
  }
}

/** These conditions do not block readiness. If the API server refuses the daemon, that blocks it. */
function reviewCredentials(conditions: Conditions, problems: readonly string[]): void {
  const reason = 'client-credential'
  if (problems.length === 0) conditions.clear(reason)
  else conditions.raise(reason, { message: problems.join('; '), blocksReadiness: false })
}

function loopbackOf({ netfilter, sysctl }: Kernel, log: Launch['log']): LoopbackRouting {
  return new LoopbackRouting({
    sysctl,
    iptables: netfilter.ok ? [netfilter.parts.iptables] : [],
    otherGuard: isGuardedByMode,
    log,
  })
}

/** What needs full privileges, for a daemon that runs with fewer afterwards. */
async function initialise(
  mode: ModeDriver<Launch['config']>,
  { config, loopback, log }: Pick<Launch, 'config' | 'log'> & Pick<DaemonRuntime, 'loopback'>,
): Promise<void> {
  mode.tune(config)
  try {
    await loopback.guard()
    if (mode.loopbackGuards(config)) await loopback.open()
    else await loopback.close()
  } catch (error) {
    log.error({ err: error }, 'setting up node ports on 127.0.0.1 failed')
  }
}

function connectionOf(config: Launch['config'], { master }: Launch['line']): Promise<Connection> {
  const { kubeconfig } = config.clientConnection
  return loadConnection({ kubeconfig, master, env: process.env, clock: systemClock })
}

function openClient(connection: Connection, launch: Launch, observer: ClientObserver): ApiClient {
  const { config, log, version } = launch
  const userAgent = `node-proxy/${version}`
  const client = createApiClient({ connection, clock: systemClock, userAgent, observer })
  log.info({ version, nodeName: nodeName(config), server: client.server }, 'node-proxy starts')
  return client
}

function nodeName(config: Launch['config']): string {
  return nodeNameOf(config, hostname())
}

/** Removes every trace of every mode, and nothing else. */
export async function cleanUp(config: Launch['config'], launch: Launch): Promise<ExitCode> {
  const { stop } = listenForSignals()
  const ownership = await acquireOwnership(launch, { task: '--cleanup', mode: () => '', stop })
  if (ownership === undefined) return 1
  try {
    return await cleanUpKernel(config, launch.log)
  } finally {
    ownership.release()
  }
}

/** What this process does with the rules. */
interface Task {
  /** Reported to processes that wait for the lock. */
  readonly task: 'daemon' | '--init-only' | '--cleanup'
  readonly mode: () => string
  /** Ends the wait for the lock. */
  readonly stop: Promise<unknown>
}

/**
 * Makes this process the only one that writes the rules of this network namespace. Without CAP_NET_ADMIN it
 * cannot write any, so it takes no lock.
 * @returns undefined when `stop` resolved first
 * @throws NP_NODEPROXY_LOCKED, NP_NODEPROXY_LOCK_FOREIGN after the wait
 */
async function acquireOwnership(
  { line, log, version }: Pick<Launch, 'line' | 'log' | 'version'>,
  { task, mode, stop }: Task,
): Promise<Ownership | undefined> {
  if (!readRights().netAdmin) return NO_OWNERSHIP
  const waiting = new AbortController()
  void stop.then(() => waiting.abort())
  const self = thisProcess(process.argv.slice(2), { version, task, mode: '' })
  return takeOwnership({
    clock: steadyClock,
    log,
    signal: waiting.signal,
    locks: new SocketLocks(),
    owner: () => ({ ...self, mode: mode() }),
    waitMs: line.wait ?? WAIT_MS[task],
    pause: (ms) => pause(ms),
  })
}

type ClientMetrics = Pick<
  Metrics,
  'restRequests' | 'restDuration' | 'credentialExpiration' | 'credentialLate'
>

/** Turns the reports of the API client into metrics; `credentials` also receives the reports about credentials. */
export function observeClient(
  metrics: ClientMetrics,
  credentials: Pick<ClientObserver, 'authenticated'>,
): ClientObserver {
  return {
    requested({ method, code, seconds }) {
      metrics.restRequests.inc({ code, method })
      metrics.restDuration.observe({ verb: method }, seconds)
    },
    authenticated(kind, validity) {
      credentials.authenticated(kind, validity)
      if (validity === undefined) {
        metrics.credentialExpiration.remove({ kind })
        metrics.credentialLate.remove({ kind })
      } else {
        metrics.credentialExpiration.set({ kind }, validity.to / 1_000)
        metrics.credentialLate.set({ kind }, lateFrom(kind, validity) / 1_000)
      }
    },
  }
}
