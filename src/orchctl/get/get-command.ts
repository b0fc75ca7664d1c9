import type { Command } from 'commander'
import type { JsonObject } from '../../lib/json.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { readSelected, type Selected, selectedBy } from '../discovery/selected.ts'
import { type DocumentFormat, listOf, printDocument } from '../output/documents.ts'
import { outputFormat } from '../output/output-format.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { type ExitCode, usageError } from '../usage/exit-code.ts'
import { addGetFlags, type GetFlags, type GetRequest, sorterBy } from './get-flags.ts'

const EXAMPLES = `
Examples:
  orchctl get services
  orchctl get svc,endpointslices -A -o wide
  orchctl get svc/web -o jsonpath='{.spec.clusterIP}'
  orchctl get pods -l app=web --watch
`

/** `orchctl get`, also `orchctl list`. */
export function define(command: Command, context: CommandContext): void {
  command.argument('[operands...]', 'TYPE[,TYPE] [NAME...], or TYPE/NAME ...')
  addGetFlags(command)
  command.addHelpText('after', EXAMPLES)
  runs(command, context, get)
}

const get: Run<GetFlags> = async (args, flags, context) => {
  const format = await outputFormat(flags.output)
  if (!/^\d{1,6}$/.test(flags.chunkSize)) {
    throw usageError('--chunk-size is no number', 'write for example 500')
  }
  if (flags.raw !== undefined) return raw(flags.raw, args, context)
  const catalogue = await openCatalogue(context)
  const selected = await selectedBy(args, catalogue)
  checkNames(selected, flags)
  if (flags.watch === true) {
    const { watchObjects } = await import('./watch-objects.ts')
    return watchObjects({ selected, flags }, format, context)
  }
  if (format.type === 'table') {
    const { getTables } = await import('./get-tables.ts')
    return getTables({ selected, flags }, format.isWide, context)
  }
  return getDocuments({ selected, flags }, format, context)
}

function checkNames(selected: readonly Selected[], flags: GetFlags): void {
  if (!selected.some(({ name }) => name !== undefined)) return
  if (flags.allNamespaces === true) {
    throw usageError(
      'an object with this name is in one namespace only',
      'give --namespace instead of -A',
    )
  }
  if (flags.selector !== undefined || flags.fieldSelector !== undefined) {
    throw usageError('selectors go with a type, not with names')
  }
}

async function raw(
  path: string,
  args: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  const url = URL.parse(path, 'http://server')
  if (!path.startsWith('/') || url === null || url.host !== 'server' || args.length > 0) {
    throw usageError('--raw needs a path that begins with / and no operands')
  }
  const { api } = await context.session()
  context.print(await api.text({ path: url.pathname + url.search, accept: '*/*' }))
  return 0
}

/** Prints objects in every format but a table: a single object as it is, several as a list. */
async function getDocuments(
  { selected, flags }: GetRequest,
  format: DocumentFormat,
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
  const sorted = sorterBy(flags.sortBy)(objects, (object) => object)
  const document = isOne && only !== undefined ? only : listOf(sorted)
  const { headers, showManagedFields = false } = flags
  await printDocument(format, document, context, { showManagedFields, noHeaders: !headers })
  return code
}
