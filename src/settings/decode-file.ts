import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import type { AnyField } from './field.ts'
import type { FieldPath } from './field-path.ts'
import { type ForeignKind, type ImpliedValue, readKind } from './file-kind.ts'
import type { Position, Problem } from './problem.ts'
import type { ConfigurationFile } from './read-file.ts'
import type { Setting, Settings } from './settings.ts'
import type { SettingsTable } from './table.ts'
import type { Raw } from './value-type.ts'
import { type Entry, readYaml } from './yaml-source.ts'

/** The decoded settings of a file. */
export interface FileResult<C> {
  readonly settings: Settings<C>
  readonly problems: readonly Problem[]
  /** Accepted fields without effect, and values that should be written otherwise. */
  readonly warnings: readonly Problem[]
}

/** Decodes a file of any accepted kind: all its settings, and all its problems. */
export function decodeFile<C>(table: SettingsTable<C>, file: ConfigurationFile): FileResult<C> {
  const yaml = readYaml(file, table.codes)
  if (!yaml.ok) return { settings: new Map(), problems: yaml.problems, warnings: [] }
  const kind = readKind(table, yaml.entries, yaml.start)
  if ('code' in kind) return { settings: new Map(), problems: [kind], warnings: [] }
  const foreign = table.foreignKinds.find((candidate) => candidate === kind)
  const decoder = new Decoder(table, foreign)
  for (const entry of yaml.entries) {
    if (entry.key !== 'apiVersion' && entry.key !== 'kind') decoder.read(entry, '')
  }
  for (const implied of foreign?.impliedValues ?? []) decoder.imply(implied)
  return decoder
}

class Decoder<C> implements FileResult<C> {
  readonly settings = new Map<FieldPath<C>, Setting>()
  readonly problems: Problem[] = []
  readonly warnings: Problem[] = []
  readonly #table: SettingsTable<C>
  /** The kind of the file, where it is another tool's. */
  readonly #foreign: ForeignKind | undefined

  constructor(table: SettingsTable<C>, foreign: ForeignKind | undefined) {
    this.#table = table
    this.#foreign = foreign
  }

  read(entry: Entry, section: string): void {
    const path = section + entry.key
    const field = this.#table.byPath.get(path)
    const ignored = this.#foreign?.ignoredFields.get(path)
    if (field !== undefined) this.#readField(entry, path as FieldPath<C>, field)
    else if (this.#table.sections.has(path)) this.#readSection(entry, path)
    else if (ignored !== undefined) this.#ignore(entry, path, ignored)
    else this.#reject(entry, path)
  }

  /** The place of an implied value is that of the field that implies it. */
  imply({ field: path, value, where }: ImpliedValue): void {
    const field = this.#table.byPath.get(path)
    const cause = this.settings.get(where.field as FieldPath<C>)
    const given = this.settings.get(path as FieldPath<C>)?.value
    const isGiven = given !== undefined && !(Array.isArray(given) && given.length === 0)
    if (field === undefined || cause === undefined || cause.value !== where.is || isGiven) return
    const decoded = field.type.decode(value)
    if (!decoded.ok) return
    this.settings.set(path as FieldPath<C>, { value: decoded.value, origin: cause.origin })
  }

  #readSection({ value, valueAt: at }: Entry, field: string): void {
    if ('map' in value) {
      for (const child of value.map) this.read(child, `${field}.`)
    } else if ('bad' in value) {
      this.#refuse({ at, field, value: undefined, message: value.bad })
    } else if (value.raw !== null) {
      this.#refuse({ at, field, value: quote(value.raw), message: 'write a map of fields' })
    }
  }

  #readField({ value, valueAt: at }: Entry, path: FieldPath<C>, field: AnyField): void {
    if (!('raw' in value)) {
      const message = 'bad' in value ? value.bad : 'write one value, not a map'
      this.#refuse({ at, field: path, value: undefined, message })
      return
    }
    if (value.raw === null || (this.#foreign && field.zeroIsUnset && isZero(value.raw))) return
    const decoded = field.type.decode(value.raw)
    if (decoded.ok) {
      this.settings.set(path, { value: decoded.value, origin: { from: 'file', at } })
      const { warning: message } = decoded
      const code = this.#table.codes.value
      if (message !== undefined) {
        this.warnings.push({ code, at, field: path, value: undefined, message })
      }
    } else {
      this.#refuse({ at, field: path, value: quote(value.raw), message: decoded.remedy })
    }
  }

  #refuse(rest: Omit<Problem, 'code'> & { readonly at: Position }): void {
    this.problems.push({ code: this.#table.codes.value, ...rest })
  }

  #ignore(entry: Entry, field: string, reason: string): void {
    if (isEmpty(entry)) return
    const message = `ignored: ${reason}`
    const code = this.#table.codes.ignored
    this.warnings.push({ code, at: entry.keyAt, field, value: undefined, message })
  }

  #reject({ keyAt: at }: Entry, field: string): void {
    const tool = this.#table.foreignKinds.find(({ ignoredFields }) => ignoredFields.has(field))
    const message =
      tool === undefined
        ? `unknown field; ${didYouMean(this.#table, field)}`
        : `a field of ${tool.kind} only; remove it: ${tool.ignoredFields.get(field)}`
    this.problems.push({ code: this.#table.codes.field, at, field, value: undefined, message })
  }
}

/** Suggests a field of the same section first, then one of the same last name anywhere. */
function didYouMean<C>({ byPath, sections }: SettingsTable<C>, path: string): string {
  const known = [...byPath.keys()]
  const name = path.slice(path.indexOf('.') + 1)
  const sameName = known.find((field) => field.slice(field.indexOf('.') + 1) === name)
  const candidates = path.includes('.') ? known : [...known, ...sections]
  const meant = nearest(path, candidates) ?? sameName
  return meant === undefined ? 'remove it' : `did you mean ${meant}?`
}

function isZero(raw: Raw): boolean {
  return raw === '' || raw === 0 || raw === '0s' || raw === '0' || raw === false
}

/** Nothing but zero values: generated files list every field there is. */
function isEmpty({ value }: Entry): boolean {
  if ('map' in value) return value.map.every(isEmpty)
  if ('bad' in value) return false
  return (
    value.raw === null || isZero(value.raw) || (Array.isArray(value.raw) && value.raw.length === 0)
  )
}
