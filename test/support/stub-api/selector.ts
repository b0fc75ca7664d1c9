import type { StoredObject } from './store.ts'

/** Whether an object matches the `labelSelector` and `fieldSelector` of a request (equality and existence only). */
export function isSelected(object: StoredObject, query: URLSearchParams): boolean {
  const labels = requirements(query.get('labelSelector'))
  const fields = requirements(query.get('fieldSelector'))
  return (
    labels.every((text) => holds(text, (name) => object.metadata.labels?.[name])) &&
    fields.every((text) => holds(text, (path) => fieldOf(object, path)))
  )
}

function requirements(text: string | null): string[] {
  return (text ?? '').split(',').filter((part) => part !== '')
}

function holds(requirement: string, valueOf: (name: string) => string | undefined): boolean {
  if (requirement.startsWith('!')) return valueOf(requirement.slice(1)) === undefined
  const [, name = '', operator, value] = /^([^!=]+)(!=|==?)?(.*)$/.exec(requirement) ?? []
  if (operator === undefined) return valueOf(name) !== undefined
  return (operator === '!=') !== ((valueOf(name) ?? '') === value)
}

function fieldOf(object: StoredObject, path: string): string | undefined {
  let value: unknown = object
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.entries(value).find(([key]) => key === name)?.[1]
  }
  return typeof value === 'string' ? value : undefined
}
