import type { Family } from '../../lib/ip.ts'
import { isHairpinOffLoopback } from '../netfilter/hairpin.ts'
import { setMark } from '../netfilter/mark.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import type { RuleTrial } from '../netfilter/trial.ts'
import type { SetRole } from './objects/names.ts'

/** A rule for each extension that `scaffolding.ts` uses. */
export function trials(
  settings: NetfilterSettings,
  family: Family,
  nameOf: (role: SetRole) => string,
): readonly RuleTrial[] {
  const load = (modules: string) => `load the kernel modules: modprobe -a ${modules}`
  const reject = family === 4 ? 'ipt_REJECT' : 'ip6t_REJECT'
  return [
    {
      what: 'rules that match sets',
      table: 'mangle',
      rule: `-m set --match-set ${nameOf('SERVICES')} dst,dst -m set --match-set ${nameOf('VIPS')} dst -m set ! --match-set ${nameOf('ALLOWED')} dst,dst,src -j RETURN`,
      remedy: load('xt_set'),
    },
    {
      what: 'marks from sets',
      table: 'mangle',
      rule: `-j SET --map-set ${nameOf('SHORTCUT')} dst,dst --map-mark`,
      remedy: load('xt_set'),
    },
    {
      what: 'packet marks',
      table: 'nat',
      rule: `-m addrtype --src-type LOCAL ${setMark(settings)}`,
      remedy: load('xt_addrtype xt_mark'),
    },
    {
      what: 'recognition of pods that reach themselves',
      table: 'nat',
      rule: `${isHairpinOffLoopback(family)}-j MASQUERADE`,
      remedy: load('xt_bpf xt_MASQUERADE'),
    },
    {
      what: 'connection states',
      table: 'filter',
      rule: '-p tcp -m conntrack --ctstate NEW -j REJECT --reject-with tcp-reset',
      remedy: load(`xt_conntrack ${reject}`),
    },
  ]
}
