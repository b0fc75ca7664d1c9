import type { ForwardingEntry } from '../../forwarding/entry.ts'
import { type DesiredRules, type DesiredState, tableOf } from './desired-state.ts'

/** One JSON object per line: the rules (`DesiredRules`), then each entry of the forwarding table. */
export const DESIRED_DOCUMENT = 'desired.jsonl'

/** Reads that document. Throws a SyntaxError or TypeError where it is not such a document. */
export function parseDesired(text: string): DesiredState {
  const [first = '', ...lines] = text.trimEnd().split('\n')
  const rules = JSON.parse(first) as DesiredRules
  const entries = lines.map((line) => JSON.parse(line) as ForwardingEntry)
  return { rules, table: tableOf(entries) }
}
