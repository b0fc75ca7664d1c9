import { isLabel } from './names.ts'
import type { Reader } from './reader.ts'

/** The `hostname` of an endpoint, for spreading into it: no field when there is none, or a wrong one. */
export function readHostname(endpoint: Reader): { readonly hostname?: string } {
  const hostname = endpoint.text('hostname')
  if (hostname === undefined || hostname === '') return {}
  if (isLabel(hostname)) return { hostname }
  endpoint.refuse('hostname', 'must be a DNS label', 'the endpoint has no name')
  return {}
}
