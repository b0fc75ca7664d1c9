import type { Cidr } from '../lib/ip.ts'
import { type Note, readCidr, readCidrs } from './address.ts'
import { NAMES } from './names.ts'
import { present } from './present.ts'
import type { Reader } from './reader.ts'

const FIELD = 'loadBalancerSourceRanges'
const INSTEAD = 'it admits no client'

/**
 * Who may use the load balancer addresses: the field, else the first annotation
 * that is not blank; undefined when neither is set: every client is admitted.
 *
 * Whatever was given restricts. A range that cannot be read admits no client, so a
 * list of such ranges is empty, and so is one that is no list at all. Ranges of
 * both families stay in the list, because each address is compared with those of
 * its own family: a list of IPv4 ranges admits no client to an IPv6 address.
 */
export function readSourceRanges(spec: Reader, annotations: Reader): readonly Cidr[] | undefined {
  const field = spec.value(FIELD)
  const isEmpty = field === undefined || (Array.isArray(field) && field.length === 0)
  if (!isEmpty) return readCidrs(spec, FIELD)
  for (const key of NAMES.sourceRanges) {
    const value = annotations.value(key)
    if (value === undefined || (typeof value === 'string' && value.trim() === '')) continue
    return readAnnotation(annotations, key)
  }
  return undefined
}

function readAnnotation(annotations: Reader, key: string): readonly Cidr[] {
  const cidrs = new Set<Cidr>()
  for (const part of annotations.text(key)?.split(',') ?? []) {
    const note: Note = (wrong, instead) => {
      annotations.findings.add(annotations.path(key), part.trim(), wrong, instead)
    }
    const cidr = readCidr(part, note, INSTEAD)
    if (cidr !== undefined) cidrs.add(cidr)
  }
  return present(cidrs)
}
