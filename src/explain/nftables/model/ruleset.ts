import { shown } from '../../host/run-command.ts'
import { isList, isObject, type Json, type JsonObject, onlyMember, textOf } from './json.ts'
import type { Part } from './value.ts'

/** A rule: its statements in order. */
export interface NftRule {
  readonly handle: number
  /** The rule as nft lists it, without its handle; control characters replaced by `?`. */
  readonly text: string
  readonly statements: readonly Json[]
}

export interface NftChain {
  readonly name: string
  /** The hook that calls the chain, for a base chain; undefined for other chains. */
  readonly base:
    | {
        readonly type: string
        readonly hook: string
        readonly priority: number
        /** `accept` or `drop`. */
        readonly policy: string
      }
    | undefined
  readonly rules: NftRule[]
}

/** The elements of a set or map, as nft prints them in JSON. An element of a map is a pair of key and value. */
export interface SetElements {
  /**
   * The elements that may match the key; there may be others among them. Undefined if they cannot be read, or if they
   * were not read yet. Unread elements are read before the packet is walked through the rules again.
   */
  withKey(parts: readonly Part[]): readonly Json[] | undefined
}

/** A set or map. */
export interface NftSet {
  readonly name: string
  readonly isMap: boolean
  readonly elements: SetElements
  /** Whether its elements have timeouts. */
  readonly isTemporary: boolean
}

/** A table with its chains and sets, by name. */
export interface NftTable {
  /** As nft names it: `ip`, `ip6`, `inet`, … */
  readonly family: string
  readonly name: string
  readonly chains: Map<string, NftChain>
  readonly sets: Map<string, NftSet>
}

/** Creates the elements of a set or map from its JSON object in the ruleset. */
export type ElementsOf = (listed: JsonObject, kind: 'set' | 'map') => SetElements

/**
 * The tables of a ruleset.
 * @param json the output of `nft -j list ruleset`
 * @param text the output of `nft -a -t list ruleset`, from which the texts of rules are taken
 * @param elementsOf by default the elements are those in `json`
 * @throws SyntaxError when `json` is not JSON
 */
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

/** The tables that were read so far, and what `addObject` needs for more. */
interface Parsing {
  readonly tables: Map<string, NftTable>
  /** The result of `ruleTexts`. */
  readonly texts: ReadonlyMap<string, string>
  readonly elementsOf: ElementsOf
}

/** Adds one object of the JSON list. An object comes after its table. */
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
    const statements = isList(object['expr']) ? object['expr'].flatMap(withAttached) : []
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
    // The flags are a list, or a string if there is only one.
    isTemporary: isList(listed['flags'])
      ? listed['flags'].includes('timeout')
      : listed['flags'] === 'timeout' || listed['timeout'] !== undefined,
  })
}

/** A statement that changes a set, and those that each element of it has: `add @s { ip saddr limit rate over 5/minute }`. */
function withAttached(statement: Json): readonly Json[] {
  const [name, inner] = onlyMember(statement) ?? []
  const attached = name === 'set' && isObject(inner) ? (inner['stmt'] ?? []) : []
  return [statement, ...(isList(attached) ? attached : [attached])]
}

/** The elements that are listed in the JSON object of the set. */
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

/** The texts of rules, by `FAMILY TABLE HANDLE`. A rule is a line inside a table that ends in `# handle N`. */
function ruleTexts(text: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  let table = ''
  for (const line of text.split('\n')) {
    const head = /^table (\S+) (\S+) \{/.exec(line)
    if (head !== null) table = `${head[1]} ${head[2]}`
    const rule = /^\t\t(.*) # handle (\d+)$/.exec(line)
    if (rule === null) continue
    texts.set(`${table} ${rule[2]}`, shown(rule[1] ?? ''))
  }
  return texts
}

/** Elements that are already read. */
export function listedElements(elements: readonly Json[]): SetElements {
  return { withKey: () => elements }
}
