import type { JsonObject } from '../../../../lib/json.ts'
import { newExternalIPs } from './captured-addresses.ts'

const EXTERNAL_IPS =
  'spec.externalIPs: every node captures these addresses, so whoever may write a Service can take the traffic of others; use a Service of type LoadBalancer instead'

/** What the author of a Service is told about addresses that it newly captures. */
export function captureWarnings(next: JsonObject, old: JsonObject | undefined): readonly string[] {
  return newExternalIPs(next, old).length === 0 ? [] : [EXTERNAL_IPS]
}
