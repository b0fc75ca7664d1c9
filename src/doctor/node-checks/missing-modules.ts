import { checkOfEachNode } from '../evidence/node-check.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

/** Mode ipvs is configured, but is not active, because the kernel does not have what it needs. */
export const missingModules = checkOfEachNode('missing-modules', (facts) => {
  const { configuration, daemon, modules } = facts
  if (configuration?.mode !== 'ipvs' || daemon?.mode === 'ipvs') return []
  const missing = missingOf(facts)
  if (missing.length === 0) return []
  const atWork =
    daemon === undefined ? 'node-proxy does not run' : `the mode at work is ${daemon.mode}`
  return [
    {
      symptom: 'IPVS mode has no effect',
      cause: `mode ipvs is configured, but the kernel has not ${missing.join(', ')}`,
      evidence: [atWork, ...missing.map((name) => `module ${name}: ${modules[name] ?? 'unknown'}`)],
      remedy:
        'load the modules on the host (absent ones: boot a kernel that has them, or install its modules), then start node-proxy again; or set mode auto, which takes the best mode that works',
      commands: [`modprobe -a ${missing.join(' ')}`],
    },
  ]
})

/** Without IPVS in the kernel, ip_vs is missing, even if its state is unknown. Others of unknown state may be there. */
function missingOf({ configuration, modules, hasIpvs }: NodeFacts): readonly string[] {
  const isKnownMissing = (name: string) => ['absent', 'loadable'].includes(modules[name] ?? '')
  const others = [`ip_vs_${configuration?.scheduler || 'rr'}`, 'ip_set', 'xt_set']
  return [...(hasIpvs ? [] : ['ip_vs']), ...others.filter(isKnownMissing)]
}
