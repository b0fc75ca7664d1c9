import { hostname } from 'node:os'
import { createApiClient } from '../client/api-client.ts'
import { loadConnection } from '../client/load-connection.ts'
import { systemClock } from '../lib/clock.ts'
import { setOomScore } from './oom-score.ts'
import type { ExitCode, Launch } from './program.ts'
import { openKernel } from './wiring/kernel.ts'
import { cleanUpKernel } from './wiring/clean-up.ts'
import { nodeNameOf } from './wiring/node-identity.ts'
import { runNode } from './wiring/run-node.ts'
import { applySysctls } from './wiring/sysctls.ts'
import { untilSignal } from './wiring/signals.ts'

/** Runs until a signal ends it; the rules stay. */
export async function runDaemon(config: Launch['config'], launch: Launch): Promise<ExitCode> {
  const { log, line, version } = launch
  const kernel = await openKernel(systemClock, config.iptables.backend)
  try {
    applySysctls(config, kernel.sysctl, log)
    const unset = await setOomScore(config.oomScoreAdj)
    if (unset) log.warn({ err: unset }, 'the OOM score stays as it is')
    if (line.initOnly) return 0
    const connection = await loadConnection({
      kubeconfig: config.clientConnection.kubeconfig,
      master: line.master,
      env: process.env,
      clock: systemClock,
    })
    const userAgent = `node-proxy/${version}`
    const client = createApiClient({ connection, clock: systemClock, userAgent })
    const nodeName = nodeNameOf(config, hostname())
    log.info({ version, nodeName, server: client.server, backend: kernel.iptables.backend }, 'node-proxy starts')
    const stop = await runNode({ launch, kernel, client, nodeName })
    const signal = await untilSignal(stop.reread)
    log.info({ signal }, 'node-proxy stops; the rules stay')
    await stop.close()
    await client.close()
    return 0
  } finally {
    await kernel.close()
  }
}

/** Removes every trace of every mode, and nothing else. */
export async function cleanUp(_config: Launch['config'], { log }: Launch): Promise<ExitCode> {
  return cleanUpKernel(systemClock, log)
}
