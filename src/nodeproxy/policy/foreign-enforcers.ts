import type { Traces } from '../../kernel/traces.ts'
import type { Family } from '../../lib/ip.ts'
import { findPrograms, type ProgramSignature } from '../observation/foreign-programs.ts'

/** Another program that enforces NetworkPolicies. */
interface Signature extends ProgramSignature {
  readonly enforcer: string
}

const NOTHING = { process: '', chains: [], nftTables: [], devices: [] } as const

/**
 * Only what the programs make while they enforce policies, where that can be told from the rest; the devices are those
 * of networks that always do.
 */
const SIGNATURES: readonly Signature[] = [
  {
    ...NOTHING,
    enforcer: 'Calico',
    process: 'calico-node',
    chains: [{ table: 'filter', chain: 'cali-FORWARD' }],
    nftTables: ['calico'],
    devices: ['bpfin.cali'],
  },
  { ...NOTHING, enforcer: 'Cilium', process: 'cilium-agent', devices: ['cilium_host'] },
  {
    ...NOTHING,
    enforcer: 'kube-router',
    process: 'kube-router',
    chains: [{ table: 'filter', chain: 'KUBE-NWPLCY-DEFAULT' }],
  },
  {
    ...NOTHING,
    enforcer: 'kube-network-policies',
    process: 'kube-network-po',
    nftTables: ['kube-network-policies'],
  },
  {
    ...NOTHING,
    enforcer: 'kindnet',
    process: 'kindnetd',
    nftTables: ['kindnet-network-policies'],
  },
  {
    ...NOTHING,
    enforcer: 'Antrea',
    process: 'antrea-agent',
    chains: [{ table: 'filter', chain: 'ANTREA-FORWARD' }],
    devices: ['antrea-gw0'],
  },
  {
    ...NOTHING,
    enforcer: 'Weave Net',
    process: 'weave-npc',
    chains: [{ table: 'filter', chain: 'WEAVE-NPC' }],
  },
  {
    ...NOTHING,
    enforcer: 'Azure Network Policy Manager',
    process: 'azure-npm',
    chains: [{ table: 'filter', chain: 'AZURE-NPM' }],
  },
  { ...NOTHING, enforcer: 'OVN-Kubernetes', process: 'ovnkube', devices: ['ovn-k8s-mp0'] },
]

/** What was found of other programs on this node that enforce NetworkPolicies, in words; undefined if nothing. */
export async function describeEnforcers(
  traces: Traces,
  families: readonly Family[],
): Promise<string | undefined> {
  const found = await findPrograms(SIGNATURES, traces, families)
  if (found.length === 0) return undefined
  return found
    .map(({ signature, traces: seen }) => `${signature.enforcer} (${seen.join(', ')})`)
    .join('; ')
}
