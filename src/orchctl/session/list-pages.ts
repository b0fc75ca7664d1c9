import type { Query } from '../../client/http/query.ts'
import { arrayAt, isJsonObject, type JsonObject, stringAt } from '../../lib/json.ts'
import type { Api, Call } from './api.ts'
import { type CallFailure, failureError } from './call-failure.ts'
import type { Session } from './open-session.ts'

/** Flags that select objects of a collection. */
export interface ScopeFlags {
  readonly allNamespaces?: boolean
  readonly selector?: string
  readonly fieldSelector?: string
}

/** The default number of objects per page; 0: everything in one page. */
export const PAGE_SIZE = 500

export type PagesResult =
  | { readonly ok: true; readonly pages: readonly JsonObject[] }
  | { readonly ok: false; readonly failure: CallFailure }

/** All pages of a collection. If the pages expire meanwhile (410), the collection is read again as one list. */
export async function listPages(api: Api, call: Call, size: number): Promise<PagesResult> {
  const pages: JsonObject[] = []
  let next = ''
  for (;;) {
    const query = {
      ...call.query,
      ...(size > 0 ? { limit: String(size) } : {}),
      ...(next === '' ? {} : { continue: next }),
    }
    const answer = await api.request({ ...call, query })
    if (!answer.ok) {
      const isExpired = answer.failure.code === 410 && next !== ''
      return isExpired ? listPages(api, call, 0) : answer
    }
    pages.push(answer.value.body)
    next = stringAt(answer.value.body, 'metadata', 'continue')
    if (next === '') return { ok: true, pages }
  }
}

/** The objects of a collection, with apiVersion and kind, which lists leave out. @throws NodeProxyError */
export async function listObjects(
  api: Api,
  call: Call,
  size: number = PAGE_SIZE,
): Promise<readonly JsonObject[]> {
  const result = await listPages(api, call, size)
  if (!result.ok) throw failureError(result.failure)
  return result.pages.flatMap(objectsOf)
}

/** The objects of one page. */
export function objectsOf(page: JsonObject): readonly JsonObject[] {
  const apiVersion = stringAt(page, 'apiVersion')
  const kind = stringAt(page, 'kind').replace(/List$/, '')
  return arrayAt(page, 'items')
    .filter(isJsonObject)
    .map((object) => ({ apiVersion, kind, ...object }))
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
