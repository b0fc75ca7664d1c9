import { existsSync } from 'node:fs'
import { run } from './command.ts'

/**
 * Loads br_netfilter, which kernels do not load on demand: without it, bridged packets do not pass iptables. Must run
 * before namespaces are made, because older namespaces do not have its settings.
 */
export async function loadModules(): Promise<void> {
  if (existsSync('/proc/sys/net/bridge')) return
  await run(['modprobe', 'br_netfilter'])
}
