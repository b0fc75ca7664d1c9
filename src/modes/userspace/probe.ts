import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { isTaken, setRouted, setTaken } from '../netfilter/mark.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { connectionStates, loadModules, type RuleTrial, tryNetfilter } from '../netfilter/trial.ts'
import type { RedirectKernel, UserspaceDependencies } from './managed-state.ts'
import { PREFIX, type SetRole, TRIED_SETS } from './names.ts'
import type { TransparentListening, UserspaceSettings } from './settings.ts'

const CHAIN = `${PREFIX}PROBE`
/** One of each type. */
const TRIED_ROLES = ['SERVICES', 'ALLOWED'] as const satisfies readonly SetRole[]

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

function tryRedirect(
  kernel: RedirectKernel,
  { netfilter }: TransparentListening,
): Promise<readonly Missing[]> {
  return tryNetfilter(
    kernel,
    netfilter.families.map((family) => ({
      family,
      chain: CHAIN,
      sets: TRIED_ROLES.map(TRIED_SETS[family].of),
      rules: trials(netfilter, family),
    })),
  )
}

/** A rule for each extension that `base-rules.ts` uses. */
export function trials(settings: NetfilterSettings, family: Family): readonly RuleTrial[] {
  const { isIn, isNotIn } = TRIED_SETS[family]
  return [
    {
      what: 'rules that match sets',
      table: 'mangle',
      rule: `${isIn('SERVICES')}${isNotIn('ALLOWED', 'dst,dst,src')}-j RETURN`,
      remedy: loadModules('xt_set'),
    },
    {
      what: 'ports that are translated',
      table: 'nat',
      rule: '-p udp -j DNAT --to-destination :1',
      remedy: loadModules('xt_nat nf_nat'),
    },
    {
      what: 'marks of packets',
      table: 'mangle',
      rule: `-i lo ${setRouted(settings)}`,
      remedy: loadModules('xt_mark'),
    },
    {
      what: 'marks of connections',
      table: 'mangle',
      rule: isTaken(settings) + setTaken(settings),
      remedy: loadModules('xt_conntrack xt_connmark'),
    },
    {
      what: 'types of addresses',
      table: 'filter',
      rule: '-m addrtype --src-type LOCAL -j RETURN',
      remedy: loadModules('xt_addrtype'),
    },
    connectionStates(family),
  ]
}
