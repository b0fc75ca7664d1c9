import type { Query } from '../../client/http/query.ts'
import type { Session } from '../session/session.ts'

/** Flags that select objects of a collection. */
export interface ScopeFlags {
  readonly allNamespaces?: boolean
  readonly selector?: string
  readonly fieldSelector?: string
}

/** The namespace of a collection; undefined: all of them. */
export function namespaceOf(session: Session, { allNamespaces }: ScopeFlags): string | undefined {
  return allNamespaces === true ? undefined : session.namespace
}

/** The parameters of a request for a collection. */
export function selectorQuery({ selector, fieldSelector }: ScopeFlags): Query {
  return {
    ...(selector === undefined ? {} : { labelSelector: selector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  }
}
