import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { type Trials, tryNetfilter } from '../netfilter/trial.ts'
import type { RedirectKernel, UserspaceDependencies } from './managed-state.ts'
import { PREFIX, type SetRole, setType } from './names.ts'
import { ruleTrials } from './probe-rules.ts'
import type { TransparentListening, UserspaceSettings } from './settings.ts'

const CHAIN = `${PREFIX}PROBE`
/** One of each type. */
const SETS = ['SERVICES', 'ALLOWED'] as const satisfies readonly SetRole[]

/**
 * Tries what the mode needs of the kernel where no packet meets it, and removes it again: a
 * set of each type, and each kind of rule. At doors of this machine it needs nothing.
 */
export async function probeUserspace(
  { kernel, forwarderState }: UserspaceDependencies,
  { entrance }: UserspaceSettings,
): Promise<Probe> {
  const forwarder = forwarderState?.forwarder
  const facts = forwarder && {
    dataPath: forwarder.dataPath,
    workers: String(forwarder.workers),
  }
  if (entrance.kind === 'doors' || kernel === undefined) {
    return { missing: [], facts: { ...facts, entrance: entrance.kind } }
  }
  const { backend, version } = kernel.iptables
  return {
    missing: await tryRedirect(kernel, entrance),
    facts: { ...facts, entrance: entrance.kind, backend, iptables: version },
  }
}

async function tryRedirect(
  kernel: RedirectKernel,
  entrance: TransparentListening,
): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const family of entrance.netfilter.families) {
    missing.push(...(await tryNetfilter(kernel, trialsOf(entrance, family))))
  }
  return missing
}

function trialsOf(entrance: TransparentListening, family: Family): Trials {
  const nameOf = (role: SetRole) => `${PREFIX}PROBE-${family}-${role}`
  return {
    ...{ family, chain: CHAIN },
    sets: SETS.map((role) => ({ name: nameOf(role), type: setType(family, role) })),
    rules: ruleTrials(entrance, family, nameOf),
  }
}
