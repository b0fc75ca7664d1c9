import type { Cidr } from '../../../lib/ip.ts'
import { cidrList, splitCommas } from '../../../settings/network-types.ts'
import { accept, refuse, type ValueType } from '../../../settings/value-type.ts'

/** Networks; or `primary`, the addresses of the Node object, which files write as `["primary"]`. */
export const nodePortAddresses = networksOr('primary')

/** Networks; or `none`, which files write as `["none"]`. */
export const serviceCIDRs = networksOr('none')

/** A list of networks, or of one word alone, whose value is the word. */
function networksOr<W extends string>(word: W): ValueType<readonly Cidr[] | W> {
  const type: ValueType<readonly Cidr[] | W> = {
    name: `list of CIDRs, or exactly ["${word}"]`,
    isList: true,
    decode(raw) {
      if (!Array.isArray(raw)) return refuse(`write a list of networks, or ["${word}"]`)
      if (raw.length === 1 && raw[0] === word) return accept(word)
      return raw.includes(word)
        ? refuse(`"${word}" stands alone: write ["${word}"], or networks without it`)
        : cidrList.decode(raw)
    },
    fromFlag: (text) => type.decode(splitCommas(text)),
    encode: (value) => (value === word ? [word] : value),
  }
  return type
}
