/** Tables of the nft variant of iptables, whose rules `iptables-save` lists. */
const NAMES = new Set(['raw', 'mangle', 'nat', 'filter', 'security'])

/** Whether iptables-nft keeps its rules in a table; those of family inet are of other programs. */
export function isOfIptables({ family, name }: { readonly family: string; readonly name: string }) {
  return family !== 'inet' && NAMES.has(name)
}
