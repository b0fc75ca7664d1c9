import { type Samples, sumOf } from '../daemon/metrics.ts'
import type { Objects } from '../report/results.ts'

/** The numbers of objects that the daemon reports to have in the kernel. */
export function programmedObjects(samples: Samples): Objects {
  return {
    chains: sumOf(samples, 'nodeproxy_programmed_objects', 'kind="chain"'),
    rules: sumOf(samples, 'nodeproxy_sync_proxy_rules_iptables_total'),
    sets: sumOf(samples, 'nodeproxy_programmed_objects', 'kind="set"'),
  }
}
