import type { SetHeader } from './ipset.ts'

/** Collects the output of `ipset list -t`, line by line. */
export class HeaderParser {
  readonly headers = new Map<string, SetHeader>()
  readonly #prefix: string
  #name = ''
  #type = ''
  #options: ReadonlyMap<string, string> = new Map()
  #references = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  line(text: string): void {
    const colon = text.indexOf(': ')
    const value = text.slice(colon + 2)
    switch (text.slice(0, colon)) {
      case 'Name':
        this.#name = value
        break
      case 'Type':
        this.#type = value
        break
      case 'Header':
        this.#options = parseOptions(value)
        break
      case 'References':
        this.#references = Number(value)
        break
      case 'Number of entries':
        this.#finish(Number(value))
        break
      default:
    }
  }

  #finish(entries: number): void {
    if (!this.#name.startsWith(this.#prefix)) return
    const header = { type: this.#type, options: this.#options, references: this.#references }
    this.headers.set(this.#name, { ...header, entries })
  }
}

/** Words without a value, so that the others can be read in pairs. */
const FLAGS = new Set(['counters', 'comment', 'skbinfo', 'forceadd'])

/** `family inet hashsize 64 counters` as a map; a flag has the value ''. */
export function parseOptions(text: string): ReadonlyMap<string, string> {
  const options = new Map<string, string>()
  const words = text.split(' ').filter((word) => word !== '')
  for (let at = 0; at < words.length; at++) {
    const name = words[at] ?? ''
    options.set(name, FLAGS.has(name) ? '' : (words[++at] ?? ''))
  }
  return options
}
