import {
  apiVersionOf,
  type Resource,
  type ServedVersion,
  servedVersionsOf,
} from '../resource/resource.ts'
import { messageOf } from '../schema/schema.ts'

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The kinds of each message: one for each name of its group. */
export type ServedKinds = ReadonlyMap<string, readonly GroupVersionKind[]>

/** Every kind that clients exchange with the server, its lists included, by message. */
export function servedKinds(resources: readonly Resource[]): ServedKinds {
  const servedVersions = resources.flatMap(servedVersionsOf)
  const kinds = servedVersions.flatMap((served) => {
    const { actions = [], answered = [], derived = [], evicted, kind, review } = served.resource
    if (review !== undefined) return [kindOf(served, kind)]
    return [
      kindOf(served, kind),
      kindOf(served, `${kind}List`),
      kindOf(served, 'DeleteOptions'),
      ...derived.map((one) => kindOf(served, one.kind)),
      ...[...answered, ...actions, ...(evicted === undefined ? [] : [evicted])].map(
        ({ type }) => type,
      ),
    ]
  })
  const status = { group: '', version: 'v1', kind: 'Status' }
  const byMessage = new Map<string, Map<string, GroupVersionKind>>()
  for (const kind of [...kinds, status]) {
    const message = messageOf(apiVersionOf(kind), kind.kind)
    if (message === undefined) continue
    const members = byMessage.get(message) ?? new Map<string, GroupVersionKind>()
    byMessage.set(message, members.set(`${apiVersionOf(kind)} ${kind.kind}`, kind))
  }
  return new Map([...byMessage].map(([message, members]) => [message, [...members.values()]]))
}

function kindOf({ group, version }: ServedVersion, kind: string): GroupVersionKind {
  return { group, version, kind }
}
