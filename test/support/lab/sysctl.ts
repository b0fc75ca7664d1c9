import type { Agent } from './agent.ts'

/** Reads and writes the network sysctls of the agent's namespace, without any program. */
export async function readSysctl(agent: Agent, name: string): Promise<string> {
  return (await agent.call('read', { path: fileOf(name) })).trim()
}

export async function writeSysctls(
  agent: Agent,
  values: Readonly<Record<string, string | number>>,
): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    await agent.call('write', { path: fileOf(name), text: String(value) })
  }
}

/** Interface names may contain dots, so names are written with slashes: `net/ipv4/ip_forward`. */
function fileOf(name: string): string {
  return `/proc/sys/${name}`
}
