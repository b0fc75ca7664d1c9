import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { listOf, text } from '../../settings/scalar-types.ts'
import type { ValueType } from '../../settings/value-type.ts'

/** Value types of the settings about users. */
export const identityTypes = {
  texts: listOf('list of texts', (item) =>
    item.trim() === '' ? 'write texts that are not blank' : undefined,
  ),

  issuers: listOf('list of https URLs', (item) =>
    isHttps(item) ? undefined : 'write https URLs, such as https://orch.example.org',
  ),

  httpsOrEmpty: text((value) =>
    value === '' || isHttps(value)
      ? undefined
      : 'write an https URL without a query, such as https://id.example.org',
  ),

  urlPaths: listOf('list of paths', (item) =>
    /^\/[\w./-]*$/.test(item) && item !== '/'
      ? undefined
      : 'write paths of documents, such as /healthz; / would be everything',
  ),

  claim: text((value) =>
    value.trim() === '' ? 'name a claim of the ID tokens, such as sub or email' : undefined,
  ),

  addressOrEmpty: text((value) =>
    value === '' || parseIp(value) !== undefined ? undefined : 'write an IP address or nothing',
  ) as ValueType<IpAddress | ''>,
}

/** An issuer (OpenID Connect Discovery 1.0 §2): https, without query and fragment. */
function isHttps(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, search, hash, username } = new URL(value)
  return protocol === 'https:' && search + hash + username === '' && !/[?#\s]/u.test(value)
}
