import { quote } from '../lib/quote.ts'
import type { Fields, Position } from '../lib/yaml.ts'
import type { Problem, ProblemCodes } from './problem.ts'
import { type Raw, rawOf } from './value-type.ts'

/** How a configuration file names its kind. */
export interface FileKind {
  readonly apiVersion: string
  readonly kind: string
}

/** The kind of another tool, whose files are accepted as they are. */
export interface ForeignKind extends FileKind {
  /**
   * Fields of that tool that mean nothing here, with the reason. Whatever
   * stands below them is not looked at.
   */
  readonly ignoredFields: ReadonlyMap<string, string>
  /** Defaults of that tool that differ from those here. */
  readonly impliedValues?: readonly ImpliedValue[]
}

/** The value of a field that a file leaves out or has empty, where another field has a certain value. */
export interface ImpliedValue {
  readonly field: string
  readonly value: Raw
  readonly where: { readonly field: string; readonly is: Raw }
}

/** The kinds of files that a program accepts, its own one first. */
export interface AcceptedKinds {
  readonly kind: FileKind
  readonly foreignKinds: readonly FileKind[]
  readonly codes: ProblemCodes
}

/** Which of the accepted kinds a file is of; its fields begin at `start`. */
export function readKind(
  { kind: own, foreignKinds, codes }: AcceptedKinds,
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
