import { existsSync } from 'node:fs'
import { run } from './command.ts'

/**
 * Loads what no kernel loads by itself when it is used: bridged packets meet
 * iptables only with br_netfilter, and namespaces made before do not have its settings.
 */
export async function loadModules(): Promise<void> {
  if (existsSync('/proc/sys/net/bridge')) return
  await run(['modprobe', 'br_netfilter'])
}
