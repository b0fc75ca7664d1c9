import type { CountedRule } from './iptables.ts'

/** `[12:720] -A CHAIN rule`, of `iptables-save -c`. */
const COUNTED = /^\[(\d+):\d+\] -A (\S+) ?(.*)$/

/** Undefined: not a rule, or one that counted nothing, as are most of a large table. */
export function parseCounted(line: string): CountedRule | undefined {
  if (!line.startsWith('[') || line.startsWith('[0:')) return undefined
  const match = COUNTED.exec(line)
  if (match === null) return undefined
  const [, packets, chain = '', rule = ''] = match
  return { chain, rule, packets: Number(packets) }
}
