import { hostname } from 'node:os'
import { type ApiClient, createApiClient } from '../client/api-client.ts'
import type { Connection } from '../client/connection.ts'
import { loadConnection } from '../client/load-connection.ts'
import { systemClock } from '../lib/clock.ts'
import type { NodeProxyError } from '../lib/error.ts'
import type { ExitCode } from '../settings/answers.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/metrics.ts'
import type { Launch } from './program.ts'
import { checkStart } from './wiring/check-start.ts'
import { cleanUpKernel } from './wiring/clean-up.ts'
import { type Kernel, openKernel } from './wiring/kernel.ts'
import { tellWhatIsNotDone } from './wiring/kernel-without-rules.ts'
import type { ModeKind } from './wiring/modes/mode-kind.ts'
import { type OpenModes, openModes } from './wiring/modes/open-modes.ts'
import { nodeNameOf } from './wiring/node-identity.ts'
import { observeClient } from './wiring/observe-client.ts'
import { applyProcessSettings } from './wiring/process-settings.ts'
import { readRights } from './wiring/rights.ts'
import { runNode } from './wiring/run-node.ts'
import { listenForSignals, type Signals } from './wiring/signals.ts'
import { applySysctls, routeLocalnet } from './wiring/sysctls.ts'

/** Runs until a signal ends it; the kernel keeps what it has. */
export async function runDaemon(config: Launch['config'], launch: Launch): Promise<ExitCode> {
  const { log, line } = launch
  const signals = listenForSignals()
  const rights = readRights()
  const connect = line.initOnly ? undefined : () => connectionOf(config, line)
  const start = await checkStart(config, { rights, connect })
  if (!start.ok) return refuse(start.error, log)
  const { connection } = start
  const { backend } = config.iptables
  const kernel = await openKernel({ clock: systemClock, backend, rights })
  tellWhatIsNotDone(kernel, log)
  try {
    const open = await openModes(kernel, config, log)
    try {
      applySysctls(config, kernel.sysctl, log)
      await applyProcessSettings(config, { log })
      if (connection !== undefined) await serve(launch, { ...open, kernel, connection }, signals)
      else initialise(open.modes.current, { config, kernel, log })
    } finally {
      await open.modes.close()
    }
    return 0
  } finally {
    await kernel.close()
  }
}

/** The exit code of wrong flags and configuration files: nothing was touched. */
function refuse(error: NodeProxyError, log: Launch['log']): ExitCode {
  log.fatal({ err: error }, 'node-proxy cannot start like this; nothing was changed')
  return 2
}

interface Ground extends OpenModes {
  readonly kernel: Kernel
  readonly connection: Connection
}

async function serve(launch: Launch, ground: Ground, signals: Signals): Promise<void> {
  const { config, log } = launch
  const metrics = createMetrics()
  const client = openClient(ground.connection, launch, metrics)
  try {
    const node = await runNode({ ...ground, launch, client, metrics, nodeName: nodeName(config) })
    signals.onHangup(() => node.reread())
    log.info({ signal: await signals.stop }, 'node-proxy stops; the kernel keeps what it has')
    await node.close()
  } finally {
    await client.close()
  }
}

/** What needs full privileges, for a daemon that runs with fewer afterwards. */
function initialise(
  mode: ModeKind,
  { config, kernel, log }: Pick<Launch, 'config' | 'log'> & Pick<Ground, 'kernel'>,
): void {
  mode.tune(config)
  if (mode.loopbackGuards(config)) routeLocalnet(kernel.sysctl, log)
}

function connectionOf(config: Launch['config'], { master }: Launch['line']): Promise<Connection> {
  const { kubeconfig } = config.clientConnection
  return loadConnection({ kubeconfig, master, env: process.env, clock: systemClock })
}

function openClient(connection: Connection, launch: Launch, metrics: Metrics): ApiClient {
  const { config, log, version } = launch
  const userAgent = `node-proxy/${version}`
  const observer = observeClient(metrics)
  const client = createApiClient({ connection, clock: systemClock, userAgent, observer })
  log.info({ version, nodeName: nodeName(config), server: client.server }, 'node-proxy starts')
  return client
}

function nodeName(config: Launch['config']): string {
  return nodeNameOf(config, hostname())
}

/** Removes every trace of every mode, and nothing else. */
export async function cleanUp(config: Launch['config'], { log }: Launch): Promise<ExitCode> {
  return cleanUpKernel(config, log)
}
