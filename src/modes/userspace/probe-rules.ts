import type { Family } from '../../lib/ip.ts'
import { isTaken, setRouted, setTaken } from '../netfilter/mark.ts'
import type { RuleTrial } from '../netfilter/trial.ts'
import type { SetRole } from './names.ts'
import type { TransparentListening } from './settings.ts'

/** A rule for each extension that `scaffolding.ts` uses. */
export function ruleTrials(
  { netfilter }: TransparentListening,
  family: Family,
  nameOf: (role: SetRole) => string,
): readonly RuleTrial[] {
  const load = (modules: string) => `load the kernel modules: modprobe -a ${modules}`
  const reject = family === 4 ? 'ipt_REJECT' : 'ip6t_REJECT'
  return [
    {
      what: 'rules that match sets',
      table: 'mangle',
      rule: `-m set --match-set ${nameOf('SERVICES')} dst,dst -m set ! --match-set ${nameOf('ALLOWED')} dst,dst,src -j RETURN`,
      remedy: load('xt_set'),
    },
    {
      what: 'ports that are translated',
      table: 'nat',
      rule: '-p udp -j DNAT --to-destination :1',
      remedy: load('xt_nat nf_nat'),
    },
    {
      what: 'marks of packets',
      table: 'mangle',
      rule: `-i lo ${setRouted(netfilter)}`,
      remedy: load('xt_mark'),
    },
    {
      what: 'marks of connections',
      table: 'mangle',
      rule: isTaken(netfilter) + setTaken(netfilter),
      remedy: load('xt_conntrack xt_connmark'),
    },
    {
      what: 'types of addresses',
      table: 'filter',
      rule: '-m addrtype --src-type LOCAL -j RETURN',
      remedy: load('xt_addrtype'),
    },
    {
      what: 'connection states',
      table: 'filter',
      rule: '-p tcp -m conntrack --ctstate NEW -j REJECT --reject-with tcp-reset',
      remedy: load(`xt_conntrack ${reject}`),
    },
  ]
}
