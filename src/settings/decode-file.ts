import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import {
  type Fault,
  type Fields,
  type Located,
  locateYaml,
  type Position,
  unknownField,
} from '../lib/yaml.ts'
import type { Problem } from './answers.ts'
import type { ConfigurationFile } from './configuration-file.ts'
import type { AnyField, FieldPath, Setting, Settings } from './field.ts'
import type { FileKind, ForeignKind, ImpliedValue, SettingsTable } from './table.ts'
import { type Raw, rawOf } from './value-type.ts'

/** The decoded settings of a file. */
interface FileResult<C> {
  readonly settings: Settings<C>
  readonly problems: readonly Problem[]
  /** Accepted fields without effect, and values that should be written otherwise. */
  readonly warnings: readonly Problem[]
}

/** Decodes a file of any accepted kind: all its settings, and all its problems. */
export function decodeFile<C>(table: SettingsTable<C>, file: ConfigurationFile): FileResult<C> {
  const located = locateYaml({ file: file.name, text: file.text })
  if (!located.ok) return unreadable(table, located.faults)
  const { at, value } = located.root
  if (!('fields' in value)) {
    const message = 'unreadable' in value ? value.unreadable : 'write a map of fields, not this'
    return unreadable(table, [{ at, message }])
  }
  const kind = readKind(table, value.fields, at)
  if ('code' in kind) return { settings: new Map(), problems: [kind], warnings: [] }
  const foreign = table.foreignKinds.find((candidate) => candidate === kind)
  const decoder = new Decoder(table, foreign)
  for (const [name, found] of value.fields) {
    if (name !== 'apiVersion' && name !== 'kind') decoder.read(found)
  }
  for (const implied of foreign?.impliedValues ?? []) decoder.imply(implied)
  return decoder
}

function unreadable<C>({ codes }: SettingsTable<C>, faults: readonly Fault[]): FileResult<C> {
  const problems = faults.map(({ at, message }) => {
    return { code: codes.syntax, at, field: '', value: undefined, message }
  })
  return { settings: new Map(), problems, warnings: [] }
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

  read(found: Located): void {
    const { path } = found
    const field = this.#table.byPath.get(path)
    const ignored = this.#foreign?.ignoredFields.get(path)
    if (field !== undefined) this.#readField(found, path as FieldPath<C>, field)
    else if (this.#table.sections.has(path)) this.#readSection(found)
    else if (ignored !== undefined) this.#ignore(found, ignored)
    else this.#reject(found)
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

  #readSection(found: Located): void {
    if ('fields' in found.value) {
      for (const child of found.value.fields.values()) this.read(child)
      return
    }
    const raw = rawOf(found.value)
    if (!raw.ok) this.#refuse(found, undefined, raw.remedy)
    else if (raw.value !== null) this.#refuse(found, raw.value, 'write a map of fields')
  }

  #readField(found: Located, path: FieldPath<C>, field: AnyField): void {
    const { at } = found
    const { hasMaps } = field.type
    const read = rawOf(found.value, hasMaps)
    if (!read.ok) {
      this.#refuse(found, undefined, read.remedy)
      return
    }
    const raw = read.value
    if (raw === null || (this.#foreign && field.zeroIsUnset && isZero(raw))) return
    const decoded = field.type.decode(raw)
    if (decoded.ok) {
      this.settings.set(path, { value: decoded.value, origin: { from: 'file', at } })
      const { warning: message } = decoded
      const code = this.#table.codes.value
      if (message !== undefined) {
        this.warnings.push({ code, at, field: path, value: undefined, message })
      }
    } else {
      const part = innermost(found, `${path}${decoded.part ?? ''}`)
      const value = part === found ? read : rawOf(part.value, hasMaps)
      this.#refuse(part, value.ok ? value.value : undefined, decoded.remedy)
    }
  }

  #refuse({ at, path: field }: Located, raw: Raw | undefined, message: string): void {
    const value = raw === undefined ? undefined : quote(raw)
    this.problems.push({ code: this.#table.codes.value, at, field, value, message })
  }

  #ignore(found: Located, reason: string): void {
    if (isEmpty(found)) return
    const { fieldAt: at, path: field } = found
    const message = `ignored: ${reason}`
    this.warnings.push({ code: this.#table.codes.ignored, at, field, value: undefined, message })
  }

  #reject({ fieldAt: at, path: field }: Located): void {
    const tool = this.#table.foreignKinds.find(({ ignoredFields }) => ignoredFields.has(field))
    const message =
      tool === undefined
        ? unknownField(meantBy(this.#table, field))
        : `a field of ${tool.kind} only; remove it: ${tool.ignoredFields.get(field)}`
    this.problems.push({ code: this.#table.codes.field, at, field, value: undefined, message })
  }
}

/** The part of a value that has this path, or the smallest one around it. */
function innermost(found: Located, path: string): Located {
  const { value } = found
  const parts = 'items' in value ? value.items : 'fields' in value ? [...value.fields.values()] : []
  const around = parts.find((part) => path === part.path || isBelow(path, part.path))
  return around === undefined ? found : innermost(around, path)
}

function isBelow(path: string, of: string): boolean {
  return path.startsWith(`${of}.`) || path.startsWith(`${of}[`)
}

/** The field whose path is most like `path`, else one with the same name in another section. */
function meantBy<C>({ byPath, sections }: SettingsTable<C>, path: string): string | undefined {
  const known = [...byPath.keys()]
  const name = path.slice(path.indexOf('.') + 1)
  const sameName = known.find((field) => field.slice(field.indexOf('.') + 1) === name)
  const candidates = path.includes('.') ? known : [...known, ...sections]
  return nearest(path, candidates) ?? sameName
}

function isZero(raw: Raw): boolean {
  return raw === '' || raw === 0 || raw === '0s' || raw === '0' || raw === false
}

/** Nothing but zero values: generated files list every field there is. */
function isEmpty({ value }: Located): boolean {
  if ('fields' in value) return [...value.fields.values()].every(isEmpty)
  const raw = rawOf(value)
  if (!raw.ok) return false
  return (
    raw.value === null || isZero(raw.value) || (Array.isArray(raw.value) && raw.value.length === 0)
  )
}

/** Which of the accepted kinds a file is of; its fields begin at `start`. */
function readKind<C>(
  { kind: own, foreignKinds, codes }: SettingsTable<C>,
  fields: Fields,
  start: Position,
): FileKind | Problem {
  const accepted: readonly FileKind[] = [own, ...foreignKinds]
  const text = (name: string): Raw | undefined => {
    const found = fields.get(name)
    const raw = found && rawOf(found.value)
    return raw?.ok ? raw.value : undefined
  }
  const versions = accepted.filter(({ apiVersion }) => apiVersion === text('apiVersion'))
  const found = versions.find(({ kind }) => kind === text('kind'))
  if (found !== undefined) return found
  const field = versions.length > 0 ? 'kind' : 'apiVersion'
  return {
    code: codes.kind,
    at: fields.get(field)?.at ?? start,
    field,
    value: fields.get(field) && quote(text(field) ?? null),
    message: `write ${accepted.map(describeKind).join(', or ')}`,
  }
}

function describeKind({ apiVersion, kind }: FileKind): string {
  return `apiVersion: ${apiVersion} with kind: ${kind}`
}
