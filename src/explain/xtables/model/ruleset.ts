import { parseRule, type Rule } from './rule.ts'

/** A rule of a chain; its parts are parsed when they are first read, since a packet passes few of many chains. */
export interface ListedRule {
  /** As listed, without `-A CHAIN`; control characters replaced by `?`. */
  readonly text: string
  readonly counter: { readonly packets: bigint; readonly bytes: bigint } | undefined
  readonly rule: Rule
}

/** A chain as listed. */
export interface Chain {
  readonly name: string
  /** `ACCEPT` or `DROP` of a built-in chain; undefined for a user-defined one. */
  readonly policy: string | undefined
  readonly rules: readonly ListedRule[]
}

/** The chains of a table, by name. */
export type Table = ReadonlyMap<string, Chain>

/** All tables of one family and variant, by name. */
export type Ruleset = ReadonlyMap<string, Table>

const COUNTER = /^\[(\d+):(\d+)\] /

/** Parses the output of `iptables-save`, with counters (`-c`) or without. */
export function parseRuleset(listing: string): Ruleset {
  const tables = new Map<string, Map<string, Chain & { readonly rules: ListedRule[] }>>()
  let table = new Map<string, Chain & { readonly rules: ListedRule[] }>()
  for (const line of listing.split('\n')) {
    if (line.startsWith('*')) {
      table = new Map()
      tables.set(line.slice(1).trim(), table)
    } else if (line.startsWith(':')) {
      const [name = '', policy = '-'] = line.slice(1).split(' ', 2)
      table.set(name, { name, policy: policy === '-' ? undefined : policy, rules: [] })
    } else addRule(table, line)
  }
  return tables
}

function addRule(table: ReadonlyMap<string, { readonly rules: ListedRule[] }>, line: string): void {
  const counter = COUNTER.exec(line)
  const rest = counter === null ? line : line.slice(counter[0].length)
  if (!rest.startsWith('-A ')) return
  const [, name = '', text = ''] = /^-A (\S+) ?(.*)$/.exec(rest) ?? []
  const [, packets, bytes] = counter ?? []
  const counts =
    packets === undefined ? undefined : { packets: BigInt(packets), bytes: BigInt(bytes ?? 0) }
  table.get(name)?.rules.push(listedRule(text, counts))
}

function listedRule(text: string, counter: ListedRule['counter']): ListedRule {
  let parsed: Rule | undefined
  return {
    text: text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?'),
    counter,
    get rule() {
      parsed ??= parseRule(text)
      return parsed
    },
  }
}
