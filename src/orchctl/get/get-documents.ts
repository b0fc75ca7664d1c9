import type { JsonObject } from '../../lib/json.ts'
import { readSelected, type Selected } from '../discovery/selected.ts'
import { type DocumentFormat, listOf, printDocument } from '../output/documents.ts'
import type { CommandContext } from '../session/command-module.ts'
import type { ExitCode } from '../usage/exit-code.ts'
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
    for (const object of await readSelected(one, flags, context)) {
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
  const { headers, showManagedFields = false } = flags
  await printDocument(format, document, context, { showManagedFields, noHeaders: !headers })
  return code
}
