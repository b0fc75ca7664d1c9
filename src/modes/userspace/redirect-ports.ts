import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Family } from '../../lib/ip.ts'
import { CHAIN } from './names.ts'

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
