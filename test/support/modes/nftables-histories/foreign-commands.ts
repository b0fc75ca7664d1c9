import type { Element, SetSpec, Table } from '../../../../src/kernel/nftables/objects.ts'
import type { FakeNamespace } from '../../../../src/kernel/nftables/testing/fake-namespace.ts'
import type { FakeTable } from '../../../../src/kernel/nftables/testing/fake-table.ts'
import type { ForeignCommand } from '../../../../src/kernel/nftables/testing/foreign-command.ts'
import { tableOf } from '../../../../src/modes/nftables/names.ts'
import type { ForeignStep } from './some-step.ts'

/** The commands of one step of another program, to objects of ours that are there. */
export function foreignCommands(
  namespace: FakeNamespace,
  { kind, pick }: ForeignStep,
): readonly ForeignCommand[] {
  const table = tableOf(pick % 3 === 0 ? 6 : 4)
  switch (kind) {
    case 'flushRuleset':
      return [{ do: 'flushRuleset' }]
    case 'deleteTable':
    case 'flushTable':
      return [{ do: kind, table }]
    case 'otherTable':
      return otherTable(table)
    default: {
      const held = namespace.table(table)
      return held ? inTable(held, kind, Math.floor(pick / 3)) : []
    }
  }
}

function inTable(
  held: FakeTable,
  kind: ForeignStep['kind'],
  pick: number,
): readonly ForeignCommand[] {
  const { table } = held
  const [chain, content] = at([...held.chains], pick) ?? ['missing', undefined]
  const index = pick % Math.max(1, content?.rules.length ?? 0)
  const rule = { expressions: [{ type: 'counter' }] } as const
  switch (kind) {
    case 'flushChain':
      return [{ do: 'flushChain', table, chain }]
    case 'deleteRule':
      return [{ do: 'deleteRule', table, chain, index }]
    case 'insertRule':
      return [{ do: 'insertRule', table, chain, index, rule }]
    case 'addChain':
      return [
        { do: 'addChain', table, chain: 'foreign' },
        { do: 'addRule', table, chain: 'foreign', rule },
      ]
    case 'deleteChain':
    case 'otherChain':
      return replaced(held, kind, chain)
    case 'addSet':
      return [{ do: 'addSet', table, set: 'foreign', spec: { key: ['inet_service'] } }]
    default:
      return inSets(held, kind, pick)
  }
}

/** A chain that other rules and elements lead to cannot be deleted: then all that lead to it are deleted, too. */
function replaced(held: FakeTable, kind: ForeignStep['kind'], chain: string): ForeignCommand[] {
  const { table } = held
  const commands: ForeignCommand[] = []
  for (const [name, { rules }] of held.chains) {
    if (rules.some(({ chains }) => chains.includes(chain))) {
      commands.push({ do: 'flushChain', table, chain: name })
    }
  }
  for (const [set, { targets }] of held.sets) {
    if (targets.has(chain)) commands.push({ do: 'flushSet', table, set })
  }
  commands.push({ do: 'deleteChain', table, chain })
  if (kind === 'otherChain') {
    const hook = { type: 'filter', hook: 'output', priority: 7 } as const
    commands.push({ do: 'addChain', table, chain, spec: { hook } })
  }
  return commands
}

function inSets(
  held: FakeTable,
  kind: ForeignStep['kind'],
  pick: number,
): readonly ForeignCommand[] {
  const { table } = held
  const filled = [...held.sets].filter(([, { store }]) => store.count > 0)
  const few = filled.filter(([, { store }]) => store.count < 1_000)
  const [set, { spec, store }] =
    at(pick % 7 === 0 ? filled : few, pick) ?? at([...held.sets], pick)!
  const elements = [...store.all()].map(({ element }) => element)
  const one = at(elements, Math.floor(pick / 7))
  switch (kind) {
    case 'deleteSet':
    case 'otherSet': {
      const users = [...held.chains].filter(([, { rules }]) =>
        rules.some(({ sets }) => sets.includes(set)),
      )
      const other: SetSpec = { key: ['mark'] }
      return [
        ...users.map(([chain]) => ({ do: 'flushChain', table, chain }) as const),
        { do: 'deleteSet', table, set },
        ...(kind === 'otherSet' ? [{ do: 'addSet', table, set, spec: other } as const] : []),
      ]
    }
    case 'flushSet':
      return [{ do: 'flushSet', table, set }]
    case 'deleteElements':
      return [{ do: 'deleteElements', table, set, elements: elements.slice(0, 3) }]
    case 'deleteElement':
      return one ? [{ do: 'deleteElements', table, set, elements: [one] }] : []
    case 'addElement':
      return one ? [{ do: 'addElements', table, set, elements: [another(one, spec, pick)] }] : []
    case 'changeElement':
      if (one === undefined) return []
      return [
        { do: 'deleteElements', table, set, elements: [one] },
        { do: 'addElements', table, set, elements: [{ ...one, ...dataOf(spec, pick) }] },
      ]
    default:
      return []
  }
}

/** An element as another program may add it: its key differs in one byte. */
function another(one: Element, spec: SetSpec, pick: number): Element {
  const changed = (bytes: Buffer) => {
    const copy = Buffer.from(bytes)
    const place = pick % 4
    copy[place] = (copy[place] ?? 0) ^ 4
    return copy
  }
  const keyEnd = one.keyEnd && { keyEnd: changed(one.keyEnd) }
  return { ...one, key: changed(one.key), ...keyEnd, ...dataOf(spec, pick), comment: 'foreign' }
}

function dataOf({ data }: SetSpec, pick: number): Pick<Element, 'data'> {
  if (data === undefined) return {}
  if (data === 'verdict') return { data: { kind: 'drop' } }
  const address = data[0] === 'ipv6_addr' ? 16 : data[0] === 'ipv4_addr' ? 4 : 0
  const bytes = Buffer.alloc(address + (data.includes('inet_service') ? 4 : 0))
  bytes[0] = pick % 256
  return { data: bytes }
}

function otherTable({ family }: Table): readonly ForeignCommand[] {
  const table: Table = { family, name: 'other' }
  return [
    { do: 'addTable', table },
    { do: 'addChain', table, chain: 'mine' },
    { do: 'deleteTable', table },
  ]
}

function at<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(1, list.length)]
}
