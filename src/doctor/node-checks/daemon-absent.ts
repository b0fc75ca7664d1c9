import { checkOfEachNode } from '../evidence/node-check.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

/** No node-proxy answers: rules of an earlier one go stale, or nothing forwards packets to Services. */
export const daemonAbsent = checkOfEachNode('daemon-absent', (facts) => {
  if (facts.daemon !== undefined) return []
  const own = facts.rules.filter(({ own: count }) => count > 0)
  if (own.length === 0 && facts.proxies.length > 0) return []
  const isStale = own.length > 0
  return [
    {
      symptom: isStale ? 'Changes do not arrive' : 'Service not reachable',
      cause: isStale
        ? 'node-proxy does not answer, but its rules are in the kernel: they go stale'
        : 'no node-proxy runs, and its rules are not in the kernel',
      evidence: [facts.daemonAbsent, ...own.map(rulesText)],
      remedy:
        'start it, or see in its log why it ends; rules without a process are removed by node-proxy --cleanup',
      commands: ['kubectl -n kube-system get pods -o wide -l app=node-proxy', 'node-proxy status'],
    },
  ]
})

function rulesText({ program, own }: NodeFacts['rules'][number]): string {
  return `${own} rules of node-proxy are listed by ${program}`
}
