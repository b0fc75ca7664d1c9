import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Table } from './chains/object.ts'
import { isHairpin } from './postrouting.ts'
import type { KernelFacts } from './settings/mode-inputs.ts'
import { trialText } from './trial.ts'

const CHAIN = 'NPROXY-PROBE'

/**
 * Detects by trial which optional extensions the kernel has: hairpin by one BPF rule, fully random source ports, rules
 * that match sockets. Only a refusal proves that an extension is missing; a held lock proves nothing. How the kernel
 * searches for a free port can only be told by its version (`release`, as `uname -r` prints it): Linux 5.0 and later
 * begin at random (commit 912da924a29f).
 */
export async function detectExtensions(
  iptables: Pick<Iptables, 'restore'>,
  release: string,
): Promise<Omit<KernelFacts, 'families' | 'routesLocalnet'>> {
  const works = async (rule: string, table: Table = 'nat') => {
    const result = await iptables.restore(4, trialText({ table, chain: CHAIN, rule }))
    return result.ok || result.kind !== 'refused'
  }
  return {
    hairpin: (await works(`${isHairpin(4)}-j RETURN`)) ? 'bpf' : 'rules',
    randomFully: await works('-j MASQUERADE --random-fully'),
    matchesSockets: await works('-m socket --nowildcard -j RETURN', 'mangle'),
    searchesPortsInOrder: linuxVersion(release) < 5_000,
  }
}

/**
 * Major and minor version of what `uname -r` prints, as one comparable number: `5.10.0-8-amd64` is 5,010. NaN if it is
 * not a version.
 */
export function linuxVersion(release: string): number {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(release) ?? []
  return Number(major) * 1_000 + Number(minor)
}
