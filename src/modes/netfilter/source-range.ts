import { type Cidr, familyOf } from '../../lib/ip.ts'

/** A network as a set takes it: one of length 0, which no set takes, as its two halves. */
export function asMembers(cidr: Cidr): readonly Cidr[] {
  if (!cidr.endsWith('/0')) return [cidr]
  return familyOf(cidr) === 4
    ? (['0.0.0.0/1', '128.0.0.0/1'] as Cidr[])
    : (['::/1', '8000::/1'] as Cidr[])
}
