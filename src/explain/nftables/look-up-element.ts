import type { Element, Table } from '../../kernel/nftables/objects.ts'

/** Reads the element of a set that has a key; undefined: there is none. */
export type LookUpElement = (table: Table, set: string, key: Buffer) => Promise<Element | undefined>
