import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { isTaken, setRouted, setTaken } from '../netfilter/mark.ts'
import { type RuleTrial, type Trials, tryNetfilter } from '../netfilter/trial.ts'
import type { RedirectKernel, UserspaceDependencies } from './managed-state.ts'
import { PREFIX, type SetRole, setType } from './names.ts'
import type { TransparentListening, UserspaceSettings } from './settings.ts'

const CHAIN = `${PREFIX}PROBE`
/** One set of each type. */
const SETS = ['SERVICES', 'ALLOWED'] as const satisfies readonly SetRole[]

/**
 * Tries what the mode needs of the kernel where no packet meets it, and removes it again: a set of each type, and each
 * kind of rule. With listeners of this machine nothing is needed.
 */
export async function probeUserspace(
  { kernel, forwarderState }: UserspaceDependencies,
  { listening }: UserspaceSettings,
): Promise<Probe> {
  const forwarder = forwarderState?.forwarder
  const facts = forwarder && {
    dataPath: forwarder.dataPath,
    workers: String(forwarder.workers),
  }
  if (listening.kind === 'bound' || kernel === undefined) {
    return { missing: [], facts: { ...facts, listening: listening.kind } }
  }
  const { backend, version } = kernel.iptables
  return {
    missing: await tryRedirect(kernel, listening),
    facts: { ...facts, listening: listening.kind, backend, iptables: version },
  }
}

async function tryRedirect(
  kernel: RedirectKernel,
  listening: TransparentListening,
): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const family of listening.netfilter.families) {
    missing.push(...(await tryNetfilter(kernel, trialsOf(listening, family))))
  }
  return missing
}

function trialsOf(listening: TransparentListening, family: Family): Trials {
  const nameOf = (role: SetRole) => `${PREFIX}PROBE-${family}-${role}`
  return {
    family,
    chain: CHAIN,
    sets: SETS.map((role) => ({ name: nameOf(role), type: setType(family, role) })),
    rules: ruleTrials(listening, family, nameOf),
  }
}

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
