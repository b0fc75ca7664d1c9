import { isLabelValue, isSubdomain } from '../../../resources/names.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkItemCount, DNS_FAULT } from '../shared/checks.ts'

const MAX_HINTS = 8
const LABEL_VALUE_FAULT = 'must be the value of a label: at most 63 of A-Z, a-z, 0-9, -, _ and .'

/** The hints of an endpoint: zones and nodes, each once. */
export function checkHints(endpoint: Reader): void {
  const hints = endpoint.object('hints')
  checkNames(hints, 'forZones', { isName: isLabelValue, fault: LABEL_VALUE_FAULT })
  checkNames(hints, 'forNodes', { isName: isSubdomain, fault: DNS_FAULT })
}

interface NameRule {
  readonly isName: (text: string) => boolean
  readonly fault: string
}

function checkNames(hints: Reader, key: string, { isName, fault }: NameRule): void {
  checkItemCount(hints, key, MAX_HINTS)
  const seen = new Set<unknown>()
  for (const hint of hints.objects(key)) {
    const name = hint.value('name')
    if (typeof name !== 'string' || !isName(name)) hint.refuse('name', fault)
    else if (seen.has(name)) hint.refuse('name', { isDuplicate: true, other: 'those before it' })
    seen.add(name)
  }
}
