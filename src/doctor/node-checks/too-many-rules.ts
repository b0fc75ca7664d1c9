import { checkOfEachNode } from '../evidence/finding.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

/** Rules for a Service with ten endpoints, the size of the Services that were measured. */
const RULES_OF_A_SERVICE = 12
/** Rules of about 5,000 such Services. */
const MANY = 5_000 * RULES_OF_A_SERVICE

/** Milliseconds (p50) from a change of one endpoint to the kernel, as bench/RESULTS.md has them. */
export const MEASURED = [
  { services: 1_000, nft: 13.8, legacy: 32.1, nftables: 5.1, ipvs: 7.0 },
  { services: 5_000, nft: 67.7, legacy: 180.6, nftables: 5.8, ipvs: 7.1 },
  { services: 10_000, nft: 125.8, legacy: 326.4, nftables: 5, ipvs: 9.2 },
] as const

/** iptables mode with so many rules that each change takes long, where another mode would not. */
export const tooManyRules = checkOfEachNode('too-many-rules', (facts) => {
  const { daemon, rules } = facts
  const own = rules.filter(({ program }) => program.includes('tables-'))
  const count = own.reduce((sum, one) => sum + one.own, 0)
  if (daemon?.mode !== 'iptables' || count < MANY) return []
  const variant = own.some((one) => one.own > 0 && one.program.endsWith('legacy'))
    ? 'legacy'
    : 'nft'
  // The time depends on the number of rules, and not on how they are distributed over Services.
  const likened = count / RULES_OF_A_SERVICE
  const measured = MEASURED.findLast(({ services }) => services <= likened) ?? MEASURED[1]
  const better = betterMode(facts)
  return [
    {
      symptom: 'Rules too many, slow',
      cause: `iptables mode has ${count} rules for ${daemon.services} Services: each change of them takes long`,
      evidence: [
        ...own.filter((one) => one.own > 0).map((one) => `${one.own} rules of ${one.program}`),
        ...(daemon.changes.count === 0
          ? []
          : [
              `here the last ${daemon.changes.count} changes took ${Math.round(daemon.changes.p50)} ms (p50), ${Math.round(daemon.changes.p99)} ms (p99)`,
            ]),
        `measured with ${measured.services} Services of ten endpoints, one endpoint replaced (p50): iptables (${variant}) ${measured[variant]} ms, nftables ${measured.nftables} ms, ipvs ${measured.ipvs} ms`,
      ],
      remedy: `set mode ${better}; the change of mode keeps Services reachable`,
      commands: ['kubectl -n kube-system edit configmap node-proxy'],
    },
  ]
})

/** nftables where the kernel has it, else ipvs. */
function betterMode({ modules }: NodeFacts): 'nftables' | 'ipvs' {
  const isAbsent = (name: string) => modules[name] === 'absent'
  return isAbsent('nf_tables') && !isAbsent('ip_vs') ? 'ipvs' : 'nftables'
}
