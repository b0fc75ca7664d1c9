export interface MediaType {
  /** Lower case, without parameters: `application/json`. */
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Parses one media type; parameters may be quoted. */
export function parseMediaType(text: string): MediaType {
  const [type = '', ...rest] = text.split(';')
  const parameters = new Map<string, string>()
  for (const part of rest) {
    const equals = part.indexOf('=')
    if (equals < 0) continue
    const value = part.slice(equals + 1).trim()
    parameters.set(part.slice(0, equals).trim().toLowerCase(), value.replaceAll(/^"|"$/g, ''))
  }
  return { type: type.trim().toLowerCase(), parameters }
}

/** The alternatives of an Accept header in the client's order; weights are not used by API clients. */
export function parseAccept(header: string): readonly MediaType[] {
  const parts = header.split(',').filter((part) => part.trim() !== '')
  return parts.length === 0 ? [parseMediaType('*/*')] : parts.map(parseMediaType)
}

/** Whether an alternative of an Accept header admits JSON, in whatever form (`as`). */
export function allowsJson({ type }: MediaType): boolean {
  return ['application/json', 'application/*', '*/*'].includes(type)
}

/** Whether an alternative admits JSON without another form (`as`). */
export function allowsPlainJson(alternative: MediaType): boolean {
  return allowsJson(alternative) && !alternative.parameters.has('as')
}

export const JSON_TYPE = 'application/json'
export const YAML = 'application/yaml'

/** Whether an alternative names YAML, which has no other forms. */
export function admitsYaml({ type, parameters }: MediaType): boolean {
  return type === YAML && !parameters.has('as')
}
