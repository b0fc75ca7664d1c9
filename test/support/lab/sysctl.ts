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

/** The file of a setting. Names have slashes, `net/ipv4/ip_forward`, because interface names may contain dots. */
function fileOf(name: string): string {
  return `/proc/sys/${name}`
}
