import { expect } from 'vitest'
import type { ProxyConfig } from './daemon-config.ts'
import type { Lab } from './lab.ts'
import { sumOf } from './metrics.ts'

/** Has the running daemon read another configuration, and waits until it says that it did. */
export async function reconfigure({ daemon }: Lab, config: ProxyConfig): Promise<void> {
  const reloads = async () =>
    sumOf(await daemon.metrics(), 'nodeproxy_config_reloads_total', { result: 'applied' })
  const before = await reloads()
  daemon.writeConfig(config)
  daemon.signal('SIGHUP')
  await expect.poll(reloads, { timeout: 20_000 }).toBeGreaterThan(before)
}
