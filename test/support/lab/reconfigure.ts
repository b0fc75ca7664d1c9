import { vi } from 'vitest'
import type { ProxyConfig } from './daemon-config.ts'
import type { Lab } from './lab.ts'
import { sumOf } from './metrics.ts'

/** Long, because a configuration with another mode is first tried on the kernel. */
const TAKEN_MS = 200_000
/** How much of the log an error shows. */
const LOG_CHARACTERS = 2_000

/**
 * Makes the running daemon read another configuration, and waits until it has applied it.
 * @throws an error with the daemon's log, if it refuses the configuration
 */
export async function reconfigure({ daemon }: Lab, config: ProxyConfig): Promise<void> {
  const reloads = async (result: 'applied' | 'refused') =>
    sumOf(await daemon.metrics(), 'nodeproxy_config_reloads_total', { result })
  const before = { applied: await reloads('applied'), refused: await reloads('refused') }
  daemon.writeConfig(config)
  daemon.signal('SIGHUP')
  const isTaken = async () => {
    const isRefused = (await reloads('refused')) > before.refused
    if (isRefused) throw new Error('refused')
    return (await reloads('applied')) > before.applied
  }
  try {
    await vi.waitUntil(isTaken, { timeout: TAKEN_MS })
  } catch (cause) {
    throw new Error(`not taken: ${daemon.logs().slice(-LOG_CHARACTERS)}`, { cause })
  }
}
