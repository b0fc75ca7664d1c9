import { type Command, Option } from 'commander'
import type { Json, JsonObject } from '../../lib/json.ts'
import { milliQuantity } from '../../resources/quantity.ts'
import type { Selected } from '../discovery/selected.ts'
import { evaluate } from '../output/evaluate-template.ts'
import { FORMATS } from '../output/output-format.ts'
import { pathOf } from '../output/template-format.ts'
import type { ScopeFlags } from '../session/list-pages.ts'

/** The flags of `orchctl get`. */
export interface GetFlags extends ScopeFlags {
  readonly output?: string
  readonly watch?: boolean
  readonly outputWatchEvents?: boolean
  readonly sortBy?: string
  readonly showLabels?: boolean
  readonly labelColumns?: string
  readonly headers: boolean
  readonly ignoreNotFound?: boolean
  readonly chunkSize: string
  readonly showKind?: boolean
  readonly showManagedFields?: boolean
  readonly raw?: string
}

/** What is to be shown, and how. */
export interface GetRequest {
  readonly selected: readonly Selected[]
  readonly flags: GetFlags
}

/** Adds these flags to the command. */
export function addGetFlags(command: Command): void {
  command
    .option('-o, --output <format>', FORMATS)
    .option('-l, --selector <labels>', 'objects with these labels: app=web,tier!=db,env in (a,b)')
    .option('--field-selector <fields>', 'objects with these fields: metadata.name=web')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('-w, --watch', 'then print every change, also after an outage of the server')
    .option('--output-watch-events', 'with --watch: name each change ADDED, MODIFIED or DELETED')
    .option('--sort-by <path>', 'sort by a field: .metadata.creationTimestamp')
    .option('--show-labels', 'a last column with all labels')
    .option('-L, --label-columns <keys>', 'a column for each of these labels, separated by commas')
    .addOption(new Option('--no-headers', 'no line with the names of the columns'))
    .option('--ignore-not-found', 'an object that does not exist is no error')
    .option('--chunk-size <count>', 'objects in one request; 0: all', '500')
    .option('--show-kind', 'names with their resource')
    .option('--show-managed-fields', 'with yaml and json: the managed fields, too')
    .option('--raw <path>', 'the answer of the server to GET of this path, as it is')
}

/** Sorts items by a field of their objects; those without it come first. */
type Sorter = <T>(items: readonly T[], objectOf: (item: T) => JsonObject) => readonly T[]

/** The sorter for the path of a field; undefined: the order stays. @throws NP_ORCHCTL_USAGE */
export function sorterBy(field: string | undefined): Sorter {
  if (field === undefined) return (items) => items
  const path = pathOf(field)
  return (items, objectOf) => {
    const keyed = items.map((item) => {
      const object = objectOf(item)
      return { item, key: evaluate(path, object, object)[0] }
    })
    return keyed.sort((a, b) => compare(a.key, b.key)).map(({ item }) => item)
  }
}

/**
 * Numbers and quantities by their amount, other texts with the numbers in them by theirs, as kubectl to 1.30. Later ones
 * compare such texts byte by byte, which puts web-10 before web-2.
 */
function compare(a: Json | undefined, b: Json | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const [one, other] = [milliQuantity(a), milliQuantity(b)]
  if (one !== undefined && other !== undefined) return one - other
  return compareTexts(textOf(a), textOf(b))
}

function textOf(key: Json): string {
  return typeof key === 'string' ? key : JSON.stringify(key)
}

function compareTexts(one: string, other: string): number {
  const [parts, others] = [partsOf(one), partsOf(other)]
  for (const [index, part] of parts.entries()) {
    const against = others[index]
    if (against === undefined) return 1
    const order = compareParts(part, against)
    if (order !== 0) return order
  }
  return parts.length - others.length
}

/** Numbers come before other texts. Of equal numbers, the one with fewer zeros before it comes first. */
function compareParts(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d/.test(one), /^\d/.test(other)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  const [a, b] = isNumber ? [BigInt(one), BigInt(other)] : [one, other]
  return a === b ? one.length - other.length : a < b ? -1 : 1
}

/** The numbers of a text, and what is between them. */
function partsOf(text: string): readonly string[] {
  return text.match(/\d+|\D+/gu) ?? []
}
