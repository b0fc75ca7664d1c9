import { type Cidr, type IpAddress, parseCidr, parseIp } from './ip.ts'

/** Longer than any address or network with leading zeros in use; Go has no limit. */
const MAX_LENGTH = 64
const LEADING_ZEROS = /(^|[.:])0+(?=[0-9a-fA-F])/g

/**
 * An address as Kubernetes reads it (ParseIPSloppy): numbers may have leading zeros; they are decimal nonetheless, or
 * hexadecimal in IPv6. Objects that old API servers accepted have such addresses. Other programs read `010.0.0.1` as
 * octal (CVE-2021-29923), so the result is canonical text.
 */
export function parseLegacyIp(text: string): IpAddress | undefined {
  return parseIp(text) ?? parseIp(withoutLeadingZeros(text))
}

/** The same for a network (ParseCIDRSloppy); its prefix length may also have leading zeros. */
export function parseLegacyCidr(text: string): Cidr | undefined {
  const strict = parseCidr(text)
  if (strict !== undefined) return strict
  const [address = '', prefix, ...more] = text.split('/')
  if (more.length > 0 || text.length > MAX_LENGTH) return undefined
  const length = prefix === undefined ? '' : `/${prefix.replace(/^0+(?=[0-9])/, '')}`
  return parseCidr(withoutLeadingZeros(address) + length)
}

/** Whether two texts are the same address; texts that are not addresses are compared literally. */
export function isSameAddress(one: string, other: string): boolean {
  return canonicalAddress(one) === canonicalAddress(other)
}

/** The address in canonical text; a text that is not an address is returned unchanged. */
export function canonicalAddress(text: string): string {
  return parseLegacyIp(text) ?? text
}

function withoutLeadingZeros(text: string): string {
  return text.length > MAX_LENGTH ? '' : text.replace(LEADING_ZEROS, '$1')
}
