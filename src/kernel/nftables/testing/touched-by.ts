import type { TouchedObject } from '../object-collector.ts'
import type { Command } from '../objects.ts'
import type { ForeignCommand } from './foreign-command.ts'
import { keyOfTable, type Tables } from './transaction.ts'

/** The objects that the kernel names in its notifications about a command; `tables`: the state before it. */
export function touchedBy(command: ForeignCommand, tables: Tables): readonly TouchedObject[] {
  switch (command.do) {
    case 'flushRuleset':
      return [...tables.values()].map(({ table }) => ({ table, kind: 'table' }))
    case 'addTable':
    case 'deleteTable':
      return [{ table: command.table, kind: 'table' }]
    case 'flushTable': {
      const { table } = command
      const chains = tables.get(keyOfTable(table))?.chains.keys() ?? []
      return [...chains].map((name) => ({ table, kind: 'chain', name }))
    }
    case 'addSet':
    case 'deleteSet':
      return [{ table: command.table, kind: 'set', name: command.set }]
    case 'addElements':
    case 'deleteElements':
      return elementsOf(command)
    case 'flushSet': {
      const { table, set } = command
      const store = tables.get(keyOfTable(table))?.sets.get(set)?.store
      const elements = [...(store?.all() ?? [])].map(({ element }) => element)
      return elementsOf({ table, set, elements })
    }
    case 'addChain':
    case 'deleteChain':
    case 'addRule':
    case 'insertRule':
    case 'replaceRule':
    case 'deleteRule':
    case 'flushChain':
      return [{ table: command.table, kind: 'chain', name: command.chain }]
  }
}

function elementsOf({
  table,
  set,
  elements,
}: Pick<
  Extract<Command, { do: 'addElements' | 'deleteElements' }>,
  'table' | 'set' | 'elements'
>): readonly TouchedObject[] {
  return elements.map((element) => ({ table, kind: 'element', set, element }))
}
