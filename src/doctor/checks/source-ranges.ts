import { familyOf, parseCidr } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { NAMES } from '../../resources/names.ts'
import { checkOfEach } from '../evidence/finding.ts'
import { nameOf, namespaceOf } from '../evidence/objects.ts'

/** Source ranges that admit no client: they cannot be parsed, are loopback addresses, or are of the other family. */
export const sourceRanges = checkOfEach('services', 'source-ranges', (service) => {
  if (stringAt(service, 'spec', 'type') !== 'LoadBalancer') return []
  const { field, texts } = rangesOf(service)
  const wrong = texts === undefined ? undefined : rangesProblem(texts, service)
  if (wrong === undefined) return []
  return [
    {
      symptom: 'External access fails',
      cause: `${field} ${wrong}`,
      evidence: [`${field} is ${quote((texts ?? []).join(','))}`],
      remedy: 'write the networks of the clients, such as 192.0.2.0/24, or remove the field',
      commands: [`orchctl -n ${namespaceOf(service)} edit service/${nameOf(service)}`],
    },
  ]
})

interface Ranges {
  /** The field or the annotation that has them. */
  readonly field: string
  /** Undefined: every client is admitted. */
  readonly texts: readonly string[] | undefined
}

/** The field, else the first annotation that is not blank. */
function rangesOf(service: JsonObject): Ranges {
  const field = arrayAt(service, 'spec', 'loadBalancerSourceRanges').map(scalarText)
  if (field.length > 0) return { field: 'loadBalancerSourceRanges', texts: field }
  for (const key of NAMES.sourceRanges) {
    const text = stringAt(service, 'metadata', 'annotations', key).trim()
    if (text !== '') return { field: key, texts: text.split(',').map((one) => one.trim()) }
  }
  return { field: '', texts: undefined }
}

/** Why the ranges admit no client; undefined if they admit some. */
function rangesProblem(texts: readonly string[], service: JsonObject): string | undefined {
  const ranges = texts.flatMap((text) => parseCidr(text) ?? [])
  if (ranges.length === 0) return 'has no range that can be read: no client is admitted'
  const outside = ranges.filter((range) => !range.startsWith('127.') && range !== '::1/128')
  if (outside.length === 0) return 'has loopback addresses alone: no client is admitted'
  const families = arrayAt(service, 'spec', 'ipFamilies').map(scalarText)
  const missing = families.filter(
    (family) => !outside.some((range) => `IPv${familyOf(range)}` === family),
  )
  if (missing.length === 0 || missing.length < families.length) return undefined
  return `has no range of ${missing.join(', ')}, the family of the Service: no client is admitted`
}
