import type { Cidr } from '../../../lib/ip.ts'
import { cidrList, splitCommas } from '../../../settings/network-types.ts'
import { accept, refuse, type ValueType } from '../../../settings/value-type.ts'

/** Networks; or `primary`, the addresses of the Node object, which files write as `["primary"]`. */
export const nodePortAddresses: ValueType<readonly Cidr[] | 'primary'> = {
  name: 'list of CIDRs, or exactly ["primary"]',
  isList: true,
  decode(raw) {
    if (!Array.isArray(raw)) return refuse('write a list of networks, or ["primary"]')
    if (raw.length === 1 && raw[0] === 'primary') return accept('primary')
    return raw.includes('primary')
      ? refuse('"primary" stands alone: write ["primary"], or networks without it')
      : cidrList.decode(raw)
  },
  fromFlag: (text) => nodePortAddresses.decode(splitCommas(text)),
  encode: (value) => (value === 'primary' ? ['primary'] : value),
}
