import type { SavedChain, SavedTable, SaveOptions } from './iptables.ts'

/** `[packets:bytes] ` before a rule, printed with `-c` only, but never wanted. */
const COUNTERS = /^\[\d+:\d+\] /

/** Collects the output of `iptables-save -t TABLE` line by line. */
export class SaveParser {
  readonly #chains = new Map<string, { policy: string | undefined; rules: string[] }>()
  readonly #keep: (chain: string) => boolean

  constructor(options: SaveOptions = {}) {
    this.#keep = options.keep ?? (() => true)
  }

  line(text: string): void {
    if (text.startsWith(':')) this.#chain(text)
    else if (text.startsWith('-A ')) this.#rule(text)
    else if (text.startsWith('[')) this.#rule(text.replace(COUNTERS, ''))
  }

  result(): SavedTable {
    const chains: ReadonlyMap<string, SavedChain> = this.#chains
    return { chains }
  }

  #chain(text: string): void {
    const [name, policy] = text.slice(1).split(' ', 2)
    if (name === undefined || !this.#keep(name)) return
    this.#chains.set(name, { policy: policy === '-' ? undefined : policy, rules: [] })
  }

  #rule(text: string): void {
    const end = text.indexOf(' ', 3)
    const name = end < 0 ? text.slice(3) : text.slice(3, end)
    this.#chains.get(name)?.rules.push(end < 0 ? '' : text.slice(end + 1))
  }
}
