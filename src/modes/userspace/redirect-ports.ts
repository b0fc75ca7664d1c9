import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Family } from '../../lib/ip.ts'
import { CHAIN } from './names.ts'
import type { PortsByFamily } from './program.ts'

const TO_PORT = / -j DNAT --to-destination :(\d+)$/

/** The local ports to which rules in the kernel translate connections, of this run or an earlier one. */
export async function redirectPorts(
  iptables: Iptables,
  families: readonly Family[],
): Promise<ReadonlySet<number>> {
  const ports = new Set<number>()
  for (const family of families) {
    for (const chain of [CHAIN.redirect, CHAIN.pods]) {
      for (const rule of (await iptables.listChain(family, 'nat', chain)) ?? []) {
        const port = TO_PORT.exec(rule)?.[1]
        if (port !== undefined) ports.add(Number(port))
      }
    }
  }
  return ports
}

/** The ports of each family to which rules in the kernel translate; 0 if no rule does. */
export async function portsInKernel(iptables: Iptables): Promise<PortsByFamily> {
  const portIn = async (family: Family, chain: string) => {
    const rules = (await iptables.listChain(family, 'nat', chain)) ?? []
    return Number(rules.map((rule) => TO_PORT.exec(rule)?.[1]).find(Boolean) ?? 0)
  }
  const ports = new Map<Family, { readonly pods: number; readonly others: number }>()
  for (const family of [4, 6] as const) {
    const pods = await portIn(family, CHAIN.pods)
    ports.set(family, { pods, others: await portIn(family, CHAIN.redirect) })
  }
  return ports
}
