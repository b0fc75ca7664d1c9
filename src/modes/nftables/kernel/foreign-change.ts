import type { TouchedObject } from '../../../kernel/nftables/notifications/object-collector.ts'
import type { RuleChange } from '../../../kernel/nftables-monitor/rule-monitor.ts'
import type { ForeignChange, ObjectKey } from '../../mode.ts'
import { FRONTEND_SETS, keyOf, keyOfElement } from '../keys/object-key.ts'
import type { Suspects } from './suspects.ts'

/** Objects of ours that a change by another program concerns; undefined: none. Elements become suspects. */
export function foreignChange(
  { touched, by }: RuleChange<TouchedObject>,
  suspects: Suspects,
): ForeignChange | undefined {
  const name = by === undefined ? 'another program' : `${by.process} (pid ${by.pid})`
  if (touched === 'unknown') return { keys: 'all', by: name }
  const keys = new Set<ObjectKey>()
  for (const one of touched) {
    const key = concernedBy(one, suspects)
    if (key === 'all') return { keys: 'all', by: name }
    if (key !== undefined) keys.add(key)
  }
  return keys.size === 0 ? undefined : { keys: [...keys], by: name }
}

function concernedBy(touched: TouchedObject, suspects: Suspects): ObjectKey | 'all' | undefined {
  const { family } = touched.table
  switch (touched.kind) {
    case 'table':
      return 'all'
    case 'chain':
      return keyOf(family, 'chain', touched.name)
    case 'set':
      // With the set went the elements of every frontend.
      return FRONTEND_SETS.includes(touched.name) ? 'all' : keyOf(family, 'set', touched.name)
    case 'element': {
      const { set, element } = touched
      const key = keyOfElement(family, set, element.key)
      return key === undefined || suspects.add(key, { set, element }) ? key : 'all'
    }
  }
}
