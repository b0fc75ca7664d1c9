import type { JsonObject } from '../../lib/json.ts'
import type { Row } from './rows.ts'

/** What a describer reads in addition to its object. */
export interface Related {
  /** Lists a resource, which is named as on the command line. `namespace` empty: all namespaces, or none. */
  list(resource: string, namespace: string, query?: Readonly<Record<string, string>>): Promise<Read>
  /** The status document of the node-proxy of a Node, or why it cannot be read. */
  proxyStatus(node: JsonObject): Promise<ProxyStatus>
  /** Milliseconds since the epoch. */
  readonly now: number
}

export type ProxyStatus =
  | { readonly ok: true; readonly body: JsonObject }
  | { readonly ok: false; readonly why: string }

/** The objects, or why they cannot be read. */
export type Read =
  | { readonly ok: true; readonly objects: readonly JsonObject[] }
  | { readonly ok: false; readonly why: string }

/** The rows of a kind between the metadata and the events. */
export type Describer = (
  object: JsonObject,
  related: Related,
) => readonly Row[] | Promise<readonly Row[]>

/** How a kind is described. */
export interface DescribedKind {
  readonly describe: Describer
  /** Whether programs report events about it; true unless given. */
  readonly hasEvents?: boolean
}

/** `<cannot be read: …>`, instead of the missing value. */
export function unreadable(why: string): string {
  return `<cannot be read: ${why}>`
}

/** A time in RFC 3339 as kubectl prints it, `Fri, 27 Nov 2026 02:14:14 +0000`; any other text unchanged. */
export function rfc1123(text: string): string {
  const time = Date.parse(text)
  return Number.isNaN(time) ? text : new Date(time).toUTCString().replace('GMT', '+0000')
}

/** The same; undefined for an empty text. */
export function timeText(text: string): string | undefined {
  return text === '' ? undefined : rfc1123(text)
}
