import { type Family, familyOf, type IpAddress } from '../lib/ip.ts'
import { readAddress } from './address.ts'
import { present } from './present.ts'
import type { Reader } from './reader.ts'

const LEFT_OUT = 'it is left out'

/**
 * `clusterIPs`, or the only `clusterIP` of old servers: at most one of each family of `ipFamilies`. None for a
 * headless Service (`None`) and for one that has not got an address.
 */
export function readClusterIPs(spec: Reader): readonly IpAddress[] {
  const several = spec.list('clusterIPs')
  if (several.length === 0) return readSingle(spec)
  if (several.includes('None')) return present([])
  const byFamily = new Map<Family, IpAddress>()
  for (const [index, value] of several.entries()) {
    if (value === '') continue
    const ip = readAddress(value, 'any', (wrong, instead) => {
      spec.refuseItem('clusterIPs', index, wrong, instead)
    })
    if (ip === undefined) continue
    if (byFamily.has(familyOf(ip))) {
      spec.refuseItem('clusterIPs', index, 'must be the only address of its family', LEFT_OUT)
    } else {
      byFamily.set(familyOf(ip), ip)
      checkFamily(spec, index, ip)
    }
  }
  return present(byFamily.values())
}

function readSingle(spec: Reader): readonly IpAddress[] {
  const value = spec.value('clusterIP')
  if (value === undefined || value === '' || value === 'None') return present([])
  const ip = readAddress(value, 'any', (wrong, instead) => {
    spec.refuse('clusterIP', wrong, instead)
  })
  return present([ip])
}

/** The address counts; the other family beside it is worth a word. */
function checkFamily(spec: Reader, index: number, ip: IpAddress): void {
  const family = familyOf(ip)
  if (spec.list('ipFamilies')[index] !== (family === 4 ? 'IPv6' : 'IPv4')) return
  const message = `must be IPv${family}, the family of clusterIPs[${index}]`
  spec.refuseItem('ipFamilies', index, message, 'the address counts')
}
