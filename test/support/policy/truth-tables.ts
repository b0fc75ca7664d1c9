import { afterAll, beforeAll, expect, test } from 'vitest'
import { proxyMode } from '../lab/daemon-config.ts'
import { createLab, type Lab } from '../lab/lab.ts'
import { isAdmitted } from './evaluate.ts'
import { PolicyCluster } from './policy-cluster.ts'
import { createPolicyLab, type PolicyLab } from './policy-lab.ts'
import type { PolicySet } from './policy-set.ts'
import { randomSets } from './random-sets.ts'
import { allProbes, type Probe, WAYS } from './universe.ts'

type Mode = 'iptables' | 'ipvs' | 'nftables' | 'userspace'

/** For one set, on a busy machine. */
const SET_MS = 15_000
/** Faulty sets after which a test ends. */
const MAX_FAULTS = 3

/** Random policy sets for a mode in which each costs more; NP_POLICY_SETS changes their number. */
export function fewRandomSets(seed: number): readonly PolicySet[] {
  return randomSets(seed, Number(process.env['NP_POLICY_SETS'] ?? 10))
}

/**
 * A test that enforces each set by the daemon in this mode, and compares real connections between all Pods, by address
 * and through Services, with what the policies say.
 */
export function truthTables(
  title: string,
  sets: readonly PolicySet[],
  mode: Mode = proxyMode() as Mode,
): void {
  let lab: Lab
  let policies: PolicyLab
  let cluster: PolicyCluster

  beforeAll(async () => {
    lab = await createLab({ api: 'real' })
    policies = await createPolicyLab(lab)
    const config = {
      mode,
      clusterCIDR: '10.0.0.0/8,fd00:10::/32',
      networkPolicy: { enforce: true },
    }
    await lab.daemon.start({ config })
    cluster = await PolicyCluster.create(lab)
  })

  afterAll(async () => {
    await policies?.close()
    await lab?.close()
  })

  test(
    `${mode}: ${sets.length} ${title}`,
    async () => {
      const faults: string[] = []
      for (const set of sets) {
        await cluster.enforce(set)
        const { text } = await policies.probe(set, WAYS, (probe) => isAdmittedIn(mode, set, probe))
        if (text !== '') faults.push(text)
        if (faults.length === MAX_FAULTS) break
      }
      expect(faults.join('\n\n')).toBe('')
      expect(policies.probes).toBe(sets.length * allProbes(WAYS).length)
    },
    60_000 + sets.length * SET_MS,
  )
}

/**
 * In userspace mode, connections through Services come from the node, which reaches its own Pods; and no Service is
 * served over SCTP.
 */
function isAdmittedIn(mode: Mode, set: PolicySet, probe: Probe): boolean {
  const isByNode = mode === 'userspace' && probe.way === 'Service'
  return isByNode ? probe.protocol !== 'SCTP' : isAdmitted(set, probe)
}
