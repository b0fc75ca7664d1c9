import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { setMark } from '../netfilter/mark.ts'
import { masqueradeFacts } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { type RuleTrial, rejectModule, tryRules } from '../netfilter/trial.ts'
import { PREFIX } from './names.ts'

const CHAIN = `${PREFIX}PROBE`

/**
 * Tries each extension that the rules of every Service need in a chain that no packet meets, and removes it again: a list
 * of modules would not show what the kernel accepts.
 */
export async function probeIptables(
  { iptables }: { readonly iptables: Pick<Iptables, 'restore' | 'backend' | 'version'> },
  settings: NetfilterSettings,
): Promise<Probe> {
  const missing: Missing[] = []
  for (const family of settings.families) {
    const rules = trialsOf(settings, family)
    missing.push(...(await tryRules(iptables, { family, chain: CHAIN, rules })))
  }
  const { backend, version } = iptables
  return { missing, facts: { backend, version, ...masqueradeFacts(settings) } }
}

function trialsOf(settings: NetfilterSettings, family: Family): readonly RuleTrial[] {
  const load = (modules: string) => `load the kernel modules: modprobe -a ${modules}`
  const address = family === 4 ? '127.0.0.1:1' : '[::1]:1'
  return [
    {
      what: 'DNAT by random choice',
      table: 'nat',
      rule: `-p tcp -m statistic --mode random --probability 0.5 -j DNAT --to-destination ${address}`,
      remedy: load('xt_statistic xt_nat'),
    },
    {
      what: 'packet marks',
      table: 'nat',
      rule: `-m addrtype --dst-type LOCAL ${setMark(settings)}`,
      remedy: load('xt_addrtype xt_mark'),
    },
    {
      what: 'connection states',
      table: 'filter',
      rule: '-m conntrack --ctstate NEW -j REJECT',
      remedy: load(`xt_conntrack ${rejectModule(family)}`),
    },
  ]
}
