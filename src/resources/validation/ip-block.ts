import { type Cidr, cidrContains, type IpAddress, parseCidr } from '../../lib/ip.ts'
import { CIDR_FAULT } from '../address.ts'
import type { Reader } from '../reader.ts'

/** A network of peers, and smaller networks inside it that are no peers. */
export function checkPeerBlock(block: Reader): void {
  const cidr = networkIn(block.value('cidr'))
  if (cidr === undefined) block.refuse('cidr', CIDR_FAULT)
  for (const [index, value] of block.list('except').entries()) {
    const hole = networkIn(value)
    if (hole === undefined) block.refuseItem('except', index, CIDR_FAULT)
    else if (cidr !== undefined && !isStrictSubset(hole, cidr)) {
      block.refuseItem('except', index, `must be a smaller network inside ${cidr}`)
    }
  }
}

function networkIn(value: unknown): Cidr | undefined {
  return typeof value === 'string' && value.includes('/') ? parseCidr(value) : undefined
}

function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  const [address = '', prefix] = inner.split('/')
  const longer = Number(prefix) > Number(outer.split('/')[1])
  return longer && cidrContains(outer, address as IpAddress)
}
