import type { Iptables } from '../../kernel/iptables/iptables.ts'
import { isHairpin } from './hairpin.ts'
import type { NetfilterSettings } from './settings/settings.ts'

const CHAIN = 'NPROXY-PROBE'

/**
 * What can be chosen by trying: hairpin by one BPF rule, fully random source ports, rules that match
 * sockets.
 * Only a refusal proves that it cannot be; a held lock proves nothing.
 */
export async function detectExtensions(
  iptables: Pick<Iptables, 'restore'>,
): Promise<Pick<NetfilterSettings, 'hairpin' | 'randomFully' | 'matchesSockets'>> {
  const works = async (rule: string, table = 'nat') => {
    const text = `*${table}\n:${CHAIN} - [0:0]\n-A ${CHAIN} ${rule}\n-F ${CHAIN}\n-X ${CHAIN}\nCOMMIT\n`
    const result = await iptables.restore(4, text)
    return result.ok || result.kind !== 'refused'
  }
  return {
    hairpin: (await works(`${isHairpin(4)}-j RETURN`)) ? 'bpf' : 'rules',
    randomFully: await works('-j MASQUERADE --random-fully'),
    matchesSockets: await works('-m socket --nowildcard -j RETURN', 'mangle'),
  }
}
