import type { Element, SetSpec, Table } from '../../../../src/kernel/nftables/objects.ts'
import type { FakeNamespace } from '../../../../src/kernel/nftables/testing/fake-namespace.ts'
import type { FakeTable } from '../../../../src/kernel/nftables/testing/fake-table.ts'
import type { ForeignCommand } from '../../../../src/kernel/nftables/testing/foreign-command.ts'
import { isFilledByPackets, tableOf } from '../../../../src/modes/nftables/keys/names.ts'
import type { ForeignKind, ForeignStep } from './some-step.ts'

/** A table of node-proxy, and the objects in it that were picked. */
interface Picked {
  readonly held: FakeTable
  readonly table: Table
  readonly pick: number
  readonly chain: string
  /** A position in the chain. */
  readonly index: number
  readonly anySet: string
  /** A set with elements. */
  readonly set: string
  readonly spec: SetSpec
  readonly elements: readonly Element[]
  /** At most one of the elements. */
  readonly one: readonly Element[]
}

type Commands = readonly ForeignCommand[]

const COUNTER = { expressions: [{ type: 'counter' }] } as const

/** The commands of one step of another program on existing objects of node-proxy. */
export function foreignCommands(namespace: FakeNamespace, { kind, pick }: ForeignStep): Commands {
  const table = tableOf(pick % 3 === 0 ? 6 : 4)
  const held = namespace.table(table)
  return held ? COMMANDS[kind](picked(held, Math.floor(pick / 3))) : []
}

function picked(held: FakeTable, pick: number): Picked {
  const [chain, content] = at([...held.chains], pick) ?? ['missing', undefined]
  const filled = [...held.sets].filter(
    // Only packets change the backend with which a client is remembered.
    ([name, { store }]) => store.count > 0 && !isFilledByPackets(name),
  )
  const few = filled.filter(([, { store }]) => store.count < 1_000)
  const [set, { spec, store } = { spec: { key: [] }, store: undefined }] = at(
    pick % 7 === 0 ? filled : few,
    pick,
  ) ??
    at([...held.sets], pick) ?? ['missing']
  const elements = [...(store?.all() ?? [])].map(({ element }) => element)
  const element = at(elements, Math.floor(pick / 7))
  return {
    held,
    table: held.table,
    pick,
    chain,
    set,
    spec,
    elements,
    anySet: at([...held.sets.keys()], pick) ?? 'missing',
    index: pick % Math.max(1, content?.rules.length ?? 0),
    one: element ? [element] : [],
  }
}

const COMMANDS: Readonly<Record<ForeignKind, (picked: Picked) => Commands>> = {
  flushRuleset: () => [{ do: 'flushRuleset' }],
  deleteTable: ({ table }) => [{ do: 'deleteTable', table }],
  flushTable: ({ table }) => [{ do: 'flushTable', table }],
  otherTable: ({ table: { family } }) => {
    const table: Table = { family, name: 'other' }
    return [
      { do: 'addTable', table },
      { do: 'addChain', table, chain: 'mine' },
      { do: 'deleteTable', table },
    ]
  },
  flushChain: ({ table, chain }) => [{ do: 'flushChain', table, chain }],
  deleteRule: ({ table, chain, index }) => [{ do: 'deleteRule', table, chain, index }],
  insertRule: ({ table, chain, index }) => [
    { do: 'insertRule', table, chain, index, rule: COUNTER },
  ],
  addChain: ({ table }) => [
    { do: 'addChain', table, chain: 'foreign' },
    { do: 'addRule', table, chain: 'foreign', rule: COUNTER },
  ],
  deleteChain: withoutChain,
  otherChain: (given) => {
    const { table, chain } = given
    const hook = { type: 'filter', hook: 'output', priority: 7 } as const
    return [...withoutChain(given), { do: 'addChain', table, chain, spec: { hook } }]
  },
  addSet: ({ table }) => [{ do: 'addSet', table, set: 'foreign', spec: { key: ['inet_service'] } }],
  deleteSet: withoutSet,
  otherSet: (given) => {
    const { table, anySet } = given
    return [...withoutSet(given), { do: 'addSet', table, set: anySet, spec: { key: ['mark'] } }]
  },
  flushSet: ({ table, set }) => [{ do: 'flushSet', table, set }],
  deleteElements: ({ table, set, elements }) => [
    { do: 'deleteElements', table, set, elements: elements.slice(0, 3) },
  ],
  deleteElement: ({ table, set, one }) => [{ do: 'deleteElements', table, set, elements: one }],
  addElement: ({ table, set, one, spec, pick }) => [
    {
      do: 'addElements',
      table,
      set,
      elements: one.map((element) => another(element, spec, pick)),
    },
  ],
  changeElement: ({ table, set, one, spec, pick }) => [
    { do: 'deleteElements', table, set, elements: one },
    {
      do: 'addElements',
      table,
      set,
      elements: one.map((element) => ({ ...element, ...dataOf(spec, pick) })),
    },
  ],
}

/** Deletes a chain, and everything that jumps to it, because otherwise it could not be deleted. */
function withoutChain({ held, table, chain }: Picked): Commands {
  const rules = [...held.chains].filter(([, content]) =>
    content.rules.some(({ chains }) => chains.includes(chain)),
  )
  const maps = [...held.sets].filter(([, { targets }]) => targets.has(chain))
  return [
    ...rules.map(([name]) => ({ do: 'flushChain', table, chain: name }) as const),
    ...maps.map(([set]) => ({ do: 'flushSet', table, set }) as const),
    { do: 'deleteChain', table, chain },
  ]
}

function withoutSet({ held, table, anySet: set }: Picked): Commands {
  const users = [...held.chains].filter(([, { rules }]) =>
    rules.some(({ sets }) => sets.includes(set)),
  )
  return [
    ...users.map(([chain]) => ({ do: 'flushChain', table, chain }) as const),
    { do: 'deleteSet', table, set },
  ]
}

/** An element that another program may add: its key differs in one byte. */
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

function at<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(1, list.length)]
}
