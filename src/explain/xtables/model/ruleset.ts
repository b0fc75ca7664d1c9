import type { IpAddress } from '../../../lib/ip.ts'
import { shown } from '../../host/run-command.ts'
import type { HostFacts } from '../../packet/host-facts.ts'
import type { IpSet } from './ip-set.ts'
import { parseRule, type Rule } from './rule.ts'

/** What rules of xtables depend on besides the packet. */
export interface XtablesWorld {
  readonly facts: HostFacts
  /** By name. */
  readonly sets: ReadonlyMap<string, IpSet>
  /**
   * Seconds since the address was last put into a list of `-m recent`; undefined if it is not in the list. If this is
   * absent, lists were not read, so rules that check them are uncertain.
   */
  readonly lastSeen?: (list: string, ip: IpAddress) => number | undefined
}

/** A rule of a chain. It is parsed when it is first used: a packet passes only a few of hundreds of thousands. */
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

/** Parses the output of `iptables-save`, with counters (`-c`) or without; rules when they are first used. */
export function parseRuleset(listing: string): Ruleset {
  const tables = new Map<string, Map<string, ListedChain>>()
  let table = new Map<string, ListedChain>()
  for (const line of listing.split('\n')) {
    if (line.startsWith('*')) {
      table = new Map()
      tables.set(line.slice(1).trim(), table)
    } else if (line.startsWith(':')) {
      const [name = '', policy = '-'] = line.slice(1).split(' ', 2)
      table.set(name, new ListedChain(name, policy === '-' ? undefined : policy))
    } else table.get(chainOf(line))?.lines.push(line)
  }
  return tables
}

/** A chain whose rules are lines of the listing until they are first used. */
class ListedChain implements Chain {
  readonly name: string
  readonly policy: string | undefined
  readonly lines: string[] = []
  #rules: readonly ListedRule[] | undefined

  constructor(name: string, policy: string | undefined) {
    this.name = name
    this.policy = policy
  }

  get rules(): readonly ListedRule[] {
    this.#rules ??= this.lines.map(listedRule)
    return this.#rules
  }
}

/**
 * The name in `[0:0] -A NAME …`; empty if the line is not a rule. Without regular expressions, which take seconds for
 * so many lines.
 */
function chainOf(line: string): string {
  const start = line.startsWith('[') ? line.indexOf('] ') + 2 : 0
  if (!line.startsWith('-A ', start)) return ''
  const end = line.indexOf(' ', start + 3)
  return line.slice(start + 3, end === -1 ? undefined : end)
}

function listedRule(line: string): ListedRule {
  const [counted = '', packets, bytes] = COUNTER.exec(line) ?? []
  const [, text = ''] = /^-A \S+ ?(.*)$/.exec(line.slice(counted.length)) ?? []
  let parsed: Rule | undefined
  return {
    text: shown(text),
    counter:
      packets === undefined ? undefined : { packets: BigInt(packets), bytes: BigInt(bytes ?? 0) },
    get rule() {
      parsed ??= parseRule(text)
      return parsed
    },
  }
}
