import type { Command, Rule, Table } from '../objects.ts'

/** The commands of other programs, including those that this code does not have. */
export type ForeignCommand =
  | Command
  /** `index`: its position in the chain, from 0. */
  | {
      readonly do: 'insertRule'
      readonly table: Table
      readonly chain: string
      readonly index: number
      readonly rule: Rule
    }
  | {
      readonly do: 'replaceRule'
      readonly table: Table
      readonly chain: string
      readonly index: number
      readonly rule: Rule
    }
  | {
      readonly do: 'deleteRule'
      readonly table: Table
      readonly chain: string
      readonly index: number
    }
  /** All elements of a set. */
  | { readonly do: 'flushSet'; readonly table: Table; readonly set: string }
  /** All rules of all chains of a table. */
  | { readonly do: 'flushTable'; readonly table: Table }
  /** Deletes all tables except those that another socket owns. */
  | { readonly do: 'flushRuleset' }
