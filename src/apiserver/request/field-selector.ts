import { badRequest, type StatusError } from '../status/status.ts'

export type Fields = Readonly<Record<string, string>>

export type FieldSelector = (fields: Fields) => boolean

interface Requirement {
  readonly field: string
  readonly equal: boolean
  readonly value: string
}

const MAX_LENGTH = 16 * 1024

/**
 * `a=b,c==d,e!=f`; undefined matches everything. In values, `\,`, `\=` and `\\` are escapes. `nameOf` returns the name
 * that a field has in `Fields`; undefined: it cannot be selected by.
 */
export function parseFieldSelector(
  text: string,
  nameOf: (field: string) => string | undefined,
): FieldSelector | undefined | StatusError {
  if (text.length > MAX_LENGTH) return badRequest('fieldSelector is too long')
  const requirements: Requirement[] = []
  for (const part of partsOf(text)) {
    const requirement = parseRequirement(part)
    if (requirement === undefined) {
      return badRequest(
        `invalid field selector: ${JSON.stringify(part)}; expected field=value or field!=value`,
      )
    }
    const field = nameOf(requirement.field)
    if (field === undefined) return badRequest(`field label not supported: ${requirement.field}`)
    requirements.push({ ...requirement, field })
  }
  if (requirements.length === 0) return undefined
  return (fields) =>
    requirements.every(({ field, equal, value }) => (ownField(fields, field) === value) === equal)
}

/** The single value that the selector requires of a field; undefined: it requires none. */
export function requiredValue(text: string, field: string): string | undefined {
  return partsOf(text.slice(0, MAX_LENGTH))
    .map(parseRequirement)
    .find((one) => one?.field === field && one.equal)?.value
}

/** The parts between commas. A backslash escapes the character after it. */
function partsOf(text: string): readonly string[] {
  return text.match(/(?:\\.|[^,])+/gs) ?? []
}

function parseRequirement(part: string): Requirement | undefined {
  const match = /^([^=!\\]+)(!=|==|=)(.*)$/s.exec(part)
  if (match === null) return undefined
  const value = match[3]!.replaceAll(/\\([,=\\])/g, '$1')
  return { field: match[1]!, equal: match[2] !== '!=', value }
}

function ownField(fields: Fields, field: string): string {
  return Object.hasOwn(fields, field) ? fields[field]! : ''
}
