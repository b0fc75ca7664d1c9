import { hostname } from 'node:os'
import { type ApiClient, createApiClient } from '../client/api-client.ts'
import { loadConnection } from '../client/load-connection.ts'
import { systemClock } from '../lib/clock.ts'
import type { ExitCode } from '../settings/answers.ts'
import type { Launch } from './program.ts'
import { cleanUpKernel } from './wiring/clean-up.ts'
import { keepAlive } from './wiring/keep-alive.ts'
import { type Kernel, openKernel } from './wiring/kernel.ts'
import { tellWhatIsNotDone } from './wiring/kernel-without-rules.ts'
import type { ModeKind } from './wiring/modes/mode-kind.ts'
import { type OpenModes, openModes } from './wiring/modes/open-modes.ts'
import { nodeNameOf } from './wiring/node-identity.ts'
import { applyProcessSettings } from './wiring/process-settings.ts'
import { readRights } from './wiring/rights.ts'
import { runNode } from './wiring/run-node.ts'
import { listenForSignals, type Signals } from './wiring/signals.ts'
import { applySysctls, routeLocalnet } from './wiring/sysctls.ts'

/** Runs until a signal ends it; the kernel keeps what it has. */
export async function runDaemon(config: Launch['config'], launch: Launch): Promise<ExitCode> {
  const { log, line } = launch
  const signals = listenForSignals()
  const { backend } = config.iptables
  const kernel = await openKernel({ clock: systemClock, backend, rights: readRights() })
  tellWhatIsNotDone(kernel, log)
  try {
    const open = await openModes(kernel, config, log)
    try {
      applySysctls(config, kernel.sysctl, log)
      await applyProcessSettings(config, { log })
      if (!line.initOnly) await keepAlive(() => serve(launch, { ...open, kernel }, signals))
      else initialise(open.modes.current, { config, kernel, log })
    } finally {
      await open.modes.close()
    }
    return 0
  } finally {
    await kernel.close()
  }
}

interface Ground extends OpenModes {
  readonly kernel: Kernel
}

async function serve(launch: Launch, ground: Ground, signals: Signals): Promise<void> {
  const { config, log } = launch
  const client = await connect(config, launch)
  try {
    const node = await runNode({ ...ground, launch, client, nodeName: nodeName(config) })
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

async function connect(config: Launch['config'], launch: Launch): Promise<ApiClient> {
  const { log, line, version } = launch
  const connection = await loadConnection({
    kubeconfig: config.clientConnection.kubeconfig,
    master: line.master,
    env: process.env,
    clock: systemClock,
  })
  const userAgent = `node-proxy/${version}`
  const client = createApiClient({ connection, clock: systemClock, userAgent })
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
