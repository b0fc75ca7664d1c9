import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../kernel/netlink/transport.ts'
import { KernelTraces } from '../../../kernel/traces/kernel-traces.ts'
import { systemClock } from '../../../lib/clock.ts'
import { findProxies } from '../../foreign-proxies/find-proxies.ts'

/** Other Service proxies of this node. */
export async function readProxies(): Promise<NodeFacts['proxies']> {
  const traces = new KernelTraces(rawTransport(NETLINK_NETFILTER), systemClock)
  try {
    const found = await findProxies(traces, [4, 6])
    return found.map(({ signature, traces: seen, pids }) => ({
      ...{ proxy: signature.proxy, remedy: signature.remedy },
      ...{ traces: seen, pids },
    }))
  } finally {
    traces.close()
  }
}
