import type { RuleChange, TouchedChain } from '../../kernel/nftables-monitor/rule-monitor.ts'
import type { ForeignChange, ObjectKey } from '../mode.ts'
import { PREFIX } from '../netfilter/names.ts'
import { keyOf, type Table } from './object.ts'

/** Whether a chain may hold something of ours: one of our chains, or a built-in one we jump from. */
export function concernsUs({ table, chain }: TouchedChain): boolean {
  if (table !== 'nat' && table !== 'filter') return false
  return chain === undefined || chain.startsWith(PREFIX) || /^[A-Z]+$/.test(chain)
}

/** The objects of ours that a change by somebody else may have touched; undefined: none. */
export function foreignChange(
  { touched, by }: RuleChange,
  jumpsIn: (place: TouchedChain) => readonly ObjectKey[],
): ForeignChange | undefined {
  const name = by === undefined ? 'another program' : `${by.process} (pid ${by.pid})`
  if (touched === 'unknown') return { keys: 'all', by: name }
  const ours = touched.filter(concernsUs)
  if (ours.some(({ chain }) => chain === undefined)) return { keys: 'all', by: name }
  const keys = ours.flatMap((place) =>
    place.chain?.startsWith(PREFIX) ? [chainKey(place)] : jumpsIn(place),
  )
  return keys.length === 0 ? undefined : { keys: [...new Set(keys)], by: name }
}

function chainKey({ family, table, chain = '' }: TouchedChain): ObjectKey {
  return keyOf({ kind: 'chain', family, table: table as Table, chain })
}
