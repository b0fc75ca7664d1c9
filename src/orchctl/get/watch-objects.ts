import type { JsonObject } from '../../lib/json.ts'
import { type ApiResource, collectionPath, qualifiedKind } from '../discovery/api-resource.ts'
import { type Change, followCollection } from '../discovery/follow-collection.ts'
import { documentText } from '../output/documents.ts'
import type { OutputFormat } from '../output/output-format.ts'
import type { TableColumn } from '../output/server-table.ts'
import type { CommandContext } from '../session/command-module.ts'
import { namespaceOf } from '../session/list-pages.ts'
import { type ExitCode, usageError } from '../usage/exit-code.ts'
import type { GetFlags, GetRequest } from './get-flags.ts'
import { tableCall } from './get-tables.ts'
import { tableText } from './table-text.ts'

/** Prints the objects of one collection and every change, until the user interrupts it. */
export async function watchObjects(
  { selected, flags }: GetRequest,
  format: OutputFormat,
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

interface PrinterOptions {
  readonly resource: ApiResource
  readonly flags: GetFlags
  readonly format: OutputFormat
  readonly context: CommandContext
}

type OnChanges = (changes: readonly Change[], columns: readonly TableColumn[]) => Promise<void>

/** Prints changes as rows of one table, or one document after the other. */
function changePrinter(options: PrinterOptions): OnChanges {
  return options.format.type === 'table' ? rowPrinter(options) : documentPrinter(options)
}

function rowPrinter({ resource, flags, format, context }: PrinterOptions): OnChanges {
  const widths: number[] = []
  let isHeaderDue = flags.headers
  const style = {
    flags,
    isWide: format.type === 'table' && format.isWide,
    prefix: flags.showKind === true ? qualifiedKind(resource) : '',
    showNamespace: flags.allNamespaces === true && resource.namespaced,
    showEvents: flags.outputWatchEvents === true,
  }
  return (changes, columns) => {
    if (changes.length > 0) {
      context.print(tableText({ columns, rows: changes }, style, isHeaderDue, widths))
      isHeaderDue = false
    }
    return Promise.resolve()
  }
}

function documentPrinter({ flags, format, context }: PrinterOptions): OnChanges {
  const options = {
    isTerminal: context.host.stdout.isTTY === true,
    showManagedFields: flags.showManagedFields === true,
  }
  let isHeaderDue = flags.headers
  return async (changes) => {
    for (const { event, object } of changes) {
      if (format.type === 'table') return
      const document: JsonObject =
        flags.outputWatchEvents === true && (format.type === 'json' || format.type === 'yaml')
          ? { object, type: event }
          : object
      const text = await documentText(format, document, { ...options, noHeaders: !isHeaderDue })
      isHeaderDue = false
      context.print(format.type === 'yaml' ? `---\n${text}` : text)
      if (format.type === 'jsonpath') context.print('\n')
    }
  }
}
