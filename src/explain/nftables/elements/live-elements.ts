import type { Family } from '../../../lib/ip.ts'
import type { RunCommand } from '../../host/run-command.ts'
import { isList, isObject, type Json, type JsonObject, textOf } from '../model/json.ts'
import type { SetElements } from '../model/set-elements.ts'
import { elementJson } from './element-json.ts'
import type { LookUpElement } from './look-up-element.ts'
import { registersOf } from './registers.ts'
import { type ElementSource, UnreadElements } from './unread-elements.ts'

/** Of the tables whose elements are looked up one by one: the integers of their keys are what `numgen` chose. */
const OWN_TABLE = 'node-proxy'

const FAMILIES: Readonly<Record<string, Family>> = { ip: 4, ip6: 6 }

/** The elements of sets that were listed without them, read when a packet needs them. */
export class LiveElements {
  readonly #run: RunCommand
  readonly #lookUp: LookUpElement
  readonly #sets: UnreadElements[] = []

  constructor(run: RunCommand, lookUp: LookUpElement) {
    this.#run = run
    this.#lookUp = lookUp
  }

  of(listed: JsonObject, kind: 'set' | 'map'): SetElements {
    const elements = new UnreadElements({
      ...(this.#byKey(listed) ?? { keyOf: () => undefined, lookUp: async () => [] }),
      all: () => this.#all(listed, kind),
    })
    this.#sets.push(elements)
    return elements
  }

  /** Reads what walks needed; whether there was anything. */
  async read(): Promise<boolean> {
    let wasMissing = false
    for (const set of this.#sets) if (await set.read()) wasMissing = true
    return wasMissing
  }

  #byKey(listed: JsonObject): Omit<ElementSource, 'all'> | undefined {
    const [table, name] = [textOf(listed['table']), textOf(listed['name'])]
    const family = FAMILIES[textOf(listed['family'])]
    if (family === undefined || table !== OWN_TABLE || flagsOf(listed).has('interval'))
      return undefined
    const keys = registersOf(typesOf(listed['type']), true)
    const target = listed['map']
    const values = target === undefined || target === 'verdict' ? undefined : typesOf(target)
    const read = values && registersOf(values, true)
    if (keys === undefined || (values !== undefined && read === undefined)) return undefined
    return {
      keyOf: (parts) => keys.write(parts),
      lookUp: async (key) => {
        const found = await this.#lookUp({ family, name: table }, name, key)
        return found === undefined ? [] : [elementJson(found, keys, read)]
      },
    }
  }

  async #all(listed: JsonObject, kind: 'set' | 'map'): Promise<readonly Json[] | undefined> {
    const where = ['family', 'table', 'name'].map((field) => textOf(listed[field]))
    const output = await this.#run('nft', ['-j', 'list', kind, ...where])
    if (output.status !== 0) return undefined
    const { nftables } = JSON.parse(output.stdout) as { readonly nftables: readonly JsonObject[] }
    const set = nftables.map((object) => object[kind]).find(isObject)
    const elements = set?.['elem']
    return isList(elements) ? elements : []
  }
}

function typesOf(types: Json | undefined): readonly string[] {
  return (isList(types) ? types : [types ?? null]).map(textOf)
}

function flagsOf({ flags }: JsonObject): ReadonlySet<string> {
  return new Set((isList(flags) ? flags : [flags ?? null]).map(textOf))
}
