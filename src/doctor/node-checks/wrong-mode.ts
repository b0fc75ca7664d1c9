import { checkOfEachNode } from '../evidence/node-check.ts'

/** The active mode is not the configured one, or `auto` found no better mode than userspace. */
export const wrongMode = checkOfEachNode('wrong-mode', ({ configuration, daemon, modules }) => {
  if (configuration === undefined || daemon === undefined || !configuration.isOfDaemon) return []
  const configured = configuration.mode === '' ? 'iptables' : configuration.mode
  const isFallback = configured === 'auto' && daemon.mode === 'userspace'
  if (!isFallback && (configured === 'auto' || configured === daemon.mode)) return []
  const states = ['nf_tables', 'ip_vs'].flatMap((name) =>
    modules[name] === undefined ? [] : [`module ${name}: ${modules[name]}`],
  )
  return [
    {
      symptom: configured === 'ipvs' ? 'IPVS mode has no effect' : 'Connection timeout',
      cause: isFallback
        ? 'mode auto took userspace, because the kernel offers no better one'
        : `mode ${configured} is configured, but ${daemon.mode} is at work`,
      evidence: [...states, ...daemon.warnings.slice(0, 3)],
      remedy: 'its log has one error for each thing that the kernel has not, with the remedy',
      commands: ['node-proxy status'],
    },
  ]
})
