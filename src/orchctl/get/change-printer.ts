import type { JsonObject } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import { type ApiResource, qualifiedKind } from '../discovery/api-resource.ts'
import { documentText } from '../output/documents.ts'
import type { OutputFormat } from '../output/output-format.ts'
import type { TableColumn } from '../output/server-table.ts'
import type { Change } from './follow-collection.ts'
import type { GetFlags } from './get-flags.ts'
import { tableText } from './table-text.ts'

export interface PrinterOptions {
  readonly resource: ApiResource
  readonly flags: GetFlags
  readonly format: OutputFormat
  readonly context: CommandContext
}

type OnChanges = (changes: readonly Change[], columns: readonly TableColumn[]) => Promise<void>

/** Prints changes as rows of one table, or one document after the other. */
export function changePrinter(options: PrinterOptions): OnChanges {
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
