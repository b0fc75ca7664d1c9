import { isList, isObject, type Json, type JsonObject, textOf } from './json.ts'
import type { Part } from './value.ts'

/** A rule: its statements in order. */
export interface NftRule {
  readonly handle: number
  /** The rule as nft lists it, without its handle. */
  readonly text: string
  readonly statements: readonly Json[]
}

/** A chain; `base` if a hook calls it. */
export interface NftChain {
  readonly name: string
  readonly base:
    | {
        readonly type: string
        readonly hook: string
        readonly priority: number
        readonly policy: string
      }
    | undefined
  readonly rules: NftRule[]
}

/** A set or map. */
export interface NftSet {
  readonly name: string
  readonly isMap: boolean
  readonly elements: SetElements
  /** Whether its elements have timeouts. */
  readonly isTemporary: boolean
}

export interface NftTable {
  readonly family: string
  readonly name: string
  readonly chains: Map<string, NftChain>
  readonly sets: Map<string, NftSet>
}

/** Creates the elements of a set that is listed as `set` or `map`; by default they are in the listing. */
export type ElementsOf = (listed: JsonObject, kind: 'set' | 'map') => SetElements

/** The tables of `nft -j list ruleset`; texts of rules from `nft -a -t list ruleset`. */
export function parseRuleset(
  json: string,
  text: string,
  elementsOf: ElementsOf = elementsIn,
): readonly NftTable[] {
  const { nftables } = JSON.parse(json) as { readonly nftables: readonly JsonObject[] }
  const tables = new Map<string, NftTable>()
  const texts = ruleTexts(text)
  for (const object of nftables) addObject({ tables, texts, elementsOf }, object)
  return [...tables.values()]
}

interface Parsing {
  readonly tables: Map<string, NftTable>
  readonly texts: ReadonlyMap<string, string>
  readonly elementsOf: ElementsOf
}

function addObject(
  { tables, texts, elementsOf }: Parsing,
  { table, chain, set, map, rule }: JsonObject,
): void {
  if (isObject(table)) {
    const [family, name] = [textOf(table['family']), textOf(table['name'])]
    tables.set(`${family} ${name}`, { family, name, chains: new Map(), sets: new Map() })
  }
  const object = chain ?? set ?? map ?? rule
  if (!isObject(object)) return
  const owner = tables.get(`${textOf(object['family'])} ${textOf(object['table'])}`)
  if (owner === undefined) return
  if (chain !== undefined) owner.chains.set(textOf(object['name']), chainOf(object))
  if (rule !== undefined) {
    const handle = Number(object['handle'])
    const statements = isList(object['expr']) ? object['expr'] : []
    const text = texts.get(`${owner.family} ${owner.name} ${handle}`) ?? `rule of handle ${handle}`
    owner.chains.get(textOf(object['chain']))?.rules.push({ handle, text, statements })
  }
  const listed = set ?? map
  if (!isObject(listed)) return
  const elements = elementsOf(listed, map === undefined ? 'set' : 'map')
  owner.sets.set(textOf(listed['name']), {
    name: textOf(listed['name']),
    isMap: map !== undefined,
    elements,
    isTemporary: isList(listed['flags'])
      ? listed['flags'].includes('timeout')
      : listed['flags'] === 'timeout' || listed['timeout'] !== undefined,
  })
}

function elementsIn({ elem }: JsonObject): SetElements {
  return listedElements(isList(elem) ? elem : [])
}

function chainOf({ name, type, hook, prio, policy }: JsonObject): NftChain {
  const base =
    typeof hook === 'string'
      ? {
          hook,
          type: textOf(type),
          priority: Number(prio ?? 0),
          policy: textOf(policy ?? 'accept'),
        }
      : undefined
  return { name: textOf(name), base, rules: [] }
}

/** Rules by family, table and handle: lines that end in `# handle N`, inside of tables. */
function ruleTexts(text: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  let table = ''
  for (const line of text.split('\n')) {
    const head = /^table (\S+) (\S+) \{/.exec(line)
    if (head !== null) table = `${head[1]} ${head[2]}`
    const rule = /^\t\t(.*) # handle (\d+)$/.exec(line)
    if (rule !== null) texts.set(`${table} ${rule[2]}`, rule[1] ?? '')
  }
  return texts
}

/** The elements of a set; those of a map are pairs. */
export interface SetElements {
  /**
   * The elements that may have the key. Undefined if they cannot be read, or were not read yet: then they are read
   * before the packet is walked again.
   */
  withKey(parts: readonly Part[]): readonly Json[] | undefined
}

/** Elements that were listed with their set. */
export function listedElements(elements: readonly Json[]): SetElements {
  return { withKey: () => elements }
}
