import type { JsonObject } from '../../lib/json.ts'
import type { CommandContext } from '../command/command-module.ts'
import type { ExitCode } from '../command/exit-code.ts'
import { collectionPath, objectPath } from '../discovery/api-resource.ts'
import type { Selected } from '../discovery/selected.ts'
import { type DocumentFormat, documentText, listOf } from '../output/documents.ts'
import { failureError } from '../session/call-failure.ts'
import { listObjects, namespaceOf, selectorQuery } from '../session/list-pages.ts'
import { type GetFlags, sorterBy } from './get-flags.ts'

export interface DocumentsRequest {
  readonly selected: readonly Selected[]
  readonly flags: GetFlags
  readonly format: DocumentFormat
}

/** Prints objects in every format but a table: a single object as it is, several as a list. */
export async function getDocuments(
  { selected, flags, format }: DocumentsRequest,
  context: CommandContext,
): Promise<ExitCode> {
  const objects: JsonObject[] = []
  let code: ExitCode = 0
  for (const one of selected) {
    const found = one.name === undefined ? listed(one, flags, context) : named(one, flags, context)
    for (const object of await found) {
      if (object === undefined) code = 1
      else objects.push(object)
    }
  }
  const [only] = objects
  const isOne = selected.length === 1 && selected[0]?.name !== undefined
  if (isOne && only === undefined) return code
  const sorted =
    flags.sortBy === undefined ? objects : sorterBy(flags.sortBy)(objects, (object) => object)
  const document = isOne && only !== undefined ? only : listOf(sorted)
  const options = {
    isTerminal: context.host.stdout.isTTY === true,
    showManagedFields: flags.showManagedFields === true,
    noHeaders: !flags.headers,
  }
  context.print(await documentText(format, document, options))
  return code
}

async function listed(
  { resource }: Selected,
  flags: GetFlags,
  context: CommandContext,
): Promise<readonly JsonObject[]> {
  const session = await context.session()
  const path = collectionPath(resource, namespaceOf(session, flags))
  const call = { path, query: selectorQuery(flags) }
  return listObjects(session.api, call, Number(flags.chunkSize))
}

/** Undefined for an object that cannot be read, which is reported. */
async function named(
  { resource, name = '' }: Selected,
  { ignoreNotFound }: GetFlags,
  context: CommandContext,
): Promise<readonly (JsonObject | undefined)[]> {
  const { api, namespace } = await context.session()
  const answer = await api.request({ path: objectPath(resource, namespace, name) })
  if (answer.ok) return [answer.value.body]
  if (answer.failure.code === 404 && ignoreNotFound === true) return []
  context.report(failureError(answer.failure))
  return [undefined]
}
