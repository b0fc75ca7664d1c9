import type { ApiResource } from './api-resource.ts'

/**
 * Each resource once: in the version that the server prefers, else in the first that has it. In order of groups, the core
 * first, and of names.
 */
export function preferredResources(resources: readonly ApiResource[]): readonly ApiResource[] {
  const first = new Map<string, ApiResource>()
  for (const one of resources) first.getOrInsert(`${one.group} ${one.plural}`, one)
  return [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}
