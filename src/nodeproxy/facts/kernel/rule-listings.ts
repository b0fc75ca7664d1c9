/** The programs whose rules are listed with `-save`. */
export const XTABLES = [
  'iptables-nft',
  'iptables-legacy',
  'ip6tables-nft',
  'ip6tables-legacy',
] as const

/** Tables of `nft` that an iptables program lists, too. */
export const OF_IPTABLES = /^nft ip6? (raw|mangle|nat|filter|security)$/
