import {
  type ApiResource,
  collectionPath,
  objectPath,
  qualifiedKind,
} from '../discovery/api-resource.ts'
import { readTable, type ServerTable, TABLE_ACCEPT } from '../output/server-table.ts'
import type { Call } from '../session/api.ts'
import { failureError } from '../session/call-failure.ts'
import type { CommandContext } from '../session/command-module.ts'
import { listPages, namespaceOf, selectorQuery } from '../session/list-pages.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { type GetFlags, type GetRequest, sorterBy } from './get-flags.ts'
import { tableText } from './table-text.ts'

/** Prints one table for each resource. */
export async function getTables(
  { selected, flags }: GetRequest,
  isWide: boolean,
  context: CommandContext,
): Promise<ExitCode> {
  const resources = [...new Set(selected.map(({ resource }) => resource))]
  const isPrefixed = flags.showKind === true || resources.length > 1
  const sorted = sorterBy(flags.sortBy)
  const state = { failed: false, printed: 0 }
  for (const resource of resources) {
    const names = selected.filter((one) => one.resource === resource).map(({ name }) => name)
    const tables = await readTables(resource, names, { flags, context, state })
    const [first] = tables
    const rows = tables.flatMap((table) => table.rows)
    if (first === undefined || rows.length === 0) continue
    const style = {
      flags,
      isWide,
      showEvents: false,
      prefix: isPrefixed ? qualifiedKind(resource) : '',
      showNamespace: flags.allNamespaces === true && resource.namespaced,
    }
    const table = { columns: first.columns, rows: sorted(rows, (row) => row.object) }
    if (state.printed > 0) context.print('\n')
    context.print(tableText(table, style, flags.headers))
    state.printed += rows.length
  }
  if (state.printed === 0 && !state.failed && flags.ignoreNotFound !== true) {
    await reportNothing(resources, flags, context)
  }
  return state.failed ? 1 : 0
}

interface Reading {
  readonly flags: GetFlags
  readonly context: CommandContext
  readonly state: { failed: boolean }
}

async function readTables(
  resource: ApiResource,
  names: readonly (string | undefined)[],
  { flags, context, state }: Reading,
): Promise<readonly ServerTable[]> {
  const session = await context.session()
  const tables: ServerTable[] = []
  for (const name of names) {
    const isCollection = name === undefined
    const call = isCollection
      ? tableCall(collectionPath(resource, namespaceOf(session, flags)), flags)
      : { ...tableCall(objectPath(resource, session.namespace, name), flags), query: {} }
    const answer = await listPages(session.api, call, isCollection ? Number(flags.chunkSize) : 0)
    if (answer.ok) tables.push(...answer.pages.map(readTable))
    else if (isCollection) throw failureError(answer.failure)
    else if (answer.failure.code !== 404 || flags.ignoreNotFound !== true) {
      state.failed = true
      context.report(failureError(answer.failure))
    }
  }
  return tables
}

/** A request for a table. Sorting needs whole objects, not only their metadata. */
export function tableCall(path: string, flags: GetFlags): Call {
  const whole = flags.sortBy === undefined ? {} : { includeObject: 'Object' }
  return { path, accept: TABLE_ACCEPT, query: { ...selectorQuery(flags), ...whole } }
}

async function reportNothing(
  resources: readonly ApiResource[],
  flags: GetFlags,
  context: CommandContext,
): Promise<void> {
  const { namespace } = await context.session()
  const isInside = flags.allNamespaces !== true && resources.some((one) => one.namespaced)
  context.notice(`No resources found${isInside ? ` in ${namespace} namespace.` : '.'}`)
}
