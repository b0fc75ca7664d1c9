import type { CommandContext } from '../command/context.ts'
import { collectionPath } from '../discovery/api-resource.ts'
import type { OutputFormat } from '../output/output-format.ts'
import { namespaceOf } from '../reading/scope.ts'
import type { Selected } from '../selection/selected.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { changePrinter } from './change-printer.ts'
import { followCollection } from './follow-collection.ts'
import type { GetFlags } from './get-flags.ts'
import { tableCall } from './get-tables.ts'

export interface WatchRequest {
  readonly selected: readonly Selected[]
  readonly flags: GetFlags
  readonly format: OutputFormat
}

/** Prints the objects of one collection and every change, until the user interrupts it. */
export async function watchObjects(
  { selected, flags, format }: WatchRequest,
  context: CommandContext,
): Promise<ExitCode> {
  const [one, ...others] = selected
  if (one === undefined || others.length > 0) {
    throw usageError('--watch follows one resource, or one object')
  }
  const { resource, name } = one
  const session = await context.session()
  const call = tableCall(collectionPath(resource, namespaceOf(session, flags)), flags)
  const isTable = format.type === 'table'
  const query = {
    ...call.query,
    ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
  }
  await followCollection({
    api: session.api,
    call: isTable ? { ...call, query } : { path: call.path, query },
    pageSize: Number(flags.chunkSize),
    signal: context.host.signal,
    notice: (line) => context.notice(line),
    onChanges: changePrinter({ resource, flags, format, context }),
  })
  return 0
}
