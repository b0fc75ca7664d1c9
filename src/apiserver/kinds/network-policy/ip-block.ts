import { type Cidr, cidrContains, type IpAddress } from '../../../lib/ip.ts'
import { CIDR_FAULT, type Note, readCidr } from '../../../resources/address.ts'
import type { Reader } from '../../../resources/reader.ts'

/** Checks `ipBlock` of a peer: the network `cidr`, without the smaller networks of `except` inside it. */
export function checkPeerBlock(block: Reader): void {
  const cidr = readNetwork(block.value('cidr'), (fault) => block.refuse('cidr', fault))
  for (const [index, value] of block.list('except').entries()) {
    const excluded = readNetwork(value, (fault) => block.refuseItem('except', index, fault))
    if (excluded !== undefined && cidr !== undefined && !isStrictSubset(excluded, cidr)) {
      block.refuseItem('except', index, `must be a smaller network inside ${cidr}`)
    }
  }
}

/** The network that a value is. An address without a prefix and blanks are faults, as in Kubernetes. */
function readNetwork(value: unknown, note: Note): Cidr | undefined {
  if (typeof value === 'string' && /^\S+\/\S+$/.test(value)) return readCidr(value, note)
  note(CIDR_FAULT, '')
  return undefined
}

function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  const [address = '', prefix] = inner.split('/')
  const longer = Number(prefix) > Number(outer.split('/')[1])
  return longer && cidrContains(outer, address as IpAddress)
}
