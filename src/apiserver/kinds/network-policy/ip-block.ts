import { type Cidr, cidrContains, type IpAddress } from '../../../lib/ip.ts'
import { CIDR_FAULT, type Note, readCidr } from '../../../resources/address.ts'
import type { Reader } from '../../../resources/reader.ts'

/** A network of peers, and smaller networks inside it that are no peers. */
export function checkPeerBlock(block: Reader): void {
  const cidr = readNetwork(block.value('cidr'), (wrong) => block.refuse('cidr', wrong))
  for (const [index, value] of block.list('except').entries()) {
    const hole = readNetwork(value, (wrong) => block.refuseItem('except', index, wrong))
    if (hole !== undefined && cidr !== undefined && !isStrictSubset(hole, cidr)) {
      block.refuseItem('except', index, `must be a smaller network inside ${cidr}`)
    }
  }
}

/** Neither a bare address nor blanks are allowed, as in Kubernetes. */
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
