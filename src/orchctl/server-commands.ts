import { type Command, Option } from 'commander'
import { type Json, stringAt } from '../lib/json.ts'
import { type ApiResource, groupVersion, qualifiedName } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { preferredResources } from './discovery/discover.ts'
import { jsonText, yamlText } from './output/documents.ts'
import { formatAmong } from './output/output-format.ts'
import { columns } from './output/server-table.ts'
import { oneLine } from './output/terminal-text.ts'
import {
  type CommandContext,
  type CommandModule,
  type Run,
  runs,
} from './session/command-module.ts'
import { usageError } from './usage/exit-code.ts'

interface ResourceFlags {
  readonly output?: string
  readonly namespaced?: string
  readonly apiGroup?: string
  readonly headers: boolean
}

/** `orchctl api-resources`. */
export const apiResources: CommandModule = { define: defineApiResources }

/** `orchctl version`. */
export const version: CommandModule = { define: defineVersion }

function defineApiResources(command: Command, context: CommandContext): void {
  command
    .option('-o, --output <format>', 'wide|name|json')
    .addOption(
      new Option(
        '--namespaced <yes>',
        'true: those in namespaces; false: those of the cluster',
      ).choices(['true', 'false']),
    )
    .option('--api-group <group>', 'those of one group')
    .option('--no-headers', 'no line with the names of the columns')
  runs(command, context, showResources)
}

const showResources: Run<ResourceFlags> = async (args, flags, context) => {
  if (args.length > 0) throw usageError('api-resources has no operands')
  const all = preferredResources(await (await openCatalogue(context)).all())
  const shown = all.filter(
    ({ namespaced, group }) =>
      (flags.namespaced === undefined || String(namespaced) === flags.namespaced) &&
      (flags.apiGroup === undefined || group === flags.apiGroup),
  )
  context.print(textOf(shown, flags))
  return 0
}

function textOf(shown: readonly ApiResource[], { output, headers }: ResourceFlags): string {
  const format = formatAmong(output, 'wide', 'name', 'json')
  if (format === 'name') return shown.map((one) => `${oneLine(qualifiedName(one))}\n`).join('')
  if (format === 'json') {
    return jsonText(JSON.parse(JSON.stringify(shown)) as Json, { isTerminal: true })
  }
  const isWide = format === 'wide'
  const names = ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND']
  const header = [...names, ...(isWide ? ['VERBS', 'CATEGORIES'] : [])]
  const rows = shown.map((one) => [
    one.plural,
    one.shortNames.join(','),
    groupVersion(one),
    String(one.namespaced),
    one.kind,
    ...(isWide ? [one.verbs.join(','), one.categories.join(',')] : []),
  ])
  return columns(headers ? [header, ...rows] : rows)
}

interface VersionFlags {
  readonly client?: boolean
  readonly output?: string
}

function defineVersion(command: Command, context: CommandContext): void {
  command
    .option('--client', 'the version of orchctl alone, without a request')
    .option('-o, --output <format>', 'json|yaml')
  runs(command, context, showVersion)
}

const showVersion: Run<VersionFlags> = async (args, { client = false, output }, context) => {
  if (args.length > 0) throw usageError('version has no operands')
  const format = formatAmong(output, 'json', 'yaml')
  const own = { gitVersion: `v${context.host.version}`, nodeVersion: process.version }
  const server = client ? undefined : await serverVersion(context)
  const document = {
    clientVersion: own,
    ...(server === undefined ? {} : { serverVersion: server }),
  }
  if (format === 'json') context.print(jsonText(document, { isTerminal: true }))
  else if (format === 'yaml') context.print(await yamlText(document))
  else {
    context.print(`Client Version: ${own.gitVersion}\n`)
    const text = oneLine(stringAt(server, 'gitVersion'))
    if (server !== undefined) context.print(`Server Version: ${text}\n`)
  }
  return 0
}

async function serverVersion(context: CommandContext) {
  const { api } = await context.session()
  return api.send({ path: '/version' })
}
