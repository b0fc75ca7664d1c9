import { checkOfEachNode } from '../evidence/node-check.ts'

/** Another Service proxy is on the node beside node-proxy, or what it left behind. */
export const foreignProxy = checkOfEachNode('foreign-proxy', ({ proxies, daemon }) =>
  daemon === undefined
    ? []
    : proxies.map(({ proxy, traces, pids, remedy }) => ({
        symptom: 'Service not reachable',
        cause: `${proxy} is on this node, too: ${pids.length > 0 ? `at work (pid ${pids.join(', ')})` : 'no process of it is to be seen, so its rules are stale'}`,
        evidence: traces,
        remedy: `${remedy}; the proxy that started last decides where packets go`,
        commands: ['node-proxy status', 'iptables -t nat -S PREROUTING'],
      })),
)
