import { parseIp } from '../../lib/ip.ts'
import { isDnsName } from '../names.ts'

/** The content of a resolver's file (resolv.conf(5)). */
export interface ResolvConf {
  readonly nameservers: readonly string[]
  readonly searches: readonly string[]
  /** Options by name; the value is empty for options without one. */
  readonly options: ReadonlyMap<string, string>
}

/** The limits of current resolvers; libc ignores further servers, and musl longer lists of domains. */
const MAX_NAMESERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_CHARACTERS = 2_048
const OPTION = /^[a-z][\w-]*$/i
const OPTION_VALUE = /^[\w.-]*$/

/** Reads a file; if it has several `search` or `domain` lines, the last one counts, as in libc. */
export function parseResolvConf(text: string): ResolvConf {
  const nameservers: string[] = []
  const options = new Map<string, string>()
  let searches: readonly string[] = []
  for (const line of text.split('\n')) {
    const [keyword = '', ...words] = line.trim().split(/\s+/)
    const [first] = words
    if (keyword === 'nameserver' && first !== undefined) nameservers.push(first)
    else if (keyword === 'search' || keyword === 'domain') searches = words
    else if (keyword === 'options') for (const word of words) setOption(options, word)
  }
  return { nameservers, searches, options }
}

function setOption(options: Map<string, string>, word: string): void {
  const [name = '', value = ''] = word.split(':')
  options.set(name, value)
}

/** Merges two files: entries of `more` come last, and its options take precedence. */
export function mergeResolvConf(base: ResolvConf, more: ResolvConf): ResolvConf {
  return {
    nameservers: [...base.nameservers, ...more.nameservers],
    searches: [...base.searches, ...more.searches],
    options: new Map([...base.options, ...more.options]),
  }
}

/** The text of a file, without lines that no resolver can read, repetitions, and entries beyond the limits. */
export function formatResolvConf({ nameservers, searches, options }: ResolvConf): string {
  const servers = unique(nameservers.filter(isNameserver)).slice(0, MAX_NAMESERVERS)
  const domains = unique(searches.filter((name) => name === '.' || isDnsName(name)))
  const words = [...options]
    .filter(([name, value]) => OPTION.test(name) && OPTION_VALUE.test(value))
    .map(([name, value]) => (value === '' ? name : `${name}:${value}`))
  const lines = [
    ...servers.map((server) => `nameserver ${server}`),
    ...list('search', fitting(domains.slice(0, MAX_SEARCHES))),
    ...list('options', words),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function isNameserver(text: string): boolean {
  const [address = '', zone = 'none'] = text.split('%')
  return parseIp(address) !== undefined && /^[\w.-]{1,15}$/.test(zone)
}

function unique(items: readonly string[]): readonly string[] {
  return [...new Set(items)]
}

function list(keyword: string, words: readonly string[]): readonly string[] {
  return words.length === 0 ? [] : [`${keyword} ${words.join(' ')}`]
}

function fitting(domains: readonly string[]): readonly string[] {
  let length = 0
  return domains.filter((domain) => {
    length += domain.length + 1
    return length <= MAX_SEARCH_CHARACTERS
  })
}
