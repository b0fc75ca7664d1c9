/** What every mode puts into chains' names, and its tables of nftables. */
const OWN_CHAIN = /(^|\s)(NPROXY|NPVS|NPUS|NPGUARD)-/
const OWN_TABLE = /^nft \w+ node-proxy(-guard)?(\s|$)/

/** Whether node-proxy wrote a rule: `where` as a step of a packet has it, or a rule as iptables lists it. */
export function isOwnRule(where: string, rule: string): boolean {
  return OWN_TABLE.test(where) || OWN_CHAIN.test(where) || OWN_CHAIN.test(rule)
}
