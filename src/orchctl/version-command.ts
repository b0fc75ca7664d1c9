import type { Command } from 'commander'
import { stringAt } from '../lib/json.ts'
import { jsonText, yamlText } from './output/documents.ts'
import { oneLine } from './output/terminal-text.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { usageError } from './usage/exit-code.ts'

interface VersionFlags {
  readonly client?: boolean
  readonly output?: string
}

/** `orchctl version`. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--client', 'the version of orchctl alone, without a request')
    .option('-o, --output <format>', 'json|yaml')
  runs(command, context, version)
}

const version: Run<VersionFlags> = async (args, { client = false, output }, context) => {
  if (args.length > 0) throw usageError('version has no operands')
  if (output !== undefined && output !== 'json' && output !== 'yaml') {
    throw usageError('the output of version is json or yaml')
  }
  const own = { gitVersion: `v${context.host.version}`, nodeVersion: process.version }
  const server = client ? undefined : await serverVersion(context)
  const document = {
    clientVersion: own,
    ...(server === undefined ? {} : { serverVersion: server }),
  }
  if (output === 'json') context.print(jsonText(document, { isTerminal: true }))
  else if (output === 'yaml') context.print(await yamlText(document))
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
